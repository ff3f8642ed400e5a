//! How much happened within the last minute. Pure: the caller says what time it is, and which limits count.
//!
//! What is refused uses nothing up, and of several limits all or none is used.

use std::collections::{HashMap, VecDeque};

use crate::clock::Timestamp;
use crate::config::settings::RateLimits;

/// Milliseconds that are looked back.
const WINDOW_MS: i64 = 60_000;
/// Keys kept before those are looked for that nothing happened under.
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
    /// In words.
    pub reason: String,
    /// Nobody was told so within the last minute.
    pub first: bool,
}

/// What happened lately.
#[derive(Debug, Default)]
pub struct Limiter {
    /// Milliseconds, oldest first.
    happened: HashMap<String, VecDeque<i64>>,
    told: HashMap<String, i64>,
}

/// The limits of a message.
pub fn of_message(limits: &RateLimits, channel: &str, person: &str) -> Vec<Limit> {
    let limit =
        |most: Option<u32>, key: String, what: String| most.map(|most| Limit { key, most, what });
    [
        limit(
            limits.messages,
            format!("message of {person}"),
            "messages a minute from one person".to_owned(),
        ),
        limit(
            limits.channel_messages,
            format!("message on {channel}"),
            "messages a minute on this channel".to_owned(),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The limits of a tool call.
pub fn of_call(limits: &RateLimits, channel: &str, person: &str, tool: &str) -> Vec<Limit> {
    let limit =
        |most: Option<u32>, key: String, what: String| most.map(|most| Limit { key, most, what });
    [
        limit(
            limits.tool_calls,
            format!("call of {person}"),
            "tool calls a minute for one person".to_owned(),
        ),
        limit(
            limits.channel_tool_calls,
            format!("call on {channel}"),
            "tool calls a minute on this channel".to_owned(),
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
        let now = now.as_millis();
        for limit in limits {
            let Some(times) = self.happened.get_mut(&limit.key) else {
                continue;
            };
            while times.front().is_some_and(|at| at + WINDOW_MS <= now) {
                times.pop_front();
            }
            if times.len() < limit.most as usize {
                continue;
            }
            let since = times.len() - limit.most as usize;
            let free = times.get(since).map_or(now, |at| at + WINDOW_MS);
            let seconds = (free - now + 999) / 1000;
            let told = self.told.get(&limit.key).copied();
            return Err(Over {
                reason: format!(
                    "more than {} {}; again in {} s",
                    limit.most,
                    limit.what,
                    seconds.max(1)
                ),
                first: told.is_none_or(|at| at + WINDOW_MS <= now),
            });
        }
        Ok(())
    }

    /// Uses the limits up by one, or says why not.
    pub fn take(&mut self, now: Timestamp, limits: &[Limit]) -> Result<(), Over> {
        if limits.is_empty() {
            return Ok(());
        }
        self.forget_old(now.as_millis());
        self.look(now, limits)?;
        for limit in limits {
            let times = self.happened.entry(limit.key.clone()).or_default();
            times.push_back(now.as_millis());
        }
        Ok(())
    }

    /// Notes that somebody was told that these are used up.
    pub fn told(&mut self, now: Timestamp, limits: &[Limit]) {
        for limit in limits {
            self.told.insert(limit.key.clone(), now.as_millis());
        }
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn forget_old(&mut self, now: i64) {
        if self.happened.len() > MANY_KEYS {
            self.happened
                .retain(|_, times| times.back().is_some_and(|at| at + WINDOW_MS > now));
        }
        if self.told.len() > MANY_KEYS {
            self.told.retain(|_, at| *at + WINDOW_MS > now);
        }
    }
}
