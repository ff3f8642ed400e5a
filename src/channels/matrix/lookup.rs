//! Events that others point to, read back from the homeserver. A bounded memory keeps what was asked lately.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::channels::http::CallError;
use crate::channels::matrix::api::Api;
use crate::channels::matrix::events::{Me, Target, as_target};
use crate::channels::sync::lock;

/// Events that are remembered.
const REMEMBERED: usize = 1_000;
/// Longest rest that a look waits for.
const LONGEST_REST: Duration = Duration::from_mins(1);
/// How often a look is tried while the server fails or asks to wait.
const TRIES: u32 = 3;
/// Runs that a read of one room may end before it is given up: about two minutes.
const MAX_ENDED_RUNS: u32 = 8;
/// Reads that are remembered.
const MAX_READS: usize = 200;

/// Reads of rooms that ended runs, by their room and place. One that never succeeds must not hold up all other rooms.
#[derive(Debug, Default)]
pub struct FailedReads {
    ended: Mutex<HashMap<(String, String), u32>>,
}

impl FailedReads {
    /// Whether a read ended a run before.
    pub fn has(&self, room: &str, place: &str) -> bool {
        let key = (room.to_owned(), place.to_owned());
        lock(&self.ended).contains_key(&key)
    }

    /// Notes that a read failed once more; whether it is given up, and ends no run any more.
    pub fn note(&self, room: &str, place: &str) -> bool {
        let mut ended = lock(&self.ended);
        let key = (room.to_owned(), place.to_owned());
        if ended.len() >= MAX_READS && !ended.contains_key(&key) {
            ended.clear();
        }
        let runs = ended.entry(key).or_default();
        if *runs >= MAX_ENDED_RUNS {
            return true;
        }
        *runs += 1;
        false
    }
}

#[derive(Default)]
struct Memory {
    targets: HashMap<String, Target>,
    oldest_first: VecDeque<String>,
}

/// Looks events up.
pub struct Targets {
    api: Api,
    me: Me,
    memory: Mutex<Memory>,
    failed: Arc<FailedReads>,
}

impl Targets {
    /// Nothing is known yet.
    pub fn new(api: Api, me: Me, failed: Arc<FailedReads>) -> Self {
        Self {
            api,
            me,
            memory: Mutex::default(),
            failed,
        }
    }

    /// What is known of an event. One that the server does not show to us is nobody's.
    ///
    /// # Errors
    /// When the server could not be asked: later it may be.
    pub async fn of(&self, room: &str, event: &str) -> Result<Target, CallError> {
        if let Some(known) = self.remembered(event) {
            return Ok(known);
        }
        let mut tried = 0;
        loop {
            tried += 1;
            let error = match self.api.event(room, event).await {
                Ok(found) => {
                    let target = as_target(&found, &self.me);
                    self.remember(event, &target);
                    return Ok(target);
                }
                Err(CallError::Refused { code, .. }) if code != 401 => {
                    return Ok(Target::default());
                }
                Err(error) => error,
            };
            match &error {
                CallError::Limited { retry_after, .. } if tried < TRIES => {
                    tokio::time::sleep((*retry_after).min(LONGEST_REST)).await;
                }
                // One event that the server fails at must not hold up all others for ever.
                CallError::Server { .. } if tried >= TRIES => return Ok(unread(&error)),
                CallError::Lost { .. } if self.failed.note(room, event) => {
                    return Ok(unread(&error));
                }
                CallError::Server { .. } => {
                    tokio::time::sleep(Duration::from_secs(u64::from(tried))).await;
                }
                CallError::NotSent { .. }
                | CallError::Lost { .. }
                | CallError::Limited { .. }
                | CallError::Refused { .. } => return Err(error),
            }
        }
    }

    fn remembered(&self, event: &str) -> Option<Target> {
        let memory = lock(&self.memory);
        memory.targets.get(event).cloned()
    }

    fn remember(&self, event: &str, target: &Target) {
        let mut memory = lock(&self.memory);
        let is_new = memory
            .targets
            .insert(event.to_owned(), target.clone())
            .is_none();
        if is_new {
            memory.oldest_first.push_back(event.to_owned());
        }
        if memory.oldest_first.len() > REMEMBERED
            && let Some(oldest) = memory.oldest_first.pop_front()
        {
            memory.targets.remove(&oldest);
        }
    }
}

/// What is known of an event that the server never gives.
fn unread(error: &CallError) -> Target {
    tracing::warn!(%error, "cannot read the event that a message replies to");
    Target::default()
}
