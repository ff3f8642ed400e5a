//! The response cache: a file of its own that may vanish at any moment, and the thread that has it open.
//!
//! Nothing here is part of the store's transactions, and no failure here reaches a turn: whatever is wrong with the
//! file is a miss and a word for people. The thread starts with the first use and sleeps while there is nothing to do.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::clock::Timestamp;
use crate::protocol::cache::{CacheEntry, CachePurge, CachePurgeResult};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::response_cache::counters::{CounterKey, Delta};
use crate::store::response_cache::types::{Problem, unpoisoned};
use crate::store::response_cache::worker::Worker;

pub mod counters;
mod entries;
mod file;
mod result_rows;
mod results;
mod types;
mod worker;

pub use types::{
    CacheError, CacheState, KeptResult, Key, Made, NewEntry, NewResult, Options, Picture,
    ResultLookup, StoredAnswer,
};

/// Requests that may wait for the thread; more are dropped, which is a miss.
const QUEUE: usize = 1024;
/// How long counters and times of use may stay in memory.
const FLUSH_AFTER: Duration = Duration::from_secs(2);
/// Longest wait for a look: beyond it the model is asked.
const LOOK_WITHIN: Duration = Duration::from_secs(1);
/// Longest wait for what a person asked.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce(&mut Worker) + Send>;

enum Order {
    Job(Job),
    Close(oneshot::Sender<()>),
}

struct Inner {
    options: Options,
    /// None until the first use.
    queue: Mutex<Option<SyncSender<Order>>>,
    problem: Problem,
}

/// The response cache. Cheap to clone.
#[derive(Clone)]
pub struct ResponseCache {
    inner: Arc<Inner>,
}

impl ResponseCache {
    /// A cache that opens its file when it is first used.
    pub fn new(options: Options) -> Self {
        Self {
            inner: Arc::new(Inner {
                options,
                queue: Mutex::new(None),
                problem: Problem::default(),
            }),
        }
    }

    /// Where the file is and how much it may hold.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Why the file cannot be used, as of the last use; none = it could, or was not used.
    pub fn problem(&self) -> Option<String> {
        unpoisoned(&self.inner.problem).clone()
    }

    /// Whether there is anything to ask about: the thread runs, or the file is there.
    pub fn is_there(&self) -> bool {
        unpoisoned(&self.inner.queue).is_some() || self.inner.options.path.exists()
    }

