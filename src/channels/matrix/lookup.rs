//! Events that others point to, read back from the homeserver. A bounded memory keeps what was asked lately.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
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
}

impl Targets {
    /// Nothing is known yet.
    pub fn new(api: Api, me: Me) -> Self {
        Self {
            api,
            me,
            memory: Mutex::default(),
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
                CallError::Server { .. } if tried >= TRIES => {
                    tracing::warn!(%error, "cannot read the event that a message replies to");
                    return Ok(Target::default());
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
