//! Counts failed logins per peer address in windows of one minute. Never counts or delays a good login:
//! all programs of a machine share the loopback address, and none of them may lock the operator out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failed logins allowed per peer and window.
pub const LIMIT: u32 = 100;
const WINDOW: Duration = Duration::from_mins(1);
/// Peers remembered. Only loopback peers reach us, so this is never reached in practice.
const PEERS: usize = 1024;

/// Whether another failed login is answered as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Answer 401.
    Counted,
    /// Answer 429; the window ends after this many seconds.
    OverLimit {
        /// Seconds, at least 1.
        retry_after: u64,
    },
}

/// The counters.
#[derive(Debug, Default)]
pub struct FailedLogins {
    peers: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl FailedLogins {
    /// Counts one failed login of `peer` at `now`.
    pub fn count(&self, peer: IpAddr, now: Instant) -> Attempt {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.len() >= PEERS {
            peers.retain(|_, (start, _)| now.duration_since(*start) < WINDOW);
        }
        let (start, failures) = peers.entry(peer).or_insert((now, 0));
        if now.duration_since(*start) >= WINDOW {
            *start = now;
            *failures = 0;
        }
        *failures = failures.saturating_add(1);
        if *failures <= LIMIT {
            return Attempt::Counted;
        }
        let left = WINDOW.saturating_sub(now.duration_since(*start));
        Attempt::OverLimit {
            retry_after: left.as_secs().max(1),
        }
    }
}
