//! How much happened lately, under each of many keys: the one limiter of rates. Pure: the caller says what time it is.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use crate::clock::Timestamp;

/// Keys kept before those are looked for that nothing happened under.
const MANY_KEYS: usize = 4096;

/// What happened within the last so much time.
#[derive(Debug)]
pub struct RateWindow<K> {
    /// Milliseconds that are looked back.
    length: i64,
    /// Milliseconds, oldest first.
    happened: HashMap<K, VecDeque<i64>>,
}

impl<K: Eq + Hash> RateWindow<K> {
    /// A window of this length in which nothing happened.
    pub fn new(length: Duration) -> Self {
        Self {
            length: i64::try_from(length.as_millis()).unwrap_or(i64::MAX),
            happened: HashMap::new(),
        }
    }

    /// How long until less than `most` happened under a key within the window; none = that is so now.
    pub fn wait<Q>(&mut self, key: &Q, most: u32, now: Timestamp) -> Option<Duration>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let times = self.happened.get_mut(key)?;
        let now = now.as_millis();
        while times.front().is_some_and(|at| at + self.length <= now) {
            times.pop_front();
        }
        let over = times.len().checked_sub(most as usize)?;
        let free = times.get(over).map_or(now, |at| at + self.length);
        Some(Duration::from_millis(
            u64::try_from(free - now).unwrap_or(0),
        ))
    }

    /// Something happened.
    pub fn note(&mut self, key: K, now: Timestamp) {
        let now = now.as_millis();
        if self.happened.len() >= MANY_KEYS {
            let length = self.length;
            self.happened
                .retain(|_, times| times.back().is_some_and(|at| at + length > now));
        }
        self.happened.entry(key).or_default().push_back(now);
    }
}
