//! The long poll: updates to the port, and the next poll only for what is durable.
//!
//! `getUpdates` with a higher offset is the acknowledgement, so the offset moves past an update only
//! after `ingest` returned `Ok` for it. Nothing here remembers what it has seen; the port does.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channels::channel::ChannelError;
use crate::channels::telegram::api::{Api, CallError};
use crate::channels::telegram::health::HealthLog;
use crate::channels::telegram::updates::{self, Me, Update};
use crate::client::channel_port::ChannelPort;
use crate::protocol::bridge::{Inbound, InboundBody, Ingested};
use crate::protocol::problem::{Problem, ProblemKind};

/// What we ask for. Said with every poll, because the server remembers what was said last, by anybody.
pub const ALLOWED_UPDATES: &[&str] = &[
    "message",
    "edited_message",
    "callback_query",
    "my_chat_member",
];
/// Added to the poll's own timeout before we give up on an answer.
const POLL_SLACK: Duration = Duration::from_secs(15);
/// Conflicts in a row before we say that somebody else polls.
const CONFLICTS_TOLERATED: u32 = 4;
/// Longest toast Telegram shows, in characters.
const MAX_TOAST: usize = 200;

/// What the poll loop works with.
pub struct Poller {
    /// Platform side.
    pub api: Api,
    /// Engine side.
    pub port: Arc<dyn ChannelPort>,
    /// Where exchanges are noted.
    pub health: Arc<HealthLog>,
    /// Who we are.
    pub me: Me,
    /// How long the server may hold a poll.
    pub poll_timeout: Duration,
    /// Base of the wait after a conflict.
    pub conflict_delay: Duration,
}

/// Polls until `stop` or until the connection has to be made anew.
pub async fn run(
    poller: &Poller,
    cursor: Option<String>,
    stop: CancellationToken,
) -> Result<(), ChannelError> {
    let mut offset: Option<i64> = cursor.and_then(|cursor| cursor.parse().ok());
    let answers = TaskTracker::new();
    let mut conflicts: u32 = 0;
    let ended = loop {
        let mut params = Map::new();
        params.insert("timeout".to_owned(), json!(poller.poll_timeout.as_secs()));
        params.insert("limit".to_owned(), json!(100));
        params.insert("allowed_updates".to_owned(), json!(ALLOWED_UPDATES));
        if let Some(offset) = offset {
            params.insert("offset".to_owned(), json!(offset));
        }
        let params = Value::Object(params);
        let answer = tokio::select! {
            biased;
            () = stop.cancelled() => break Ok(()),
            answer = poller.api.call_within("getUpdates", &params, poller.poll_timeout + POLL_SLACK) => answer,
        };
        let rest = match answer {
            Ok(Value::Array(items)) => {
                // Off: what arrived is confirmed before it is stored.
                if crate::mutant!("ack_after_commit") {
                    confirm_early(poller, &items).await;
                }
                crate::crash_point!("ack.post");
                conflicts = 0;
                poller.health.polled(items.len());
                match take_in(poller, &items, &mut offset, &answers).await {
                    Taken::All => None,
                    Taken::NotAll(problem) => {
                        tracing::warn!(%problem, "updates could not be stored; they will come again");
                        poller.health.poll_failing(format!(
                            "messages cannot be stored, so they stay at Telegram: {problem}"
                        ));
                        Some(Duration::from_secs(1))
                    }
                    Taken::NothingWithId => {
                        break Err(ChannelError::Transient {
                            detail: "Telegram sent updates without ids".to_owned(),
                            retry_after: None,
                        });
                    }
                }
            }
            Ok(_) => {
                break Err(ChannelError::Transient {
                    detail: "Telegram's list of updates is not a list".to_owned(),
                    retry_after: None,
                });
            }
            Err(CallError::Refused {
                code: 409,
                description,
                ..
            }) => {
                conflicts = conflicts.saturating_add(1);
                Some(conflict(poller, conflicts, &description).await)
            }
            Err(CallError::Limited { retry_after }) => {
                poller.health.limited(retry_after);
                Some(retry_after)
            }
            Err(error) => break Err(broken(&error)),
        };
        if let Some(rest) = rest {
            tokio::select! {
                biased;
                () = stop.cancelled() => break Ok(()),
                () = tokio::time::sleep(rest) => {}
            }
        }
    };
    answers.close();
    answers.wait().await;
    ended
}

