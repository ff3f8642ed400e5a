//! How many TCP connections there may be. Who holds no token can take the few seats of strangers and no more, so the
//! owner's socket, the database and the tools always have descriptors left.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most TCP connections, however many descriptors there are.
const MOST: u64 = 1024;

/// The seats of one listener.
#[derive(Debug)]
pub struct Seats {
    all: Arc<Semaphore>,
    strangers: Arc<Semaphore>,
}

/// The seat of one connection. Clones share it.
#[derive(Debug, Clone)]
pub struct Seat {
    stranger: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    _connection: Arc<OwnedSemaphorePermit>,
}

impl Seats {
    /// Seats where this many descriptors may be open: a quarter of them, half of that for strangers.
    pub fn among(descriptors: u64) -> Self {
        let all = (descriptors / 4).clamp(4, MOST);
        let seats = |count: u64| Arc::new(Semaphore::new(usize::try_from(count).unwrap_or(4)));
        Self {
            all: seats(all),
            strangers: seats(all / 2),
        }
    }

    /// Seats under the limit of this process.
    pub fn of_process() -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        Self::among(limit.current.unwrap_or(u64::MAX))
    }

    /// A seat for a connection that has proved nothing yet; none = it must go.
    pub fn take(&self) -> Option<Seat> {
        let stranger = self.strangers.clone().try_acquire_owned().ok()?;
        let connection = self.all.clone().try_acquire_owned().ok()?;
        Some(Seat {
            stranger: Arc::new(Mutex::new(Some(stranger))),
            _connection: Arc::new(connection),
        })
    }
}

impl Seat {
    /// A good token was shown on this connection: its place among the strangers is free again.
    pub fn admit(&self) {
        self.place().take();
    }

    /// Whether nobody has shown a good token on this connection.
    pub fn is_stranger(&self) -> bool {
        self.place().is_some()
    }

    fn place(&self) -> std::sync::MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.stranger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
