//! The one database: everything that must change together changes in one transaction here.
//!
//! No SQL exists outside this module, nothing here reads the wall clock except through the [`Clock`] it was
//! opened with, and nothing here decides anything about policy, people or text: commands are pure data.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::broadcast;

use crate::clock::Clock;
use crate::protocol::event::Event;
use crate::store::command::WriteCommand;
use crate::store::commands::recover::Recovery;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

pub mod audit;
pub mod check;
pub mod command;
pub mod commands;
pub mod error;
pub mod input;
pub mod queries;
pub mod reader;

/// How to open a store.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Data directory; made (0700) when missing.
    pub dir: PathBuf,
    /// Where "now" comes from.
    pub clock: Clock,
    /// Number of read-only connections, at least 1.
    pub readers: usize,
    /// Name of this instance, for the lock file.
    pub instance: String,
}

/// What opening gave.
pub struct Opened {
    /// The store.
    pub store: Store,
    /// The source of events; `subscribe` on it or on the store.
    pub events: broadcast::Sender<Arc<Event>>,
    /// What recovery found; already durable.
    pub recovery: Recovery,
}

/// Events after a cursor.
#[derive(Debug, Clone, PartialEq)]
pub enum EventsAfter {
    /// These, in order; fewer than asked for = no more yet.
    Events(Vec<Event>),
    /// The cursor is not kept any more (or never was): take a new snapshot.
    Reset,
}

/// The open database. Cheap to clone.
#[derive(Clone)]
pub struct Store {}

impl Store {
    /// Opens or creates the database of a data directory and recovers it. Blocking.
    pub fn open(options: OpenOptions) -> Result<Opened, StoreError> {
        let _ = options;
        Err(StoreError::Closed)
    }

    /// Carries out a command; resolves after COMMIT (and fsync when durable). Once the command is queued,
    /// dropping the future does not cancel it.
    pub async fn write<C: WriteCommand>(&self, command: C) -> Result<C::Output, StoreError> {
        let _ = command;
        Err(StoreError::Closed)
    }

    /// Runs a closure in one read transaction off the async threads.
    pub async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _ = query;
        Err(StoreError::Closed)
    }

    /// Epoch of this process.
    pub fn epoch(&self) -> u64 {
        0
    }

    /// Durable events in commit order, published after commit, and ephemeral ones given to
    /// [`Store::publish`]. Capacity 4096: a slow subscriber lags and must read the log again.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        broadcast::channel(1).1
    }

    /// Publishes an ephemeral event. Its `seq` is cleared.
    pub fn publish(&self, event: Event) {
        let _ = event;
    }

    /// At most `limit` durable events after `seq`.
    pub async fn events_after(&self, seq: u64, limit: u32) -> Result<EventsAfter, StoreError> {
        let _ = (seq, limit);
        Err(StoreError::Closed)
    }

    /// Number of the last committed event.
    pub fn last_seq(&self) -> u64 {
        0
    }

    /// None = healthy; else why the last write failed (disk full, I/O), until one succeeds.
    pub fn problem(&self) -> Option<String> {
        None
    }

    /// Drains the queue, truncates the write-ahead log, ends the writer, releases the lock.
    pub async fn close(self) {}
}
