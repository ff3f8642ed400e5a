//! The handle of the open database: it queues commands, reads, and tells what changed.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{Semaphore, SemaphorePermit, broadcast, mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::protocol::backup::BackupReport;
use crate::protocol::event::Event;
use crate::store::artifact_files::ArtifactFiles;
use crate::store::backup::{BackupError, BackupRequest, backup_while_serving};
use crate::store::command::WriteCommand;
use crate::store::commands::recover::Recovery;
use crate::store::dataset_files::DatasetFiles;
use crate::store::error::StoreError;
use crate::store::event_log::EventsAfter;
use crate::store::integrity::wal_of;
use crate::store::metrics::Metrics;
use crate::store::reader::{Reader, in_read_transaction};
use crate::store::schema;
use crate::store::sql::Connection;
use crate::store::writer::parking::Slot;
use crate::store::writer::{Message, Pending, Shared};

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
pub struct OpenedStore {
    pub store: Store,
    /// The source of events; `subscribe` on it or on the store.
    pub events: broadcast::Sender<Arc<Event>>,
    /// What recovery found; already durable.
    pub recovery: Recovery,
}

/// What all handles share.
pub(crate) struct Inner {
    pub(super) shared: Arc<Shared>,
    pub(super) queue: mpsc::Sender<Message>,
    pub(super) pool: Slot<Vec<Connection>>,
    pub(super) permits: Semaphore,
    pub(super) readers: u32,
    pub(super) path: PathBuf,
    pub(super) artifacts: ArtifactFiles,
    pub(super) datasets: DatasetFiles,
}

impl Inner {
    /// A connection that nobody reads with. One that was lost to a panicking query is opened again.
    fn take_reader(&self) -> Result<Connection, StoreError> {
        let pooled = self.pool.lock().pop();
        match pooled {
            Some(conn) => Ok(conn),
            None => schema::open_reader(&self.path),
        }
    }
}

/// What a query gave: a `Result<T, StoreError>` of the `T` that was asked for.
type AnyAnswer = Box<dyn Any + Send>;
/// A query in its own read transaction.
type Query = Box<dyn FnOnce(&Connection) -> AnyAnswer + Send>;

/// The open database. Cheap to clone; the writer ends when it is closed or the last clone is dropped.
#[derive(Clone)]
pub struct Store {
    pub(super) inner: Arc<Inner>,
}

