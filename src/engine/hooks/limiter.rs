//! How much happened within the last minute. Pure: the caller says what time it is, and which limits count.
//!
//! What is refused uses nothing up, and of several limits all or none is used.

use std::collections::HashMap;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::clock::rate::RateWindow;
use crate::config::settings::RateLimits;

/// Time that is looked back.
const WINDOW: Duration = Duration::from_mins(1);
const WINDOW_MS: i64 = 60_000;
/// Keys kept before those are looked for that nobody was told about lately.
const MANY_KEYS: usize = 4096;

/// One limit as it applies to something that is about to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// What is counted together.
    pub key: String,
    /// The most in a minute.
    pub most: u32,
    /// In words, after "more than N".
    pub what: String,
}

/// Why something may not happen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    pub reason: String,
    /// Nobody was told so within the last minute.
    pub first: bool,
}

/// What happened lately.
#[derive(Debug)]
pub struct Limiter {
    happened: RateWindow<String>,
    told: HashMap<String, i64>,
}

impl Default for Limiter {
    fn default() -> Self {
        Self {
            happened: RateWindow::new(WINDOW),
            told: HashMap::new(),
        }
    }
}

fn limit(most: Option<u32>, key: String, what: impl Into<String>) -> Option<Limit> {
    let what = what.into();
    most.map(|most| Limit { key, most, what })
}

pub fn of_message(limits: &RateLimits, channel: &str, person: &str) -> Vec<Limit> {
    [
        limit(
            limits.messages,
            format!("message of {person}"),
            "messages a minute from one person",
        ),
        limit(
            limits.channel_messages,
            format!("message on {channel}"),
            "messages a minute on this channel",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub fn of_call(limits: &RateLimits, channel: &str, person: &str, tool: &str) -> Vec<Limit> {
    [
        limit(
            limits.tool_calls,
            format!("call of {person}"),
            "tool calls a minute for one person",
        ),
        limit(
            limits.channel_tool_calls,
            format!("call on {channel}"),
            "tool calls a minute on this channel",
        ),
        limit(
            limits.per_tool.get(tool).copied(),
            format!("tool {tool}"),
            format!("calls of {tool} a minute"),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Limiter {
    /// Whether it would be too much now; nothing is used up.
    pub fn look(&mut self, now: Timestamp, limits: &[Limit]) -> Result<(), Over> {
        for limit in limits {
            let Some(wait) = self.happened.wait(&limit.key, limit.most, now) else {
                continue;
            };
            let seconds = wait.as_millis().div_ceil(1000);
            let told = self.told.get(&limit.key).copied();
            return Err(Over {
                reason: format!(
                    "more than {} {}; again in {} s",
                    limit.most,
                    limit.what,
                    seconds.max(1)
                ),
                first: told.is_none_or(|at| at + WINDOW_MS <= now.as_millis()),
            });
        }
        Ok(())
    }

    /// Uses the limits up by one, or says why not.
    pub fn take(&mut self, now: Timestamp, limits: &[Limit]) -> Result<(), Over> {
        if limits.is_empty() {
            return Ok(());
        }
        self.look(now, limits)?;
        for limit in limits {
            self.happened.note(limit.key.clone(), now);
        }
        Ok(())
    }

    /// Notes that somebody was told that these are used up.
    pub fn told(&mut self, now: Timestamp, limits: &[Limit]) {
        if self.told.len() > MANY_KEYS {
            let now = now.as_millis();
            self.told.retain(|_, at| *at + WINDOW_MS > now);
        }
        for limit in limits {
            self.told.insert(limit.key.clone(), now.as_millis());
        }
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
