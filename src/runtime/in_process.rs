//! The console client of this process: the engine itself, without a wire.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::client::console_client::{ConsoleClient, EventStream};
use crate::engine::core::Engine;
use crate::protocol::event::{Event, EventBody, EventFilter, StreamItem};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{Answer, Command, Envelope, Outcome, Query};
use crate::store::metrics::OpenStream;
use crate::store::{EventsAfter, Store};

/// Events read from the log at once.
const PAGE: u32 = 500;

/// The engine as a console client.
#[derive(Clone)]
pub struct InProcessClient {
    engine: Engine,
}

impl InProcessClient {
    /// A client of this engine.
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl ConsoleClient for InProcessClient {
    async fn submit(&self, envelope: Envelope) -> Result<Outcome, Problem> {
        let engine = self.engine.current();
        // What these show is for the eyes of their caller: they end when the caller goes away.
        if matches!(
            envelope.command,
            Command::RehearseCall(_) | Command::RunInShell(_) | Command::AskGate(_)
        ) {
            return engine.handle(envelope).await;
        }
        // The caller may go away (a closed connection); what it submitted is carried out all the same.
        tokio::spawn(async move { engine.handle(envelope).await })
            .await
            .unwrap_or_else(|error| Err(Problem::internal(error.to_string())))
    }

    async fn query(&self, query: Query) -> Result<Answer, Problem> {
        self.engine.current().answer(query).await
    }

    async fn events(&self, filter: EventFilter) -> Result<EventStream, Problem> {
        let store = self.engine.store.clone();
        let receiver = store.subscribe();
        let last_seq = match (filter.after, filter.since) {
            (Some(after), _) => after,
            (None, Some(since)) => store.read(move |reader| reader.cursor_at(since)).await?,
            (None, None) => store.last_seq(),
        };
        let follower = Follower {
            receiver,
            last_seq,
            // With a cursor, the log is read first; the subscription above already collects what follows.
            catching_up: filter.after.is_some() || filter.since.is_some(),
            store,
            filter,
            ready: VecDeque::new(),
            ended: false,
            _counted: self.engine.store.metrics().open_stream(),
        };
        Ok(Box::pin(stream::unfold(
            follower,
            |mut follower| async move { follower.next().await.map(|item| (item, follower)) },
        )))
    }

    fn description(&self) -> String {
        "local".to_owned()
    }
}

/// One subscriber: the log from its cursor, then live events, and the log again whenever it lags.
struct Follower {
    receiver: broadcast::Receiver<Arc<Event>>,
    last_seq: u64,
    catching_up: bool,
    store: Store,
    filter: EventFilter,
    ready: VecDeque<Event>,
    ended: bool,
    _counted: OpenStream,
}

impl Follower {
    async fn next(&mut self) -> Option<Result<StreamItem, Problem>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(StreamItem::Event(Arc::new(event))));
            }
            if self.ended {
                return None;
            }
            if self.catching_up {
                match self.store.events_after(self.last_seq, PAGE).await {
                    Ok(EventsAfter::Events(events)) => {
                        self.catching_up = events.len() as u32 >= PAGE;
                        for event in events {
                            self.last_seq = self.last_seq.max(event.seq.unwrap_or(0));
                            if wanted(&self.filter, &event) {
                                self.ready.push_back(event);
                            }
                        }
                    }
                    Ok(EventsAfter::Reset) => {
                        self.catching_up = false;
                        self.last_seq = self.store.last_seq();
                        return Some(Ok(StreamItem::Reset));
                    }
                    Err(error) => {
                        self.ended = true;
                        return Some(Err(Problem::from(error)));
                    }
                }
                continue;
            }
            match self.receiver.recv().await {
                Ok(event) => {
                    if let Some(seq) = event.seq {
                        if seq <= self.last_seq {
                            continue;
                        }
                        self.last_seq = seq;
                    }
                    if wanted(&self.filter, &event) {
                        return Some(Ok(StreamItem::Event(event)));
                    }
                }
                // What was missed is in the log; ephemeral events were decoration.
                Err(RecvError::Lagged(_)) => self.catching_up = true,
                Err(RecvError::Closed) => {
                    self.ended = true;
                    return Some(Err(Problem::new(
                        ProblemKind::Unavailable,
                        "shutting down",
                        "the engine has stopped",
                    )));
                }
            }
        }
    }
}

fn wanted(filter: &EventFilter, event: &Event) -> bool {
    if filter.session_id.is_some() && event.session_id != filter.session_id {
        return false;
    }
    if filter.continuation_id.is_some() && event.continuation_id != filter.continuation_id {
        return false;
    }
    if !filter.kinds.is_empty() && !filter.kinds.iter().any(|kind| kind == event.body.kind()) {
        return false;
    }
    let streamed = matches!(
        event.body,
        EventBody::MessageDelta { .. }
            | EventBody::ToolOutput { .. }
            | EventBody::ShellOutput { .. }
    );
    !streamed
        || event
            .session_id
            .is_some_and(|session| filter.deltas.contains(&session))
}
