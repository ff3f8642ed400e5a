//! Reads the events of a room that a sync left out.
//!
//! A homeserver names where the gap ends (`prev_batch`), and servers read back from there alike. The first way goes
//! back page by page and keeps only where each page begins. The second way reads the pages again, the oldest first, and
//! gives each one on before it asks for the next. So a long absence needs the memory of a page. What a kill leaves
//! unread comes again, because the position moves after the last event of the batch.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::channels::http::CallError;
use crate::channels::matrix::events;
use crate::channels::matrix::rooms;
use crate::channels::matrix::syncer::{Halt, Syncer, TYPES};
use crate::channels::sync::unless_stopped;
use crate::clock::backoff::doubled;

/// Events of one room that are fetched after a time away.
const MAX_EVENTS: usize = 20_000;
/// Pages that are fetched for them.
const MAX_PAGES: usize = 1_000;
/// How often a page is asked for while the server fails.
const TRIES: u32 = 3;
/// The first and the longest wait before the next try.
const REST: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// The events between two syncs.
pub struct Gap<'a> {
    syncer: &'a Syncer,
    stop: &'a CancellationToken,
    room: &'a str,
    since: &'a str,
    /// Where pages begin that are still to be read, the newest first.
    pages: Vec<String>,
    /// The page that was read last on the way back, oldest first.
    oldest: Option<Vec<Value>>,
    /// Events in all pages.
    total: usize,
    /// Events of them that were given on.
    read: usize,
}

impl<'a> Gap<'a> {
    /// Goes back from `from` to the last batch, or to where we came in. `section`: what the sync says of the room.
    ///
    /// # Errors
    /// We are to stop, or the homeserver could not be asked.
    pub async fn find(
        syncer: &'a Syncer,
        stop: &'a CancellationToken,
        (room, section): (&'a str, &Value),
        from: &str,
        since: &'a str,
    ) -> Result<Self, Halt> {
        let mut gap = Self {
            syncer,
            stop,
            room,
            since,
            pages: Vec::new(),
            oldest: None,
            total: 0,
            read: 0,
        };
        let mut named = rooms::named(section);
        let mut from = from.to_owned();
        for asked in 1.. {
            let Some(answer) = gap.page(&from).await? else {
                break;
            };
            syncer.rooms.learn_names(room, &answer, &mut named);
            let mut chunk = chunk(&answer);
            let came = chunk
                .iter()
                .position(|event| events::is_joining(event, &syncer.me.user));
            chunk.truncate(came.unwrap_or(chunk.len()));
            gap.total += chunk.len();
            if !chunk.is_empty() {
                chunk.reverse();
                gap.pages.push(from.clone());
                gap.oldest = Some(chunk);
            }
            syncer.health.reading_missed(Some((0, Some(gap.total))));
            let end = answer["end"].as_str().filter(|end| *end != from);
            let (None, Some(end)) = (came, end) else {
                break;
            };
            if gap.total >= MAX_EVENTS || asked >= MAX_PAGES {
                syncer.health.skipped(format!(
                    "more than {} events in `{room}` while we were away: the oldest are not read",
                    gap.total
                ));
                break;
            }
            end.clone_into(&mut from);
        }
        // That page is here already.
        gap.pages.pop();
        Ok(gap)
    }

    /// The next page, oldest first; none = all were given on.
    ///
    /// # Errors
    /// We are to stop, or the homeserver could not be asked.
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, Halt> {
        let page = match (self.oldest.take(), self.pages.pop()) {
            (Some(oldest), newer) => {
                self.pages.extend(newer);
                oldest
            }
            (None, Some(from)) => {
                let answer = self.page(&from).await?;
                let mut page = answer.as_ref().map(chunk).unwrap_or_default();
                page.reverse();
                page
            }
            (None, None) => return Ok(None),
        };
        let health = &self.syncer.health;
        health.reading_missed(Some((self.read, Some(self.total))));
        self.read += page.len();
        Ok(Some(page))
    }

    /// A page, newest first; none = we may not read there any more.
    async fn page(&self, from: &str) -> Result<Option<Value>, Halt> {
        let (syncer, room) = (self.syncer, self.room);
        let filter = json!({ "types": TYPES, "lazy_load_members": true });
        let mut failures = 0;
        // The runs are the tries of a read that ended one before.
        let has_failed = syncer.failed.has(room, self.since);
        let tries = if has_failed { 1 } else { TRIES };
        self.rest(syncer.page_rest).await?;
        loop {
            let asking = syncer.api.messages_before(room, from, self.since, &filter);
            let answer = unless_stopped(self.stop, asking).await;
            let rest = match answer.ok_or(Halt::Stopped)? {
                Ok(answer) => return Ok(Some(answer)),
                Err(CallError::Limited { retry_after, .. }) => {
                    syncer.health.limited(retry_after);
                    retry_after
                }
                Err(CallError::Refused { code, detail, .. }) if code != 401 => {
                    syncer.health.skipped(format!(
                        "the messages missed in `{room}` cannot be read: {detail}"
                    ));
                    return Ok(None);
                }
                Err(error @ CallError::Refused { .. }) => return Err(error.into()),
                Err(
                    error @ (CallError::NotSent { .. }
                    | CallError::Lost { .. }
                    | CallError::Server { .. }),
                ) => {
                    failures += 1;
                    if failures < tries {
                        doubled(REST.0, failures, REST.1)
                    } else if self.is_given_up(&error) {
                        return Ok(None);
                    } else {
                        return Err(error.into());
                    }
                }
            };
            self.rest(rest).await?;
        }
    }

    /// Whether a failed page is passed over. Until then it ends the run.
    fn is_given_up(&self, error: &CallError) -> bool {
        let (syncer, room) = (self.syncer, self.room);
        // A homeserver that cannot be reached is no fault of this room.
        if matches!(error, CallError::NotSent { .. }) || !syncer.failed.note(room, self.since) {
            return false;
        }
        tracing::warn!(%room, %error, "passed over messages of a room that the homeserver never gives");
        syncer.health.skipped(format!(
            "messages missed in `{room}` cannot be read, try after try: {error}"
        ));
        true
    }

    async fn rest(&self, rest: Duration) -> Result<(), Halt> {
        let rested = unless_stopped(self.stop, tokio::time::sleep(rest)).await;
        rested.ok_or(Halt::Stopped)
    }
}

fn chunk(answer: &Value) -> Vec<Value> {
    answer["chunk"].as_array().cloned().unwrap_or_default()
}
