//! A connection to a server and who uses it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::Timestamp;
use crate::mcp::client::connection::Connection;
use crate::tools::mcp::catalogue::Catalogue;

/// A connection and what is behind it.
pub(super) struct Link {
    pub(super) connection: Connection,
    pub(super) pid: Option<u32>,
    pub(super) connected_at: Timestamp,
    pub(super) began: Instant,
    /// The last list, and when it was asked for; none = there is none, or it changed.
    pub(super) catalogue: Mutex<Option<(Arc<Catalogue>, Instant)>>,
    /// The list that was told to whoever listens; none = there was no list yet.
    pub(super) told: Mutex<Option<Arc<Catalogue>>>,
    /// Rings when a list differs from that.
    pub(super) differs: Notify,
    /// Rings when the last call under way ends.
    pub(super) freed: Notify,
    /// Calls under way, and when the last one ended.
    pub(super) uses: Mutex<(usize, Instant)>,
    /// Fires when it is let go on purpose.
    pub(super) let_go: CancellationToken,
}

/// Keeps a link from being idle.
pub(super) struct Use(pub(super) Arc<Link>);

impl Use {
    pub(super) fn of(link: Arc<Link>) -> Self {
        lock(&link.uses).0 += 1;
        Self(link)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.0.connection
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut uses = lock(&self.0.uses);
        uses.0 -= 1;
        uses.1 = Instant::now();
        if uses.0 == 0 {
            self.0.freed.notify_one();
        }
    }
}

/// What a mutex holds, also where a holder panicked.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
