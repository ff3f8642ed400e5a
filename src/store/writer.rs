//! The one thread that writes: group commit with two durability classes.
//!
//! It takes whatever is queued (no artificial delay), runs each command in its own savepoint, commits once,
//! and only then answers and publishes. Nobody is answered success before COMMIT. A failed fsync ends the
//! process: the kernel may have dropped the pages, so trying again would prove nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::protocol::event::Event;
use crate::store::activity_log;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::log_head::{LogGeneration, LogHead, StagedLog};
use crate::store::meta;
use crate::store::metrics::Metrics;
use crate::store::open_turns::OpenTurns;
use crate::store::ownership::write_sidecar;
use crate::store::schema;
use crate::store::sql::{Statements, is_fsync_failure};

/// Commands that may wait for the writer; more wait in their senders.
pub const QUEUE_CAPACITY: usize = 1024;
/// Commands in one commit.
const BATCH: usize = 256;
/// Pages in the write-ahead log above which an idle writer copies them into the database (4 KiB each).
const CHECKPOINT_IDLE_PAGES: u32 = 1024;
/// Pages above which it does so even when busy.
const CHECKPOINT_BUSY_PAGES: u32 = 4096;
/// Size of the file above which it also shortens it.
const CHECKPOINT_TRUNCATE_BYTES: u64 = 64 * 1024 * 1024;

/// A value behind a lock that survives a panic elsewhere.
pub(crate) mod parking {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// A mutex without poisoning: every value in it is replaced whole.
    #[derive(Debug, Default)]
    pub(crate) struct Slot<T>(Mutex<T>);

    impl<T> Slot<T> {
        /// Wraps a value.
        pub(crate) fn new(value: T) -> Self {
            Self(Mutex::new(value))
        }

        /// The value, locked.
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

/// What the writer shares with the handles.
pub(crate) struct Shared {
    /// Of this process.
    pub(crate) epoch: u64,
    /// Of the event log, while this process writes.
    pub(crate) generation: LogGeneration,
    pub(crate) last_seq: AtomicU64,
    /// Why nothing can be written; none = the last durable write succeeded.
    pub(crate) problem: watch::Sender<Option<String>>,
    pub(crate) events: broadcast::Sender<Arc<Event>>,
    pub(crate) metrics: Metrics,
    /// Counts commits that changed the outbox.
    pub(crate) outbox_changes: watch::Sender<u64>,
    /// Set by the update hook while a transaction touches the outbox.
    pub(crate) outbox_touched: AtomicBool,
}

/// One queued command with the one who waits for it.
pub(crate) trait Job: Send {
    fn durability(&self) -> Durability;
    /// See [`WriteCommand::ALONE`].
    fn alone(&self) -> bool;
    /// Runs the command and keeps its result; whether it succeeded.
    fn apply(&mut self, tx: &mut WriteTx<'_>) -> Result<(), StoreError>;
    /// Replaces the result.
    fn fail(&mut self, error: StoreError);
    /// Why it failed for lack of space or I/O, if it did.
    fn io_problem(&self) -> Option<String>;
    fn succeeded(&self) -> bool;
    fn answer(self: Box<Self>);
}

pub(crate) struct Pending<C: WriteCommand> {
    pub(crate) command: C,
    pub(crate) reply: oneshot::Sender<Result<C::Output, StoreError>>,
    pub(crate) result: Option<Result<C::Output, StoreError>>,
}

impl<C: WriteCommand> Job for Pending<C> {
    fn durability(&self) -> Durability {
        C::DURABILITY
    }

    fn alone(&self) -> bool {
        C::ALONE
    }

    fn apply(&mut self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        match self.command.apply(tx) {
            Ok(output) => {
                self.result = Some(Ok(output));
                Ok(())
            }
            Err(error) => {
                self.result = Some(Err(error.clone()));
                Err(error)
            }
        }
    }

    fn fail(&mut self, error: StoreError) {
        self.result = Some(Err(error));
    }

    fn io_problem(&self) -> Option<String> {
        match &self.result {
            Some(Err(StoreError::Full(why))) => Some(why.clone()),
            Some(_) | None => None,
        }
    }

    fn succeeded(&self) -> bool {
        matches!(self.result, Some(Ok(_)))
    }