/// A poll of no length that confirms everything in `items`: what `ack_after_commit` forbids.
async fn confirm_early(poller: &Poller, items: &[Value]) {
    let newest = items
        .iter()
        .filter_map(|item| item.get("update_id").and_then(Value::as_i64))
        .max();
    if let Some(newest) = newest {
        let params = json!({ "offset": newest.saturating_add(1), "timeout": 0, "limit": 1 });
        if let Err(error) = poller.api.call("getUpdates", &params).await {
            tracing::warn!(%error, "the early confirmation failed");
        }
    }
}

/// What a failed call means for the connection.
pub fn broken(error: &CallError) -> ChannelError {
    match error {
        CallError::Refused {
            code: 401 | 404, ..
        } => ChannelError::Fatal {
            detail: "Telegram does not know this bot token".to_owned(),
            fix: "check the token from @BotFather (and api_base, if you set it)".to_owned(),
        },
        CallError::Limited { retry_after } => ChannelError::Transient {
            detail: error.to_string(),
            retry_after: Some(*retry_after),
        },
        CallError::NotSent { .. }
        | CallError::Lost { .. }
        | CallError::Server { .. }
        | CallError::Refused { .. } => ChannelError::Transient {
            detail: error.to_string(),
            retry_after: None,
        },
    }
}

/// How far a batch got.
enum Taken {
    All,
    NotAll(Problem),
    NothingWithId,
}

async fn take_in(
    poller: &Poller,
    items: &[Value],
    offset: &mut Option<i64>,
    answers: &TaskTracker,
) -> Taken {
    let mut with_id = 0;
    for item in items {
        let Some(update) = updates::decode(item, &poller.me) else {
            tracing::warn!("an update without id was skipped");
            continue;
        };
        with_id += 1;
        let Update {
            id,
            inbound,
            callback_id,
        } = update;
        match store(poller, inbound).await {
            Ok(ingested) => {
                *offset = Some(id.saturating_add(1));
                if let Some(callback_id) = callback_id {
                    answers.spawn(answer_click(
                        poller.api.clone(),
                        callback_id,
                        ingested.feedback,
                    ));
                }
            }
            Err(problem) => return Taken::NotAll(problem),
        }
    }
    if with_id == 0 && !items.is_empty() {
        return Taken::NothingWithId;
    }
    Taken::All
}

/// Ingests an item. One that the engine calls invalid would come again for ever and block all behind
/// it, so it is recorded as something we do not handle.
async fn store(poller: &Poller, inbound: Inbound) -> Result<Ingested, Problem> {
    let problem = match poller.port.ingest(inbound.clone()).await {
        Ok(ingested) => return Ok(ingested),
        Err(problem) => problem,
    };
    match (problem.kind, &inbound.body) {
        (ProblemKind::Invalid, InboundBody::Text { .. } | InboundBody::Click { .. }) => {
            tracing::warn!(key = %inbound.dedupe_key, %problem, "recorded without its content");
            poller
                .port
                .ingest(Inbound {
                    body: InboundBody::Other {
                        what: "an item that was refused as invalid".to_owned(),
                    },
                    ..inbound
                })
                .await
        }
        _ => Err(problem),
    }
}

/// Stops the button's spinner. Too late or twice is of no consequence: the click is durable.
async fn answer_click(api: Api, callback_id: String, feedback: Option<String>) {
    let mut params = Map::new();
    params.insert("callback_query_id".to_owned(), json!(callback_id));
    if let Some(feedback) = feedback {
        let toast: String = feedback.chars().take(MAX_TOAST).collect();
        params.insert("text".to_owned(), json!(toast));
    }
    if let Err(error) = api
        .call("answerCallbackQuery", &Value::Object(params))
        .await
    {
        tracing::debug!(%error, "a click was not acknowledged in time");
    }
}

/// After a 409: says so, and how long to wait. A poll of our own from before a restart may linger at the
/// server for some seconds, so a few conflicts mean nothing.
async fn conflict(poller: &Poller, conflicts: u32, description: &str) -> Duration {
    if description.to_ascii_lowercase().contains("webhook") {
        poller.health.poll_failing(
            "a webhook was set for this token; removing it, because this channel polls".to_owned(),
        );
        let params = json!({ "drop_pending_updates": false });
        if let Err(error) = poller.api.call("deleteWebhook", &params).await {
            tracing::warn!(%error, "the webhook could not be removed");
        }
    } else if conflicts < CONFLICTS_TOLERATED {
        poller.health.poll_failing(
            "an earlier poll with this token has not ended yet; trying again".to_owned(),
        );
    } else {
        poller.health.poll_failing(
            "another instance is polling with this token: stop it, or get this one a bot of its own from @BotFather"
                .to_owned(),
        );
    }
    let base = poller.conflict_delay * conflicts.min(10);
    let noise = f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX);
    base.mul_f64(0.5 + noise)
}
