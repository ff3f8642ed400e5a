//! A scripted engine: answers from lists, records what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::StreamExt as _;
use leverframe::client::console_client::{ConsoleClient, EventStream};
use leverframe::protocol::event::{Event, EventFilter, StreamItem};
use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{Answer, Envelope, Outcome, Query};
use tokio::sync::broadcast;

type Feed = Box<dyn Fn(&EventFilter) -> EventStream + Send + Sync>;

/// The scripted engine.
#[derive(Default)]
pub struct FakeClient {
    pub envelopes: Mutex<Vec<Envelope>>,
    pub queries: Mutex<Vec<Query>>,
    pub filters: Mutex<Vec<EventFilter>>,
    outcomes: Mutex<VecDeque<Result<Outcome, Problem>>>,
    answers: Mutex<VecDeque<Result<Answer, Problem>>>,
    feed: Mutex<Option<Feed>>,
}

impl FakeClient {
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    pub fn will(&self, outcome: Result<Outcome, Problem>) -> &Self {
        self.outcomes.lock().unwrap().push_back(outcome);
        self
    }

    pub fn knows(&self, answer: Result<Answer, Problem>) -> &Self {
        self.answers.lock().unwrap().push_back(answer);
        self
    }

    pub fn streams(&self, feed: impl Fn(&EventFilter) -> EventStream + Send + Sync + 'static) {
        *self.feed.lock().unwrap() = Some(Box::new(feed));
    }

    pub fn last_envelope(&self) -> Envelope {
        self.envelopes
            .lock()
            .unwrap()
            .last()
            .expect("a command")
            .clone()
    }
}

#[async_trait]
impl ConsoleClient for FakeClient {
    async fn submit(&self, envelope: Envelope) -> Result<Outcome, Problem> {
        self.envelopes.lock().unwrap().push(envelope);
        self.outcomes
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or_else(|| Err(Problem::internal("no outcome was scripted")))
    }

    async fn query(&self, query: Query) -> Result<Answer, Problem> {
        self.queries.lock().unwrap().push(query);
        self.answers
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or_else(|| Err(Problem::internal("no answer was scripted")))
    }

    async fn events(&self, filter: EventFilter) -> Result<EventStream, Problem> {
        self.filters.lock().unwrap().push(filter.clone());
        match &*self.feed.lock().unwrap() {
            Some(feed) => Ok(feed(&filter)),
            None => Ok(futures_util::stream::pending().boxed()),
        }
    }

    fn description(&self) -> String {
        "fake".to_owned()
    }
}

/// A durable log with live tail, as the engine's: everything after the cursor, then what comes.
#[derive(Clone)]
pub struct Log {
    kept: Arc<Mutex<Vec<Event>>>,
    live: broadcast::Sender<Event>,
}

impl Log {
    pub fn new() -> Self {
        Self {
            kept: Arc::default(),
            live: broadcast::channel(4096).0,
        }
    }

    pub fn append(&self, event: Event) {
        let mut kept = self.kept.lock().unwrap();
        if event.seq.is_some() {
            kept.push(event.clone());
        }
        let _ = self.live.send(event);
    }

    pub fn stream(&self, filter: &EventFilter) -> EventStream {
        let kept = self.kept.lock().unwrap();
        let live = self.live.subscribe();
        let after = filter.after.unwrap_or(u64::MAX);
        let old: Vec<_> = kept
            .iter()
            .filter(|event| event.seq.is_some_and(|seq| seq > after))
            .cloned()
            .collect();
        let tail = futures_util::stream::unfold(live, |mut live| async move {
            live.recv().await.ok().map(|event| (event, live))
        });
        futures_util::stream::iter(old)
            .chain(tail)
            .map(|event| Ok(StreamItem::Event(Arc::new(event))))
            .boxed()
    }
}