    fn answer(self: Box<Self>) {
        let result = self.result.unwrap_or(Err(StoreError::Closed));
        if result.is_ok() {
            self.command.committed();
        }
        // The caller may be gone; the command counts all the same.
        let _ = self.reply.send(result);
    }
}

/// What the writer is sent.
pub(crate) enum Message {
    Command(Box<dyn Job>),
    /// Copy the log into the database and shorten it, as far as readers let it.
    Checkpoint(oneshot::Sender<()>),
    #[cfg(feature = "test-hooks")]
    Hook(Box<dyn FnOnce(&Connection) + Send>),
    Close(oneshot::Sender<()>),
}

thread_local! {
    /// Pages in the write-ahead log after the last commit of this thread (the writer's).
    static PAGES_IN_LOG: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Called by SQLite after each commit, with the number of pages now in the log.
#[expect(clippy::unnecessary_wraps, reason = "the type of the hook")]
fn count_pages(_log: &rusqlite::hooks::Wal, pages: std::ffi::c_int) -> rusqlite::Result<()> {
    PAGES_IN_LOG.set(u32::try_from(pages).unwrap_or(0));
    Ok(())
}

pub(crate) struct Writer {
    pub(crate) conn: Connection,
    pub(crate) clock: Clock,
    /// Where the logs end, as of the last commit.
    pub(crate) head: LogHead,
    /// Whether the last commit put something on the disk for good.
    pub(crate) proved: bool,
    pub(crate) shared: Arc<Shared>,
    pub(crate) turns: OpenTurns,
    pub(crate) synchronous: Durability,
    /// Pages in the log when a reader last kept a part of it from being copied; 0 = none did.
    pub(crate) stuck_at: u32,
    pub(crate) wal: PathBuf,
    pub(crate) sidecar: PathBuf,
    /// Held for as long as this process may write; released when the thread ends.
    pub(crate) lock: std::fs::File,
}

/// Ends the process when the writer panics: nobody could write any more, and nobody would notice.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("the store's writer panicked; ending the process");
            std::process::abort();
        }
    }
}

impl Writer {
    pub(crate) fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        let _guard = AbortOnPanic;
        self.conn.wal_hook(Some(count_pages));
        let mut batch: Vec<Box<dyn Job>> = Vec::with_capacity(BATCH);
        let mut closing: Option<oneshot::Sender<()>> = None;
        while closing.is_none() {
            let Some(first) = queue.blocking_recv() else {
                return;
            };
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    Message::Command(job) if job.alone() => {
                        self.run_batch(&mut batch);
                        self.run_alone(job);
                    }
                    Message::Command(job) => batch.push(job),
                    Message::Checkpoint(done) => {
                        self.run_batch(&mut batch);
                        if self.checkpoint("PASSIVE", Duration::ZERO) {
                            self.checkpoint("TRUNCATE", Duration::ZERO);
                        }
                        // Whoever asked may have given up waiting.
                        let _ = done.send(());
                    }
                    #[cfg(feature = "test-hooks")]
                    Message::Hook(hook) => {
                        self.run_batch(&mut batch);
                        hook(&self.conn);
                    }
                    Message::Close(done) => {
                        closing = Some(done);
                        break;
                    }
                }
                if batch.len() < BATCH {
                    next = queue.try_recv().ok();
                }
            }
            self.run_batch(&mut batch);
            self.checkpoint_if_due(queue.is_empty());
        }
        // Later commands fail; earlier ones are done.
        queue.close();
        drop(queue);
        self.finish();
        if let Some(done) = closing {
            // The lock must be free before the closer goes on, and the connection closed before the lock is.
            let Writer { conn, lock, .. } = self;
            drop(conn);
            drop(lock);
            // The closer may have given up waiting.
            let _ = done.send(());
        }
    }

    /// Runs one command in a transaction of its own, without foreign keys.
    fn run_alone(&mut self, job: Box<dyn Job>) {
        // A setting of the connection that cannot be changed inside a transaction.
        let off = self.conn.pragma_update(None, "foreign_keys", false);
        if let Err(error) = off {
            tracing::warn!(%error, "foreign keys stay on; sweeping is slow");
        }
        self.run_batch(&mut vec![job]);
        if let Err(error) = self.conn.pragma_update(None, "foreign_keys", true) {
            tracing::error!(%error, "foreign keys could not be switched on again; ending the process");
            std::process::abort();
        }
    }

    /// Commits what is in the batch, answers everybody, publishes.
    fn run_batch(&mut self, batch: &mut Vec<Box<dyn Job>>) {
        if batch.is_empty() {
            return;
        }
        let mut jobs = std::mem::take(batch);
        match self.attempt(&mut jobs) {
            Ok(events) => self.settle(jobs, events),
            Err(error) if jobs.len() == 1 => {
                for job in &mut jobs {
                    job.fail(error.clone());
                }
                self.settle(jobs, Vec::new());
            }
            Err(error) => {
                tracing::warn!(%error, commands = jobs.len(), "a batch was lost; running its commands singly");
                for job in jobs {
                    let mut single = vec![job];
                    let events = match self.attempt(&mut single) {
                        Ok(events) => events,
                        Err(error) => {
                            for job in &mut single {
                                job.fail(error.clone());
                            }
                            Vec::new()
                        }
                    };
                    self.settle(single, events);
                }
            }
        }
        // Keep the allocation for the next round.
        batch.reserve(BATCH.min(16));
    }

    fn settle(&mut self, jobs: Vec<Box<dyn Job>>, events: Vec<Event>) {
        let failed = jobs.iter().any(|job| job.io_problem().is_some());
        for job in &jobs {
            if let Some(why) = job.io_problem() {
                self.shared.problem.send_if_modified(|problem| {
                    let new = problem.as_ref() != Some(&why);
                    if new {
                        tracing::error!(%why, "the database cannot be written");
                        *problem = Some(why);
                    }
                    new
                });
            } else if job.succeeded() && self.proved && !failed {
                self.shared.problem.send_if_modified(|problem| {
                    let over = problem.take().is_some();
                    if over {
                        tracing::info!("the database can be written again");
                    }
                    over
                });
            }
        }
        self.shared.last_seq.store(self.head.seq, Ordering::Release);
        // Published before the answers: whoever is answered can rely on the event being on its way.
        let events: Vec<Arc<Event>> = events.into_iter().map(Arc::new).collect();
        for event in &events {
            let _ = self.shared.events.send(Arc::clone(event));
        }
        if self.shared.outbox_touched.swap(false, Ordering::AcqRel) {
            self.shared.outbox_changes.send_modify(|count| *count += 1);
        }
        for job in jobs {
            job.answer();
        }
        for event in &events {
            let ended = self.turns.note(event);
            activity_log::note(event, ended.as_ref());
            self.shared.metrics.note(event, ended.as_ref());
        }
    }

    /// One transaction over all jobs. An error means that the transaction was lost and nothing is stored.
    fn attempt(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<Vec<Event>, StoreError> {
        let class = jobs.iter().fold(Durability::Relaxed, |class, job| {
            class.stronger(job.durability())
        });
        let begun = Instant::now();
        let result = self.transaction(jobs, class);
        let took = begun.elapsed();
        self.shared
            .metrics
            .commit(class, jobs.len(), took, result.is_ok());
        if result.is_err()
            && !self.conn.is_autocommit()
            && let Err(error) = self.conn.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "rolling back failed");
        }
        result
    }

    fn transaction(
        &mut self,
        jobs: &mut [Box<dyn Job>],
        class: Durability,
    ) -> Result<Vec<Event>, StoreError> {
        self.proved = false;
        self.set_synchronous(class)?;
        let changes = self.conn.total_changes();
        let now = self.clock.now().max(self.head.newest);
        self.conn.run("BEGIN IMMEDIATE", [])?;
        let mut tx = WriteTx {
            conn: &self.conn,
            now,
            epoch: self.shared.epoch,
            staged: StagedLog::default(),
        };
        for job in jobs {
            let mark = tx.staged.mark();
            tx.conn.run("SAVEPOINT command", [])?;
            if let Err(error) = job.apply(&mut tx) {
                if tx.conn.is_autocommit() {
                    // SQLite gave up the whole transaction (disk full, I/O error).
                    return Err(error);
                }
                tx.conn.run("ROLLBACK TO command", [])?;
                tx.staged.back_to(mark);
            }
            tx.conn.run("RELEASE command", [])?;
        }
        let (head, events) = self.head.append(&self.conn, now, tx.staged)?;
        if let Err(error) = self.conn.prepare_cached("COMMIT")?.execute([]) {
            end_on_fsync_failure(&error);
            return Err(error.into());
        }
        self.head = head;
        // A commit without changes, or one that was not synced, says nothing about the disk.
        self.proved = class == Durability::Durable && self.conn.total_changes() != changes;
        Ok(events)
    }

    /// Sets the class of the next commit; has no effect inside a transaction, so never called there.
    fn set_synchronous(&mut self, class: Durability) -> Result<(), StoreError> {
        let class = if crate::mutant!("fsync_before_effect") {
            Durability::Relaxed
        } else {
            class
        };
        if class != self.synchronous {
            self.conn.execute_batch(match class {
                Durability::Durable => "PRAGMA synchronous = FULL",
                Durability::Relaxed => "PRAGMA synchronous = NORMAL",
            })?;
            self.synchronous = class;
        }
        Ok(())
    }

    /// The file never shrinks by itself and is written again from its start once it was copied whole, so what is
    /// due is told by the pages now in it, not by its size.
    ///
    /// A reader that does not let go keeps the log from being copied: then it is tried again only after the log has
    /// grown, and never waited for, because nobody could commit meanwhile.
    fn checkpoint_if_due(&mut self, idle: bool) {
        let pages = PAGES_IN_LOG.get();
        if pages < self.stuck_at {
            // It was written again from its start.
            self.stuck_at = 0;
        }
        let due = if idle {
            CHECKPOINT_IDLE_PAGES
        } else {
            CHECKPOINT_BUSY_PAGES
        };
        if pages <= self.stuck_at.saturating_add(due) {
            return;
        }
        let copied = self.checkpoint("PASSIVE", Duration::ZERO);
        let size = std::fs::metadata(&self.wal).map_or(0, |data| data.len());
        if !copied {
            if size > CHECKPOINT_TRUNCATE_BYTES {
                tracing::warn!(
                    megabytes = size / 1_000_000,
                    "a reader keeps the write-ahead log from being copied: is the database open in another program?"
                );
            }
            self.stuck_at = pages;
            return;
        }
        self.stuck_at = 0;
        if size > CHECKPOINT_TRUNCATE_BYTES {
            self.checkpoint("TRUNCATE", Duration::ZERO);
        }
    }

    /// Copies the log into the database, waiting for readers at most this long; whether all of it was copied.
    fn checkpoint(&mut self, mode: &str, wait: Duration) -> bool {
        let copy = |conn: &Connection| {
            conn.busy_timeout(wait)?;
            let done = conn.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
                Ok(row.get::<_, i64>(0)? == 0 && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
            });
            conn.busy_timeout(schema::BUSY_TIMEOUT)?;
            done
        };
        match copy(&self.conn) {
            Ok(done) => done,
            Err(error) => {
                end_on_fsync_failure(&error);
                tracing::warn!(%error, "checkpoint failed; it is tried again");
                false
            }
        }
    }

    /// Marks the end as clean, empties the write-ahead log, records the newest stored event beside the epoch.
    fn finish(&mut self) {
        let clean = self
            .set_synchronous(Durability::Durable)
            .and_then(|()| Ok(self.conn.execute_batch("BEGIN IMMEDIATE")?))
            .and_then(|()| meta::set(&self.conn, "clean", "1"))
            .and_then(|()| {
                self.conn.execute_batch("COMMIT").map_err(|error| {
                    end_on_fsync_failure(&error);
                    error.into()
                })
            })
            // What is stored, not the counter: the counter starts above everything stored in each epoch, and an
            // epoch without events would look like a lost one.
            .and_then(|()| {
                let newest: Option<u64> = self.conn.value("SELECT max(seq) FROM events", [])?;
                write_sidecar(&self.sidecar, self.shared.epoch, newest)
            });
        if let Err(error) = clean {
            tracing::error!(%error, "the store could not be closed cleanly");
        }
        self.checkpoint("TRUNCATE", schema::BUSY_TIMEOUT);
    }
}

/// Ends the process when the error says that an fsync failed.
fn end_on_fsync_failure(error: &rusqlite::Error) {
    if is_fsync_failure(error) {
        tracing::error!(%error, "fsync failed: what is on disk is not known any more; ending the process");
        std::process::abort();
    }
}
