//! When the next call for a chat may leave: per chat, over all chats, and frozen after a 429.
//!
//! Nothing here sleeps or sends; it answers "now" or "not before this long".

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Telegram's sustainable rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacingLimits {
    /// Between calls for one private chat.
    pub private: Duration,
    /// Between calls for one group (Telegram allows 20 a minute).
    pub group: Duration,
    /// Between typing indicators in one chat.
    pub typing: Duration,
    /// Slots of a chat between two changes of a progress message: answers have the others.
    pub progress: u32,
    /// Between any two calls; with the burst below.
    pub overall: Duration,
    /// Calls that may leave at once after a quiet time.
    pub burst: u32,
}

impl Default for PacingLimits {
    fn default() -> Self {
        Self {
            private: Duration::from_secs(1),
            group: Duration::from_secs(3),
            typing: Duration::from_secs(4),
            progress: 2,
            overall: Duration::from_millis(40),
            burst: 10,
        }
    }
}

#[derive(Debug, Default)]
struct Gates {
    /// Earliest next send or edit per chat.
    chats: HashMap<i64, Instant>,
    /// Chats that got a 429, until then.
    frozen: HashMap<i64, Instant>,
    /// Everything, until then.
    all_frozen: Option<Instant>,
    /// Last typing indicator per chat.
    typed: HashMap<i64, Instant>,
    /// Earliest next change of a progress message per chat.
    progress: HashMap<i64, Instant>,
    /// Theoretical time of the next call overall (generic cell rate algorithm, ITU-T I.371).
    overall: Option<Instant>,
}

/// The gates of one account.
#[derive(Debug)]
pub struct Pacing {
    limits: PacingLimits,
    gates: Mutex<Gates>,
}

impl Pacing {
    /// All gates open.
    pub fn new(limits: PacingLimits) -> Self {
        Self {
            limits,
            gates: Mutex::new(Gates::default()),
        }
    }

    /// Takes the slot for a send or edit in a chat, or says how long to wait before asking again.
    pub fn take(&self, chat: i64, now: Instant) -> Result<(), Duration> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        gates.forget_past(now);
        let spare = self.limits.overall * self.limits.burst.saturating_sub(1);
        let overall = gates.overall.unwrap_or(now).max(now);
        let blocked_until = [
            gates.chats.get(&chat).copied(),
            gates.frozen.get(&chat).copied(),
            gates.all_frozen,
            overall.checked_sub(spare),
        ]
        .into_iter()
        .flatten()
        .max()
        .unwrap_or(now);
        if blocked_until > now {
            return Err(blocked_until - now);
        }
        let interval = if chat < 0 {
            self.limits.group
        } else {
            self.limits.private
        };
        gates.chats.insert(chat, now + interval);
        gates.overall = Some(overall + self.limits.overall);
        Ok(())
    }

    /// Whether a typing indicator may be shown now; taking it when so. Never waits: it is decorative.
    pub fn take_typing(&self, chat: i64, now: Instant) -> bool {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        gates.forget_past(now);
        let shown = gates
            .typed
            .get(&chat)
            .is_some_and(|at| now.duration_since(*at) < self.limits.typing);
        if shown || gates.frozen.contains_key(&chat) || gates.all_frozen.is_some() {
            return false;
        }
        gates.typed.insert(chat, now);
        true
    }

    /// Whether a progress message may change now; taking the slot when so. Never waits: it is decorative.
    pub fn take_progress(&self, chat: i64, now: Instant) -> bool {
        let rests = {
            let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
            gates.forget_past(now);
            gates.progress.contains_key(&chat)
        };
        if rests || self.take(chat, now).is_err() {
            return false;
        }
        let interval = if chat < 0 {
            self.limits.group
        } else {
            self.limits.private
        };
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        gates
            .progress
            .insert(chat, now + interval * self.limits.progress);
        true
    }

    /// A call for this chat got a 429: it rests. When another chat rests already, it is the account that
    /// is over its limit, and everything rests.
    pub fn freeze(&self, chat: i64, rest: Duration, now: Instant) {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        gates.forget_past(now);
        let until = now + rest;
        if gates.frozen.keys().any(|other| *other != chat) {
            gates.all_frozen = Some(gates.all_frozen.map_or(until, |at| at.max(until)));
        }
        gates.frozen.insert(chat, until);
    }
}

impl Gates {
    /// Drops what no longer blocks, so the maps hold only chats of the last seconds.
    fn forget_past(&mut self, now: Instant) {
        self.chats.retain(|_, until| *until > now);
        self.frozen.retain(|_, until| *until > now);
        self.progress.retain(|_, until| *until > now);
        self.typed
            .retain(|_, at| now.duration_since(*at) < Duration::from_mins(1));
        if self.all_frozen.is_some_and(|until| until <= now) {
            self.all_frozen = None;
        }
    }
}
