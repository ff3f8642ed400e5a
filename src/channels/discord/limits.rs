//! When a call of the REST interface may leave: by the bucket that Discord counts it in, by its global limit, and by how
//! many calls it refused.
//!
//! Nothing here sleeps or sends; it answers "now" or "not before this long". No bucket is known before Discord names it.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::channels::sync::lock;

/// Discord bans an address after 10 000 refused calls (401, 403, 429) in this time.
pub const REFUSED_WINDOW: Duration = Duration::from_mins(10);
/// Far below that, everything rests until the window is over.
pub const MAX_REFUSED: u32 = 500;
/// The kind of call that Discord's global limit does not count: the answer to an interaction.
pub const UNBOUND: &str = "POST callback";
/// Buckets that are remembered, before those that are full again are forgotten.
const MAX_BUCKETS: usize = 1_024;

/// What an answer says of its bucket.
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    /// Its name.
    pub bucket: String,
    /// Calls that are left.
    pub remaining: u32,
    /// Time until it is full again.
    pub reset_after: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    remaining: u32,
    reset: Instant,
}

#[derive(Debug, Default)]
struct Gates {
    /// Which bucket a kind of call is counted in.
    names: HashMap<String, String>,
    /// Buckets by name and by the channel or guild that the call is about.
    buckets: HashMap<(String, String), Bucket>,
    /// Everything rests until then.
    everything: Option<Instant>,
    /// Refused calls since then.
    refused: Option<(Instant, u32)>,
}

/// The limits of one account.
#[derive(Debug, Default)]
pub struct Limits {
    gates: Mutex<Gates>,
}

impl Limits {
    /// Takes the slot for a call of this kind, or says how long to wait before asking again. `major`: the channel or guild
    /// it is about.
    pub fn take(&self, kind: &str, major: &str, now: Instant) -> Result<(), Duration> {
        let mut gates = lock(&self.gates);
        gates.may(kind, major, now)?;
        let key = gates.key(kind, major);
        if let Some(bucket) = gates.buckets.get_mut(&key) {
            bucket.remaining = bucket.remaining.saturating_sub(1);
        }
        Ok(())
    }

    /// Whether such a call may leave now; takes nothing.
    pub fn may(&self, kind: &str, major: &str, now: Instant) -> Result<(), Duration> {
        let mut gates = lock(&self.gates);
        gates.may(kind, major, now)
    }

    /// An answer told of its bucket.
    pub fn note(&self, kind: &str, major: &str, quota: &Quota, now: Instant) {
        let mut gates = lock(&self.gates);
        gates.names.insert(kind.to_owned(), quota.bucket.clone());
        if gates.buckets.len() >= MAX_BUCKETS {
            gates.buckets.retain(|_, bucket| bucket.reset > now);
        }
        let bucket = Bucket {
            remaining: quota.remaining,
            reset: now + quota.reset_after,
        };
        gates
            .buckets
            .insert((quota.bucket.clone(), major.to_owned()), bucket);
    }

    /// Discord said to wait.
    pub fn limited(&self, kind: &str, major: &str, rest: Duration, everything: bool, now: Instant) {
        let mut gates = lock(&self.gates);
        let until = now + rest;
        if everything {
            gates.everything = Some(gates.everything.map_or(until, |at| at.max(until)));
            return;
        }
        let key = gates.key(kind, major);
        let bucket = Bucket {
            remaining: 0,
            reset: until,
        };
        gates.buckets.insert(key, bucket);
    }

    /// Discord refused a call in a way that counts against the address.
    pub fn refused(&self, now: Instant) {
        let mut gates = lock(&self.gates);
        gates.refused = match gates.refused {
            Some((since, count)) if now.duration_since(since) < REFUSED_WINDOW => {
                Some((since, count.saturating_add(1)))
            }
            Some(_) | None => Some((now, 1)),
        };
    }
}

impl Gates {
    /// The bucket of a call; before Discord named one, each kind of call has its own.
    fn key(&self, kind: &str, major: &str) -> (String, String) {
        let name = self.names.get(kind).map_or(kind, String::as_str);
        (name.to_owned(), major.to_owned())
    }

    fn may(&mut self, kind: &str, major: &str, now: Instant) -> Result<(), Duration> {
        let key = self.key(kind, major);
        if self
            .buckets
            .get(&key)
            .is_some_and(|bucket| bucket.reset <= now)
        {
            self.buckets.remove(&key);
        }
        let refused_until = self
            .refused
            .filter(|(_, count)| *count >= MAX_REFUSED)
            .map(|(since, _)| since + REFUSED_WINDOW);
        let bucket_until = self
            .buckets
            .get(&key)
            .filter(|bucket| bucket.remaining == 0)
            .map(|bucket| bucket.reset);
        let everything = self.everything.filter(|_| kind != UNBOUND);
        let until = [everything, refused_until, bucket_until]
            .into_iter()
            .flatten()
            .max();
        match until {
            Some(until) if until > now => Err(until - now),
            Some(_) | None => Ok(()),
        }
    }
}
