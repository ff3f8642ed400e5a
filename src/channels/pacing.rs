//! When the next call for a destination may leave: per destination, over all of them, and frozen after a 429.
//!
//! Nothing here sleeps or sends; it answers "now" or "not before this long".

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::channels::sync::lock;

/// What a platform sustains beside the interval of each destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacingLimits {
    /// Between typing indicators for one destination.
    pub typing: Duration,
    /// Slots of a destination between two changes of a progress message: answers have the others.
    pub progress: u32,
    /// Between any two calls; with the burst below.
    pub overall: Duration,
    /// Calls that may leave at once after a quiet time.
    pub burst: u32,
}

#[derive(Debug, Default)]
struct Gates {
    /// Earliest next send or edit per destination.
    destinations: HashMap<String, Instant>,
    /// Destinations that got a 429, until then.
    frozen: HashMap<String, Instant>,
    /// Everything, until then.
    all_frozen: Option<Instant>,
    /// Last typing indicator per destination.
    typed: HashMap<String, Instant>,
    /// Earliest next change of a progress message per destination.
    progress: HashMap<String, Instant>,
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

    /// Takes the slot for a send or edit, or says how long to wait before asking again. The next one for the destination
    /// is `interval` later.
    pub fn take(
        &self,
        destination: &str,
        interval: Duration,
        now: Instant,
    ) -> Result<(), Duration> {
        let mut gates = lock(&self.gates);
        gates.forget_past(now);
        let spare = self.limits.overall * self.limits.burst.saturating_sub(1);
        let overall = gates.overall.unwrap_or(now).max(now);
        let blocked_until = [
            gates.destinations.get(destination).copied(),
            gates.frozen.get(destination).copied(),
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
        gates
            .destinations
            .insert(destination.to_owned(), now + interval);
        gates.overall = Some(overall + self.limits.overall);
        Ok(())
    }

    /// Whether a typing indicator may be shown now; taking it when so. Never waits: it is decorative.
    pub fn take_typing(&self, destination: &str, now: Instant) -> bool {
        let mut gates = lock(&self.gates);
        gates.forget_past(now);
        let shown = gates
            .typed
            .get(destination)
            .is_some_and(|at| now.duration_since(*at) < self.limits.typing);
        if shown || gates.frozen.contains_key(destination) || gates.all_frozen.is_some() {
            return false;
        }
        gates.typed.insert(destination.to_owned(), now);
        true
    }

    /// Whether a progress message may change now; taking the slot when so. Never waits: it is decorative.
    pub fn take_progress(&self, destination: &str, interval: Duration, now: Instant) -> bool {
        let rests = {
            let mut gates = lock(&self.gates);
            gates.forget_past(now);
            gates.progress.contains_key(destination)
        };
        if rests || self.take(destination, interval, now).is_err() {
            return false;
        }
        let mut gates = lock(&self.gates);
        gates.progress.insert(
            destination.to_owned(),
            now + interval * self.limits.progress,
        );
        true
    }

    /// A call for this destination got a 429: it rests. When another one rests already, it is the account that
    /// is over its limit, and everything rests.
    pub fn freeze(&self, destination: &str, rest: Duration, now: Instant) {
        let mut gates = lock(&self.gates);
        gates.forget_past(now);
        let until = now + rest;
        if gates.frozen.keys().any(|other| other != destination) {
            gates.all_frozen = Some(gates.all_frozen.map_or(until, |at| at.max(until)));
        }
        gates.frozen.insert(destination.to_owned(), until);
    }

    /// The whole account got a 429: everything rests.
    pub fn freeze_all(&self, rest: Duration, now: Instant) {
        let mut gates = lock(&self.gates);
        let until = now + rest;
        gates.all_frozen = Some(gates.all_frozen.map_or(until, |at| at.max(until)));
    }
}

/// A poll that was held this long was held.
const HELD: Duration = Duration::from_millis(500);
/// The wait after the first empty answer that came at once; each further one waits longer.
const EMPTY_REST: Duration = Duration::from_secs(1);
const LONGEST_EMPTY_REST: Duration = Duration::from_secs(5);

/// A server that answers "nothing" at once, though it was asked to hold the poll, is asked ever more rarely.
#[derive(Debug, Default)]
pub struct IdlePolls {
    /// Polls of that kind in a row.
    empty: u32,
}

impl IdlePolls {
    /// How long to wait before the next poll. `took` and `asked_for`: how long it was held, and was to be.
    /// `tolerated`: polls of that kind that mean nothing yet.
    pub fn rest(
        &mut self,
        items: usize,
        tolerated: u32,
        took: Duration,
        asked_for: Duration,
    ) -> Option<Duration> {
        if items > 0 || took >= asked_for.min(HELD) {
            self.empty = 0;
            return None;
        }
        self.empty = self.empty.saturating_add(1);
        let over = self.empty.checked_sub(tolerated)?;
        Some((EMPTY_REST * over).min(LONGEST_EMPTY_REST)).filter(|rest| !rest.is_zero())
    }
}

impl Gates {
    /// Drops what no longer blocks, so the maps hold only those of the last seconds.
    fn forget_past(&mut self, now: Instant) {
        self.destinations.retain(|_, until| *until > now);
        self.frozen.retain(|_, until| *until > now);
        self.progress.retain(|_, until| *until > now);
        self.typed
            .retain(|_, at| now.duration_since(*at) < Duration::from_mins(1));
        if self.all_frozen.is_some_and(|until| until <= now) {
            self.all_frozen = None;
        }
    }
}
