//! Counts failed logins per address within a minute. In IPv6 a network of 64 bits is one address.
//!
//! Never counts or delays a good login: all programs of a machine share the loopback address, and none of them may lock
//! the operator out.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::api::seats::holder;
use crate::clock::Timestamp;
use crate::clock::rate::RateWindow;

/// Failed logins allowed per peer and window.
pub const LIMIT: u32 = 100;
const WINDOW: Duration = Duration::from_mins(1);

/// Whether another failed login is answered as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Answer 401.
    Counted,
    /// Answer 429; it counts again after this many seconds.
    OverLimit {
        /// Seconds, at least 1.
        retry_after: u64,
    },
}

/// The counters.
#[derive(Debug)]
pub struct FailedLogins {
    /// Times are counted from here, whatever the wall clock does.
    began: Instant,
    peers: Mutex<RateWindow<IpAddr>>,
}

impl Default for FailedLogins {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            peers: Mutex::new(RateWindow::new(WINDOW)),
        }
    }
}

impl FailedLogins {
    /// Counts one failed login of `peer` at `now`.
    pub fn count(&self, peer: IpAddr, now: Instant) -> Attempt {
        let peer = holder(peer).unwrap_or(peer);
        let since = now.saturating_duration_since(self.began).as_millis();
        let now = Timestamp(i64::try_from(since).unwrap_or(i64::MAX));
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        match peers.wait(&peer, LIMIT, now) {
            Some(wait) => Attempt::OverLimit {
                retry_after: wait.as_secs().max(1),
            },
            None => {
                peers.note(peer, now);
                Attempt::Counted
            }
        }
    }
}
