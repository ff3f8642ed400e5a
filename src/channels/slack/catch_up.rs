//! Fetches messages missed while the bot was away, from the histories of known conversations.
//!
//! Slack delivers events again for some minutes only. Nothing here is acknowledged, and each message has the key that
//! its event would have, so it does not matter who brings it first. The health detail names a history that Slack
//! refuses.
//!
//! The history of a channel leaves out what threads say. So the threads that went on meanwhile are read too, where
//! their first message is new or one of the last before that.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::channels::fields::text_at;
use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::slack::api::Api;
use crate::channels::slack::fields::parse_conversation;
use crate::channels::slack::intake::Intake;
use crate::channels::slack::items::{self, Item};
use crate::channels::slack::me::Me;
use crate::channels::slack::position::Gap;
use crate::channels::slack::ts;
use crate::channels::sync::unless_stopped;
use crate::clock::backoff::doubled;

/// After so many messages the health says how many were read.
const TOLD_EVERY: usize = 100;
/// Messages of one answer; apps that are sold get fewer.
const PAGE: &str = "200";
/// Pages of one conversation: 12 000 messages.
const MAX_PAGES: usize = 60;
/// Threads of one conversation that are read because they went on.
const MAX_THREADS: usize = 50;
/// Tries of one page.
const TRIES: u32 = 5;
/// The longest rest of one history, whatever Slack asks: the next round tries again.
const LONGEST_REST: Duration = Duration::from_mins(2);
/// The rest before the second round, in first rests after a failure, and the longest one between rounds.
const ROUND: u32 = 15;
const LONGEST_ROUND: Duration = Duration::from_mins(10);

/// What catching up works with.
pub struct CatchUp {
    /// Platform side.
    pub api: Api,
    /// Where what was missed goes.
    pub intake: Arc<Intake>,
    /// Where problems are noted.
    pub health: Arc<HealthLog>,
    /// Who we are.
    pub me: Me,
    /// Between calls: the histories of a workspace have 50 a minute.
    pub interval: Duration,
    /// The first rest after a failure.
    pub rest: Duration,
}

/// Why a history was not read.
enum Missed {
    /// Slack does not give it: what was missed there stays missed.
    Refused(String),
    /// It could not be read this time.
    Later {
        /// Why.
        why: String,
        /// How long Slack asks to wait.
        rest: Duration,
    },
}

/// Catches up with these conversations, which are held.
pub async fn run(catch_up: &CatchUp, gaps: Vec<Gap>, stop: CancellationToken) {
    unless_stopped(&stop, all(catch_up, gaps)).await;
}

/// Reads all of them, in rounds: what cannot be read is tried again, because a connection may last for weeks.
async fn all(catch_up: &CatchUp, mut gaps: Vec<Gap>) {
    let mut refused = None;
    for rounds in 1.. {
        let (left, asked) = round(catch_up, gaps, &mut refused).await;
        if left.is_empty() {
            return;
        }
        gaps = left;
        let rest = doubled(catch_up.rest * ROUND, rounds, LONGEST_ROUND);
        tokio::time::sleep(rest.max(asked)).await;
    }
}

/// Reads each once. Those that are to be read again, and how long Slack asks to wait.
async fn round(
    catch_up: &CatchUp,
    gaps: Vec<Gap>,
    refused: &mut Option<String>,
) -> (Vec<Gap>, Duration) {
    let mut later = None;
    let mut asked = Duration::ZERO;
    let mut left = Vec::new();
    for gap in gaps {
        let conversation = &gap.conversation;
        match one(catch_up, &gap).await {
            Ok(()) => catch_up.intake.lock().await.position.release(conversation),
            Err(Missed::Refused(why)) => {
                catch_up.intake.lock().await.position.release(conversation);
                tracing::info!(%conversation, %why, "cannot read the missed messages of a conversation");
                if !is_gone(&why) {
                    *refused = Some(format!("messages missed while away cannot be read: {why}"));
                }
            }
            // Its mark stays where it is, so that the next connection can go on there too.
            Err(Missed::Later { why, rest }) => {
                later = Some(format!(
                    "not all messages missed while away are read yet: {why}"
                ));
                asked = asked.max(rest);
                left.push(gap);
            }
        }
        catch_up.health.reading_missed(None);
        tokio::time::sleep(catch_up.interval).await;
    }
    let problem = later.or_else(|| refused.clone());
    catch_up.health.note("conversations.history", problem);
    (left, asked)
}

/// Whether the conversation itself is not there (any more): nothing is missed in it.
fn is_gone(why: &str) -> bool {
    [
        "channel_not_found",
        "not_in_channel",
        "thread_not_found",
        "is_archived",
    ]
    .iter()
    .any(|word| why.contains(word))
}

