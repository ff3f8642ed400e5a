//! The files of messages, fetched one after the other.
//!
//! Which file is next is the port's to say, so nothing is lost when this ends half-way.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::channels::http::CallError;
use crate::channels::platform::Platform;
use crate::channels::sync::unless_stopped;
use crate::client::channel_port::ChannelPort;
use crate::clock::backoff::doubled;
use crate::protocol::bridge::{FetchedFile, FileRequest};

/// Tries to fetch a file that the platform is there for.
const TRIES: u32 = 4;
/// The first and the longest wait before the next try.
const REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(30);

/// Fetches files until `stop`.
pub async fn run(port: Arc<dyn ChannelPort>, platform: Arc<dyn Platform>, stop: CancellationToken) {
    let fetching = async {
        loop {
            let request = match port.next_file().await {
                Ok(request) => request,
                Err(problem) => {
                    tracing::warn!(%problem, "cannot read which files to download");
                    tokio::time::sleep(REST).await;
                    continue;
                }
            };
            let fetched = fetch(platform.as_ref(), &request).await;
            crate::crash_point!("fetch_file.done");
            if let Err(problem) = port.put_file(request.id, fetched).await {
                tracing::warn!(%problem, "cannot store a file of a message; downloading it again");
                tokio::time::sleep(REST).await;
            }
        }
    };
    unless_stopped(&stop, fetching).await;
}

async fn fetch(platform: &dyn Platform, request: &FileRequest) -> FetchedFile {
    let mut failures: u32 = 0;
    let mut waits: u32 = 0;
    loop {
        let error = match platform.fetch(request).await {
            Ok(content) => return FetchedFile::Content(content),
            Err(error) => error,
        };
        waits = waits.saturating_add(1);
        let mut rest = doubled(REST, waits, LONGEST_REST);
        match &error {
            // Messages wait too while the platform is out of reach.
            CallError::NotSent { .. } => {}
            CallError::Limited { retry_after, .. } => rest = *retry_after,
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
