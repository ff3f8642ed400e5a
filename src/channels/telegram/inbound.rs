//! The long poll: updates to the port, and the next poll only for what is durable.
//!
//! `getUpdates` with a higher offset is the acknowledgement, so the offset moves past an update only
//! after `ingest` returned `Ok` for it. Nothing here remembers what it has seen; the port does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channels::channel::ChannelError;
use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::intake;
use crate::channels::pacing::IdlePolls;
use crate::channels::sync::unless_stopped;
use crate::channels::telegram::api::Api;
use crate::channels::telegram::position::{self, Position};
use crate::channels::telegram::updates::{self, Me, Update};
use crate::client::channel_port::ChannelPort;
use crate::clock::backoff::jitter;
use crate::protocol::bridge::{Inbound, Ingestion};
use crate::protocol::problem::Problem;

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
    let mut position = position::position(cursor.as_deref(), poller.me.id);
    let mut idle = IdlePolls::default();
    let answers = TaskTracker::new();
    let mut conflicts: u32 = 0;
    let ended = loop {
        let mut params = json!({
            "timeout": poller.poll_timeout.as_secs(),
            "limit": 100,
            "allowed_updates": ALLOWED_UPDATES,
        });
        if let Some(offset) = position.offset {
            params["offset"] = json!(offset);
        }
        let asked = Instant::now();
        let limit = poller.poll_timeout + POLL_SLACK;
        let poll = poller.api.call_within("getUpdates", &params, limit);
        let Some(answer) = unless_stopped(&stop, poll).await else {
            break Ok(());
        };
        let rest = match answer {
            Ok(Value::Array(items)) => {
                crate::mutant!("ack_after_commit" => poller.api.confirm(&items).await);
                crate::crash_point!("ack.post");
                conflicts = 0;
                poller.health.received(items.len());
                match take_in(poller, &items, &mut position, &answers).await {
                    BatchProgress::All => {
                        idle.rest(items.len(), 0, asked.elapsed(), poller.poll_timeout)
                    }
                    BatchProgress::NotAll(problem) => {
                        tracing::warn!(%problem, "cannot store updates; Telegram sends them again");
                        poller.health.cannot_store("Telegram", &problem);
                        Some(Duration::from_secs(1))
                    }
                    BatchProgress::NothingWithId => {
                        break Err(ChannelError::transient("Telegram sent updates without ids"));
                    }
                }
            }
            Ok(_) => {
                let detail = "Telegram's list of updates is not a list";
                break Err(ChannelError::transient(detail));
            }
            Err(CallError::Refused {
                code: 409, detail, ..
            }) => {
                conflicts = conflicts.saturating_add(1);
                Some(conflict(poller, conflicts, &detail).await)
            }
            Err(CallError::Limited { retry_after, .. }) => {
                poller.health.limited(retry_after);
                Some(retry_after)
            }
            Err(error) => break Err(broken(&error)),
        };
        if let Some(rest) = rest
            && unless_stopped(&stop, tokio::time::sleep(rest))
                .await
                .is_none()
        {
            break Ok(());
        }
    };
    answers.close();
    answers.wait().await;
    ended
}

/// What a failed call means for the connection.
pub fn broken(error: &CallError) -> ChannelError {
    if let CallError::Refused {
        code: 401 | 404, ..
    } = error
    {
        return ChannelError::fatal(
            "Telegram does not know this bot token",
            "check the token from @BotFather (and api_base, if you set it)",
        );
    }
    ChannelError::of_call(error)
}

/// How far a batch got.
pub(super) enum BatchProgress {
    /// To its end.
    All,
    /// What is left may come again.
    NotAll(Problem),
    /// Nothing in it has a number.
    NothingWithId,
}

/// Takes in a batch of updates, in the order of their numbers: a position after the higher one of two would confirm the
/// other one, whatever becomes of it.
pub(super) async fn take_in(
    poller: &Poller,
    items: &[Value],
    position: &mut Position,
    answers: &TaskTracker,
) -> BatchProgress {
    let mut with_id = 0;
    let mut items: Vec<&Value> = items.iter().collect();
    items.sort_by_key(|item| updates::number(item));
    for item in &items {
        let Some(update) = updates::decode(item, &poller.me) else {
            tracing::warn!("skipping an update without an id");
            continue;
        };
        with_id += 1;
        let Update {
            id,
            inbound,
            callback_id,
        } = update;
        let next = id.saturating_add(1);
        let unnamed = position.unnamed_below.is_some_and(|below| id < below);
        match store(poller, inbound, unnamed).await {
            Ok(ingested) => {
                position.offset = Some(next);
                if let (Some(callback_id), Some(ingested)) = (callback_id, ingested) {
                    answers.spawn(answer_click(
                        poller.api.clone(),
                        Arc::clone(&poller.health),
                        callback_id,
                        ingested.feedback,
                    ));
                }
            }
            Err(problem) => return BatchProgress::NotAll(problem),
        }
    }
    if with_id == 0 && !items.is_empty() {
        return BatchProgress::NothingWithId;
    }
    BatchProgress::All
}

/// Takes in an item under the keys of this bot. An error means: it may come again. `unnamed`: it may have been stored
/// under a key that names no bot.
async fn store(
    poller: &Poller,
    inbound: Inbound,
    unnamed: bool,
) -> Result<Option<Ingestion>, Problem> {
    if unnamed {
        match poller.port.ingest(inbound.clone()).await {
            Ok(ingested) => return Ok(Some(ingested)),
            Err(problem) if intake::is_transient(problem.kind) => return Err(problem),
            // Another bot's message had that number.
            Err(_) => {}
        }
    }
    let bot = poller.me.id.to_string();
    intake::take_in(poller.port.as_ref(), &poller.health, &bot, inbound).await
}

/// Stops the button's spinner. Too late or twice is of no consequence: the click is durable.
async fn answer_click(
    api: Api,
    health: Arc<HealthLog>,
    callback_id: String,
    feedback: Option<String>,
) {
    let mut params = json!({ "callback_query_id": callback_id });
    if let Some(feedback) = feedback {
        let toast: String = feedback.chars().take(MAX_TOAST).collect();
        params["text"] = json!(toast);
    }
    let answer = api.call("answerCallbackQuery", &params).await;
    if let Err(error @ CallError::Refused { .. }) = &answer {
        // Too late: an answer all the same.
        tracing::debug!(%error, "acknowledged a click too late");
        return;
    }
    health.optional("answerCallbackQuery", &answer);
}

/// After a 409: says so, and how long to wait. A poll of our own from before a restart may linger at the
/// server for some seconds, so a few conflicts mean nothing.
async fn conflict(poller: &Poller, conflicts: u32, description: &str) -> Duration {
    let is_webhook = description.to_ascii_lowercase().contains("webhook");
    let problem = if is_webhook {
        "a webhook was set for this token; removing it, because this channel polls"
    } else if conflicts < CONFLICTS_TOLERATED {
        "an earlier poll with this token has not ended yet; trying again"
    } else {
        "another instance is polling with this token: stop it, or get this one a bot of its own from @BotFather"
    };
    poller.health.receive_failing(problem.to_owned());
    if is_webhook {
        let params = json!({ "drop_pending_updates": false });
        if let Err(error) = poller.api.call("deleteWebhook", &params).await {
            tracing::warn!(%error, "cannot remove the webhook");
        }
    }
    let base = poller.conflict_delay * conflicts.min(10);
    base.mul_f64(0.5 + jitter())
}