impl Store {
    /// Carries out a command; resolves after COMMIT (and fsync when durable). Once the command is queued,
    /// dropping the future does not cancel it.
    pub async fn write<C: WriteCommand>(&self, command: C) -> Result<C::Output, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Pending {
            command,
            reply,
            result: None,
        });
        self.inner
            .queue
            .send(Message::Command(job))
            .await
            .map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs a closure in one read transaction on the calling thread: for reads of one thing by its key, which
    /// take less time than handing them to another thread. Lists and sums go through [`Store::read`].
    pub async fn read_here<T>(
        &self,
        query: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _permit = self.permit().await?;
        let conn = self.inner.take_reader()?;
        let result = in_read_transaction(&conn, query);
        self.inner.pool.lock().push(conn);
        result
    }

    /// Runs a closure in one read transaction off the async threads.
    pub async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        // One kind of task for all queries: they are many, and the binary has a limit.
        let work: Query = Box::new(move |conn| Box::new(in_read_transaction(conn, query)));
        let answered = self.run(work).await?;
        *answered
            .downcast::<Result<T, StoreError>>()
            .map_err(|_| StoreError::Corrupt("a query gave what it was not asked for".to_owned()))?
    }

    async fn run(&self, query: Query) -> Result<AnyAnswer, StoreError> {
        let _permit = self.permit().await?;
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || {
            let conn = inner.take_reader()?;
            let answered = query(&conn);
            inner.pool.lock().push(conn);
            Ok(answered)
        })
        .await
        .map_err(|error| StoreError::Sqlite(format!("a query did not finish: {error}")))?
    }

    async fn permit(&self) -> Result<SemaphorePermit<'_>, StoreError> {
        let permit = self.inner.permits.acquire().await;
        permit.map_err(|_| StoreError::Closed)
    }

    /// Epoch of this process.
    pub fn epoch(&self) -> u64 {
        self.inner.shared.epoch
    }

    /// Durable events in commit order, published after commit, and ephemeral ones given to
    /// [`Store::publish`]. Capacity 4096: a slow subscriber lags and must read the log again.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.inner.shared.events.subscribe()
    }

    /// Changes whenever a commit changed the outbox: the sender of a channel looks again.
    pub fn outbox_changes(&self) -> watch::Receiver<u64> {
        self.inner.shared.outbox_changes.subscribe()
    }

    /// Publishes an ephemeral event. Its `seq` is cleared.
    pub fn publish(&self, event: Event) {
        self.inner.shared.metrics.note_ephemeral(&event.body);
        // Nobody listening is fine.
        let _ = self
            .inner
            .shared
            .events
            .send(Arc::new(Event { seq: None, ..event }));
    }

    /// At most `limit` durable events after `seq`.
    pub async fn events_after(&self, seq: u64, limit: u32) -> Result<EventsAfter, StoreError> {
        let current = self.inner.shared.generation;
        self.read(move |reader| reader.events_after(seq, limit, current))
            .await
    }

    /// What is counted.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.shared.metrics
    }

    /// Commands that wait for the writer.
    pub fn queue_length(&self) -> usize {
        let queue = &self.inner.queue;
        queue.max_capacity().saturating_sub(queue.capacity())
    }

    /// Number of the last committed event.
    pub fn last_seq(&self) -> u64 {
        self.inner.shared.last_seq.load(Ordering::Acquire)
    }

    /// Writes a backup while everything goes on. Takes seconds; the writer is not held up.
    pub async fn backup(&self, request: BackupRequest) -> Result<BackupReport, BackupError> {
        let dir = self.inner.path.parent().map(std::path::Path::to_owned);
        // Whatever the copied database names stays until it is copied too.
        let guard = self.artifact_guard().await;
        let made = tokio::task::spawn_blocking(move || {
            let made = backup_while_serving(&dir.unwrap_or_default(), &request);
            drop(guard);
            made
        });
        made.await
            .map_err(|error| StoreError::Sqlite(format!("a backup did not finish: {error}")))?
    }

    /// Copies the write-ahead log into the database and shortens it, as far as readers let it; waits for no reader.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        let (done, copied) = oneshot::channel();
        let queued = self.inner.queue.send(Message::Checkpoint(done)).await;
        queued.map_err(|_| StoreError::Closed)?;
        copied.await.map_err(|_| StoreError::Closed)
    }

    /// Bytes of the write-ahead log; 0 = everything is in the database.
    pub fn log_bytes(&self) -> u64 {
        std::fs::metadata(wal_of(&self.inner.path)).map_or(0, |log| log.len())
    }

    /// None = healthy; else why the last write failed (disk full, I/O), until a durable one succeeds.
    pub fn problem(&self) -> Option<String> {
        self.inner.shared.problem.borrow().clone()
    }

    /// [`Store::problem`] as it changes.
    pub fn problem_changes(&self) -> watch::Receiver<Option<String>> {
        self.inner.shared.problem.subscribe()
    }

    /// Drains the queue, truncates the write-ahead log, ends the writer, releases the lock. Other clones
    /// are refused from then on.
    pub async fn close(self) {
        // Readers first: an open read transaction would keep the log from being emptied.
        let _idle = self.inner.permits.acquire_many(self.inner.readers).await;
        self.inner.permits.close();
        self.inner.pool.lock().clear();
        let (done, closed) = oneshot::channel();
        if self.inner.queue.send(Message::Close(done)).await.is_ok() {
            // An error means that the writer is gone already.
            let _ = closed.await;
        }
    }

    /// Runs a closure on the writing connection between two transactions.
    #[cfg(feature = "test-hooks")]
    pub async fn with_writer<T: Send + 'static>(
        &self,
        hook: impl FnOnce(&Connection) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.inner
            .queue
            .send(Message::Hook(Box::new(move |conn| {
                let _ = reply.send(hook(conn));
            })))
            .await
            .map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)
    }
}
