//! Fetches messages that came while the bot had no session: channel by channel, the oldest first.
//!
//! Nothing here writes to Discord. Each message takes the normal path; a known one is dropped by its key.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::channels::discord::api::{Api, Route};
use crate::channels::discord::fields::id;
use crate::channels::fields::list_at;
use crate::channels::http::CallError;

/// Servers of one answer.
const SERVERS: usize = 200;
/// Answers with servers: more servers than one bot can be in.
const MAX_SERVER_PAGES: usize = 50;
/// Most messages of one channel: a week of a busy one. They are handed on page by page, so this bounds calls, not memory.
pub const MAX_MESSAGES: usize = 20_000;
/// Messages of one answer.
const PAGE: usize = 100;
/// Kinds of channels with messages: text, voice, announcements, threads of three kinds, stages.
const WITH_MESSAGES: &[u64] = &[0, 2, 5, 10, 11, 12, 13];

/// What was found.
pub enum CatchUpItem {
    /// A server with its channels, as an event has it.
    Server(Value),
    /// A message, as an event has it.
    Message(Value),
    /// Everything was looked at. `left`: channels that have more than is read.
    End {
        /// How many.
        left: usize,
    },
}

/// A channel that may have something new.
struct Place {
    channel: u64,
    server: Option<u64>,
}

/// Asks what channels there are, and for what came in them after a message. `read_to`: up to where some of them were read
/// before.
///
/// # Errors
/// Of a call that failed; what it asked for is still missing then.
pub async fn run(
    api: &Api,
    after: Option<u64>,
    direct: &[u64],
    read_to: &BTreeMap<u64, u64>,
    found: &mpsc::Sender<CatchUpItem>,
) -> Result<(), CallError> {
    let mut places: Vec<Place> = direct
        .iter()
        .map(|channel| Place {
            channel: *channel,
            server: None,
        })
        .collect();
    // One place that Discord fails at must not hold up all others.
    let mut failed = None;
    for (server, name) in servers(api).await? {
        let asked = async {
            let path = format!("/guilds/{server}/channels");
            let channels = readable(api, path, "GET channels", server).await?;
            let path = format!("/guilds/{server}/threads/active");
            let threads = readable(api, path, "GET threads", server).await?;
            Ok::<_, CallError>((channels, threads))
        };
        let (channels, threads) = match asked.await {
            Ok(found) => found,
            Err(error) => {
                failed = Some(of_one_place(error)?);
                continue;
            }
        };
        for channel in list_at(&channels, "")
            .iter()
            .chain(list_at(&threads, "/threads"))
        {
            let has_messages = channel["type"]
                .as_u64()
                .is_some_and(|kind| WITH_MESSAGES.contains(&kind));
            let is_newer = after
                .zip(id(channel, "/last_message_id"))
                .is_some_and(|(after, last)| last > after);
            if let Some(number) = id(channel, "/id")
                && has_messages
                && is_newer
            {
                places.push(Place {
                    channel: number,
                    server: Some(server),
                });
            }
        }
        let server = json!({
            "name": name, "channels": channels, "threads": list_at(&threads, "/threads"),
        });
        if found.send(CatchUpItem::Server(server)).await.is_err() {
            return Ok(());
        }
    }
    let mut left = 0;
    if let Some(after) = after {
        for place in places {
            let read_before = read_to.get(&place.channel).copied().unwrap_or_default();
            match read(api, &place, after.max(read_before), found).await {
                Ok(true) => {}
                Ok(false) => left += 1,
                Err(error) => failed = Some(of_one_place(error)?),
            }
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let _ = found.send(CatchUpItem::End { left }).await;
    Ok(())
}

/// An error that may be of one server or channel only; another one ends the asking.
fn of_one_place(error: CallError) -> Result<CallError, CallError> {
    match error {
        CallError::Server { .. } | CallError::Lost { .. } => Ok(error),
        CallError::NotSent { .. } | CallError::Limited { .. } | CallError::Refused { .. } => {
            Err(error)
        }
    }
}

/// The servers that the bot is in, with their names.
async fn servers(api: &Api) -> Result<Vec<(u64, Option<Value>)>, CallError> {
    let mut servers = Vec::new();
    let mut after = 0;
    for _ in 0..MAX_SERVER_PAGES {
        let path = format!("/users/@me/guilds?limit={SERVERS}&after={after}");
        let page = api
            .get(&Route::new(Method::GET, path, "GET guilds"))
            .await?;
        let named = |server: &Value| Some((id(server, "/id")?, server.get("name").cloned()));
        let known = servers.len();
        servers.extend(
            list_at(&page, "")
                .iter()
                .filter_map(named)
                .filter(|(server, _)| *server > after),
        );
        let last = servers[known..].iter().map(|(server, _)| *server).max();
        match last {
            Some(last) => after = last,
            None => return Ok(servers),
        }
    }
    let count = servers.len();
    tracing::warn!(count, "missed messages are read in the first servers only");
    Ok(servers)
}

/// Reads a channel; whether to its end.
async fn read(
    api: &Api,
    place: &Place,
    after: u64,
    found: &mpsc::Sender<CatchUpItem>,
) -> Result<bool, CallError> {
    let mut after = after;
    let mut read = 0;
    while read < MAX_MESSAGES {
        let channel = place.channel;
        let path = format!("/channels/{channel}/messages?after={after}&limit={PAGE}");
        let page = readable(api, path, "GET messages", channel).await?;
        let mut messages: Vec<Value> = list_at(&page, "").to_vec();
        // The newest is first in a page.
        messages.sort_by_key(|message| id(message, "/id"));
        let Some(newest) = messages.last().and_then(|message| id(message, "/id")) else {
            return Ok(true);
        };
        let is_last = messages.len() < PAGE || newest <= after;
        after = newest;
        read += messages.len();
        for mut message in messages {
            if let (Some(server), Some(fields)) = (place.server, message.as_object_mut()) {
                fields.insert("guild_id".to_owned(), json!(server.to_string()));
            }
            if found.send(CatchUpItem::Message(message)).await.is_err() {
                // The connection ended, and will ask again.
                return Ok(true);
            }
        }
        if is_last {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What may not be read has nothing for us.
async fn readable(
    api: &Api,
    path: String,
    kind: &'static str,
    major: u64,
) -> Result<Value, CallError> {
    let route = Route::new(Method::GET, path, kind).about(major);
    match api.get(&route).await {
        Err(CallError::Refused {
            code: 403 | 404, ..
        }) => Ok(Value::Null),
        answer => answer,
    }
}
