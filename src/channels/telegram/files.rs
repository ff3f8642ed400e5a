//! The files of messages, fetched one after the other.
//!
//! Which file is next is the port's to say, so nothing is lost when this ends half-way.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::channels::telegram::api::{Api, CallError};
use crate::client::channel_port::ChannelPort;
use crate::clock::backoff::doubled;
use crate::protocol::bridge::{FetchedFile, FileRequest};

/// Tries to fetch a file that the platform is there for.
const TRIES: u32 = 4;
/// The first and the longest wait before the next try.
const REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(30);

/// Fetches files until `stop`.
pub async fn run(port: Arc<dyn ChannelPort>, api: Api, stop: CancellationToken) {
    let fetching = async {
        loop {
            let request = match port.next_file().await {
                Ok(request) => request,
                Err(problem) => {
                    tracing::warn!(%problem, "the files of messages cannot be read");
                    tokio::time::sleep(REST).await;
                    continue;
                }
            };
            let fetched = fetch(&api, &request).await;
            crate::crash_point!("fetch_file.done");
            if let Err(problem) = port.put_file(request.id, fetched).await {
                tracing::warn!(%problem, "a file of a message could not be stored; it is fetched again");
                tokio::time::sleep(REST).await;
            }
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = fetching => {}
    }
}

async fn fetch(api: &Api, request: &FileRequest) -> FetchedFile {
    let mut failures: u32 = 0;
    let mut waits: u32 = 0;
    loop {
        let error = match once(api, request).await {
            Ok(content) => return FetchedFile::Content(content),
            Err(error) => error,
        };
        waits = waits.saturating_add(1);
        let mut rest = doubled(REST, waits, LONGEST_REST);
        match &error {
            // Messages wait too while the platform is out of reach.
            CallError::NotSent { .. } => {}
            CallError::Limited { retry_after } => rest = *retry_after,
            CallError::Lost { .. } | CallError::Server { .. } => failures += 1,
            CallError::Refused { .. } => failures = TRIES,
        }
        if failures >= TRIES {
            return FetchedFile::Failed {
                error: error.to_string(),
            };
        }
        tokio::time::sleep(rest).await;
    }
}

async fn once(api: &Api, request: &FileRequest) -> Result<Vec<u8>, CallError> {
    let file = api
        .call("getFile", &json!({ "file_id": request.reference }))
        .await?;
    let too_large = || CallError::Refused {
        code: 413,
        description: format!("it has more than {} MiB", request.max_bytes / (1024 * 1024)),
        migrate_to: None,
    };
    let size = file.get("file_size").and_then(Value::as_u64);
    if size.is_some_and(|size| size > request.max_bytes) {
        return Err(too_large());
    }
    let path = file.get("file_path").and_then(Value::as_str);
    match path.filter(|path| is_plain(path)) {
        Some(path) => api
            .download(path, request.max_bytes)
            .await?
            .ok_or_else(too_large),
        None => Err(CallError::Refused {
            code: 404,
            description: "Telegram names no path for it".to_owned(),
            migrate_to: None,
        }),
    }
}

/// A path that is only a path: it becomes a part of an address that has the token in it.
fn is_plain(path: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with('.')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    path.split('/').all(is_name)
}