async fn one(catch_up: &CatchUp, gap: &Gap) -> Result<(), Missed> {
    let (conversation, after) = (gap.conversation.as_str(), gap.after.as_str());
    let (channel, thread) = parse_conversation(conversation);
    let (mut messages, mut whole) = said_after(catch_up, conversation, after).await?;
    if thread.is_none() {
        tokio::time::sleep(catch_up.interval).await;
        let before = page(catch_up, conversation, Span::Before(after), "").await?;
        let roots = before["messages"].as_array().into_iter().flatten();
        let went_on = went_on(messages.iter().chain(roots), after);
        for thread in went_on.iter().take(MAX_THREADS) {
            let thread = format!("{channel}/{thread}");
            // One in which somebody spoke to us is read by itself.
            if catch_up.intake.lock().await.position.knows(&thread) {
                continue;
            }
            tokio::time::sleep(catch_up.interval).await;
            let (replies, all) = match said_after(catch_up, &thread, after).await {
                Ok(replies) => replies,
                Err(Missed::Refused(why)) if is_gone(&why) => continue,
                Err(missed) => return Err(missed),
            };
            messages.extend(replies);
            whole &= all;
        }
        whole &= went_on.len() <= MAX_THREADS;
    }
    let time = |message: &Value| text_at(message, "/ts").unwrap_or_default().to_owned();
    messages.sort_by(|one, other| ts::compare(&time(one), &time(other)));
    // A reply that was sent to the channel too is in both histories.
    messages.dedup_by(|one, other| time(one) == time(other));
    {
        let position = &catch_up.intake.lock().await.position;
        messages.retain(|message| !position.remembers(conversation, &time(message)));
    }
    let all = messages.len();
    for (read, message) in messages.into_iter().enumerate() {
        if read > 0 && read.is_multiple_of(TOLD_EVERY) {
            catch_up.health.reading_missed(Some((read, Some(all))));
        }
        let Some(at) = text_at(&message, "/ts").filter(|at| ts::is_older(after, at)) else {
            continue;
        };
        let names = items::needed_by_message(channel, &message, &catch_up.me);
        let names = catch_up.intake.names(names).await;
        let mut intake = catch_up.intake.lock().await;
        let item = items::message(channel, &message, &catch_up.me, &names, &|thread| {
            intake.position.knows(thread)
        });
        if let Item::New { inbound, mark } = item {
            let came = match &mark {
                Some((marked, at)) => intake.position.remembers(marked, at),
                // Said to others in a thread: no mark names it, and none has to be answered.
                None => !ts::is_older(&gap.known, at),
            };
            if came {
                continue;
            }
            // Somebody spoke to us in a thread: it is known from here on.
            let mark = mark.filter(|(marked, _)| marked != conversation);
            intake
                .take_missed(*inbound, (conversation, at), mark)
                .await
                .map_err(|problem| Missed::Later {
                    why: problem.to_string(),
                    rest: Duration::ZERO,
                })?;
        }
    }
    if whole {
        return Ok(());
    }
    Err(Missed::Refused(format!(
        "{conversation} had more than {MAX_PAGES} pages of messages or {MAX_THREADS} threads"
    )))
}

/// The threads that have replies after a time, by their first messages; those with the newest replies first.
fn went_on<'a>(messages: impl Iterator<Item = &'a Value>, after: &str) -> Vec<String> {
    let mut threads: Vec<(&str, &str)> = messages
        .filter_map(|message| Some((text_at(message, "/latest_reply")?, text_at(message, "/ts")?)))
        .filter(|(latest, _)| ts::is_older(after, latest))
        .collect();
    threads.sort_by(|(one, _), (other, _)| ts::compare(other, one));
    let roots = threads.into_iter().map(|(_, root)| root.to_owned());
    roots.collect()
}

/// What a conversation says after a time, and whether that is all.
async fn said_after(
    catch_up: &CatchUp,
    conversation: &str,
    after: &str,
) -> Result<(Vec<Value>, bool), Missed> {
    let mut messages: Vec<Value> = Vec::new();
    let mut cursor = String::new();
    for _ in 0..MAX_PAGES {
        let mut page = page(catch_up, conversation, Span::After(after), &cursor).await?;
        if let Some(Value::Array(items)) = page.get_mut("messages").map(Value::take) {
            messages.extend(items);
        }
        text_at(&page, "/response_metadata/next_cursor")
            .unwrap_or_default()
            .clone_into(&mut cursor);
        if cursor.is_empty() || page["has_more"] == false {
            return Ok((messages, true));
        }
        tokio::time::sleep(catch_up.interval).await;
    }
    Ok((messages, false))
}

/// Which messages of a conversation.
#[derive(Debug, Clone, Copy)]
enum Span<'a> {
    /// Those after this time.
    After(&'a str),
    /// The last ones up to this time.
    Before(&'a str),
}

/// One page of a conversation, tried again while that may help.
async fn page(
    catch_up: &CatchUp,
    conversation: &str,
    span: Span<'_>,
    cursor: &str,
) -> Result<Value, Missed> {
    let (channel, thread) = parse_conversation(conversation);
    let mut params = vec![("channel", channel), ("limit", PAGE)];
    match span {
        Span::After(time) => params.push(("oldest", time)),
        // The message at that time is one of them, if it began a thread.
        Span::Before(time) => params.extend([("latest", time), ("inclusive", "true")]),
    }
    let method = match thread {
        Some(thread) => {
            params.push(("ts", thread));
            "conversations.replies"
        }
        None => "conversations.history",
    };
    if !cursor.is_empty() {
        params.push(("cursor", cursor));
    }
    let mut failures = 0;
    loop {
        let error = match catch_up.api.call_form(method, &params).await {
            Ok(page) => return Ok(page),
            Err(error) => error,
        };
        failures += 1;
        let rest = match &error {
            CallError::Refused { .. } => return Err(Missed::Refused(error.to_string())),
            CallError::Limited { retry_after, .. } => *retry_after,
            CallError::NotSent { .. } | CallError::Lost { .. } | CallError::Server { .. } => {
                doubled(catch_up.rest, failures, LONGEST_REST)
            }
        };
        if failures >= TRIES || rest > LONGEST_REST {
            return Err(Missed::Later {
                why: error.to_string(),
                rest: error.retry_after().unwrap_or_default(),
            });
        }
        tokio::time::sleep(rest).await;
    }
}