    fn send(&self, order: Order) -> Result<(), String> {
        let mut queue = unpoisoned(&self.inner.queue);
        if queue.is_none() {
            let (sender, receiver) = sync_channel(QUEUE);
            let worker = Worker::new(self.inner.options.clone(), Arc::clone(&self.inner.problem));
            std::thread::Builder::new()
                .name("response-cache".to_owned())
                .spawn(move || run(worker, receiver))
                .map_err(|error| format!("no thread for it: {error}"))?;
            *queue = Some(sender);
        }
        let Some(sender) = queue.as_ref() else {
            return Err("it is closed".to_owned());
        };
        match sender.try_send(order) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => Err("it does not keep up".to_owned()),
            Err(TrySendError::Disconnected(_)) => {
                // The thread is gone (it panicked): the next use starts another one.
                *queue = None;
                Err("it stopped".to_owned())
            }
        }
    }

    fn tell(&self, job: impl FnOnce(&mut Worker) + Send + 'static) {
        if let Err(why) = self.send(Order::Job(Box::new(job))) {
            *unpoisoned(&self.inner.problem) = Some(why);
        }
    }

    async fn ask<T: Send + 'static>(
        &self,
        within: Duration,
        job: impl FnOnce(&mut Worker) -> T + Send + 'static,
    ) -> Result<T, String> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(move |worker: &mut Worker| {
            // Nobody may wait any more.
            let _ = reply.send(job(worker));
        });
        self.send(Order::Job(job))?;
        match tokio::time::timeout(within, answer).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(_)) => Err("it stopped".to_owned()),
            Err(_) => Err(format!("no answer within {} ms", within.as_millis())),
        }
    }

    /// Looks for an answer.
    pub async fn look(&self, key: Key, asked: [u8; 16], now: Timestamp) -> CacheState {
        self.look_with(
            move |worker| worker.look(&key, &asked, now),
            CacheState::Unusable,
        )
        .await
    }

    async fn look_with<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Worker) -> T + Send + 'static,
        unusable: T,
    ) -> T {
        match self.ask(LOOK_WITHIN, job).await {
            Ok(look) => look,
            Err(why) => {
                *unpoisoned(&self.inner.problem) = Some(why);
                unusable
            }
        }
    }

    /// Whether an answer is kept to this question alone.
    pub async fn knows_question(&self, asked: [u8; 16]) -> bool {
        let known = self.ask(LOOK_WITHIN, move |worker| worker.knows_question(&asked));
        known.await.unwrap_or(false)
    }

    /// Keeps an answer, in place of one with the same key. Whoever looks from now on finds it.
    pub fn keep(&self, entry: NewEntry) {
        self.tell(move |worker| worker.keep(&entry));
    }

    /// Counts.
    pub fn count(&self, key: CounterKey, delta: Delta) {
        self.tell(move |worker| worker.count(key, delta));
    }

    /// How much is kept, and everything that was counted.
    pub async fn picture(&self) -> Picture {
        match self.ask(ANSWER_WITHIN, Worker::picture).await {
            Ok(picture) => picture,
            Err(why) => Picture {
                problem: Some(why),
                ..Picture::default()
            },
        }
    }

    /// Cached responses, newest first.
    pub async fn entries(
        &self,
        channel: Option<String>,
        page: PageRequest,
    ) -> Result<Page<CacheEntry>, CacheError> {
        self.ask(ANSWER_WITHIN, move |worker| {
            worker.list(channel.as_deref(), &page)
        })
        .await
        .map_err(CacheError::Unusable)?
    }

    /// One cached response.
    pub async fn entry(&self, id: String) -> Result<CacheEntry, CacheError> {
        self.ask(ANSWER_WITHIN, move |worker| worker.show(&id))
            .await
            .map_err(CacheError::Unusable)?
    }

    /// Pins an answer, or no longer.
    pub async fn pin(&self, id: String, pinned: bool) -> Result<CacheEntry, CacheError> {
        self.ask(ANSWER_WITHIN, move |worker| worker.pin(&id, pinned))
            .await
            .map_err(CacheError::Unusable)?
    }

    /// Removes answers; their text is overwritten in the file.
    pub async fn purge(
        &self,
        what: CachePurge,
        day: String,
    ) -> Result<CachePurgeResult, CacheError> {
        self.ask(ANSWER_WITHIN, move |worker| worker.purge(&what, &day))
            .await
            .map_err(CacheError::Unusable)?
    }

    /// Number of cached responses to one who asked; 0 where there is no file.
    pub async fn count_of(&self, requester: &str) -> Result<u64, CacheError> {
        self.of_requester(requester.to_owned(), None).await
    }

    /// Removes the answers to one who asked; their text is overwritten in the file.
    pub async fn erase(&self, requester: &str, day: String) -> Result<u64, CacheError> {
        self.of_requester(requester.to_owned(), Some(day)).await
    }

    async fn of_requester(
        &self,
        requester: String,
        day: Option<String>,
    ) -> Result<u64, CacheError> {
        if !self.is_there() {
            return Ok(0);
        }
        self.ask(ANSWER_WITHIN, move |worker| {
            worker.of_requester(&requester, day.as_deref())
        })
        .await
        .map_err(CacheError::Unusable)?
    }

    /// Writes what is only in memory and ends the thread.
    pub async fn close(&self) {
        let sender = unpoisoned(&self.inner.queue).take();
        let Some(sender) = sender else {
            return;
        };
        let (done, closed) = oneshot::channel();
        if sender.try_send(Order::Close(done)).is_ok() {
            let _ = tokio::time::timeout(ANSWER_WITHIN, closed).await;
        }
    }
}

fn run(mut worker: Worker, orders: Receiver<Order>) {
    loop {
        let order = if worker.is_dirty() {
            match orders.recv_timeout(FLUSH_AFTER) {
                Ok(order) => order,
                Err(RecvTimeoutError::Timeout) => {
                    worker.flush();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        } else {
            match orders.recv() {
                Ok(order) => order,
                Err(_) => break,
            }
        };
        match order {
            Order::Job(job) => job(&mut worker),
            Order::Close(done) => {
                worker.flush();
                drop(worker);
                let _ = done.send(());
                return;
            }
        }
    }
    worker.flush();
}
