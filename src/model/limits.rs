//! How many calls of a provider run at once, and whose turn it is.
//!
//! Invariant: calls under way never exceed the bound, and no place stays free while somebody waits.
//!
//! *Fair* means: a free place goes to the channel that holds the fewest; among equals to the one that has gone
//! without for the longest, counted from when it began to wait or was last given one. The same rule then chooses
//! the session within that channel, and within a session it is first come, first served. So a conversation on a
//! quiet channel is next whatever a busy channel has in its queue, no session gets a second place while another
//! of its channel has none, and nobody waits for ever: what is ahead of a call is at most one call of each other
//! channel, and of each other session of its own, for every call that ends.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::{FutureExt, Stream};
use tokio::sync::oneshot;

use crate::model::names::ToolNames;
use crate::model::redacted::redacted;
use crate::model::request::{Model, ModelError, ModelEvent, ModelRequest, ModelStream};
use crate::text::redact::Redactor;

/// On whose behalf a call is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lane {
    pub channel: String,
    /// Any name of the session that no other session has.
    pub session: String,
}

impl Lane {
    pub fn of(channel: impl Into<String>, session: impl Into<String>) -> Self {
        Self {
            channel: channel.into(),
            session: session.into(),
        }
    }
}

/// One that waits, in the order of asking.
pub type Ticket = u64;

/// The sessions of a channel, each with those that wait in the order of asking.
type Sessions = BTreeMap<String, Share<VecDeque<Ticket>>>;

/// Who holds how many places and who waits. Pure.
#[derive(Debug)]
pub struct Shares {
    free: usize,
    clock: u64,
    channels: BTreeMap<String, Share<Sessions>>,
}

/// A share of a channel or of a session.
#[derive(Debug, Default)]
struct Share<T> {
    held: usize,
    waiting: usize,
    /// When it began to wait or was last given a place.
    since: u64,
    inner: T,
}

impl<T> Share<T> {
    fn asks(&mut self, now: u64) {
        if self.waiting == 0 {
            self.since = now;
        }
        self.waiting += 1;
    }

    fn takes(&mut self, now: u64) {
        self.waiting -= 1;
        self.held += 1;
        self.since = now;
    }
}

/// The one whose turn it is.
fn next<T>(shares: &mut BTreeMap<String, Share<T>>) -> Option<(&String, &mut Share<T>)> {
    shares
        .iter_mut()
        .filter(|(_, share)| share.waiting > 0)
        .min_by_key(|(_, share)| (share.held, share.since))
}

impl Shares {
    /// Nobody holds anything; `places` is at least one.
    pub fn new(places: usize) -> Self {
        Self {
            free: places.max(1),
            clock: 0,
            channels: BTreeMap::new(),
        }
    }

    /// Takes a place at once, where one is free.
    pub fn take(&mut self, lane: &Lane) -> bool {
        // No place is free while somebody waits, so nobody is overtaken here.
        if self.free == 0 {
            return false;
        }
        self.free -= 1;
        self.clock += 1;
        let channel = self.channels.entry(lane.channel.clone()).or_default();
        channel.held += 1;
        let session = channel.inner.entry(lane.session.clone()).or_default();
        session.held += 1;
        true
    }

    /// Waits for a place.
    pub fn ask(&mut self, lane: &Lane) -> Ticket {
        self.clock += 1;
        let channel = self.channels.entry(lane.channel.clone()).or_default();
        channel.asks(self.clock);
        let session = channel.inner.entry(lane.session.clone()).or_default();
        session.asks(self.clock);
        session.inner.push_back(self.clock);
        self.clock
    }

    /// Waits no longer. False when the ticket does not wait (any more).
    pub fn give_up(&mut self, lane: &Lane, ticket: Ticket) -> bool {
        let Some(channel) = self.channels.get_mut(&lane.channel) else {
            return false;
        };
        let Some(session) = channel.inner.get_mut(&lane.session) else {
            return false;
        };
        let Some(at) = session.inner.iter().position(|other| *other == ticket) else {
            return false;
        };
        session.inner.remove(at);
        session.waiting -= 1;
        channel.waiting -= 1;
        self.forget(lane);
        true
    }

    /// Gives a place back; who gets it now, if anybody waits.
    pub fn release(&mut self, lane: &Lane) -> Option<Ticket> {
        if let Some(channel) = self.channels.get_mut(&lane.channel)
            && let Some(session) = channel.inner.get_mut(&lane.session)
        {
            channel.held = channel.held.saturating_sub(1);
            session.held = session.held.saturating_sub(1);
        }
        self.forget(lane);
        self.clock += 1;
        let now = self.clock;
        let chosen = next(&mut self.channels).and_then(|(_, channel)| {
            channel.takes(now);
            let (_, session) = next(&mut channel.inner)?;
            session.takes(now);
            session.inner.pop_front()
        });
        if chosen.is_none() {
            self.free += 1;
        }
        chosen
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.channels.values().map(|channel| channel.waiting).sum()
    }

    /// Whoever neither holds nor waits leaves nothing behind.
    fn forget(&mut self, lane: &Lane) {
        let Some(channel) = self.channels.get_mut(&lane.channel) else {
            return;
        };
        channel
            .inner
            .retain(|_, session| session.held + session.waiting > 0);
        if channel.held + channel.waiting == 0 {
            self.channels.remove(&lane.channel);
        }
    }
}

/// The bound of one provider. Clones are one bound.
#[derive(Debug, Clone)]
pub struct Limiter {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    shares: Shares,
    bells: HashMap<Ticket, oneshot::Sender<()>>,
}

impl State {
    fn release(&mut self, lane: &Lane) {
        if let Some(ticket) = self.shares.release(lane)
            && let Some(bell) = self.bells.remove(&ticket)
        {
            // Who hung up meanwhile gives the place back when it is dropped.
            let _ = bell.send(());
        }
    }
}

impl Limiter {
    /// At most so many places, at least one.
    pub fn new(places: usize) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                shares: Shares::new(places),
                bells: HashMap::new(),
            })),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The counts are right however a holder of the lock ended.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many calls wait.
    pub fn waiting(&self) -> usize {
        self.lock().shares.waiting()
    }

    /// A place at once, where one is free.
    pub fn try_enter(&self, lane: &Lane) -> Option<CallPermit> {
        self.lock().shares.take(lane).then(|| CallPermit {
            limiter: self.clone(),
            lane: lane.clone(),
        })
    }

    /// A place, as soon as it is this lane's turn. Dropping the future leaves the queue.
    pub async fn enter(&self, lane: Lane) -> CallPermit {
        let (mut waits, rung) = {
            let mut state = self.lock();
            if state.shares.take(&lane) {
                return CallPermit {
                    limiter: self.clone(),
                    lane,
                };
            }
            let ticket = state.shares.ask(&lane);
            let (bell, rung) = oneshot::channel();
            state.bells.insert(ticket, bell);
            let waits = Waits {
                limiter: self.clone(),
                lane: Some(lane),
                ticket,
            };
            (waits, rung)
        };
        // The bell hangs in our own state until it rings: it cannot be gone.
        let _ = rung.await;
        CallPermit {
            limiter: self.clone(),
            lane: waits.lane.take().unwrap_or_default(),
        }
    }
}

/// A call in the queue; leaves it when dropped before its turn.
struct Waits {
    limiter: Limiter,
    lane: Option<Lane>,
    ticket: Ticket,
}

impl Drop for Waits {
    fn drop(&mut self) {
        let Some(lane) = self.lane.take() else {
            return;
        };
        let mut state = self.limiter.lock();
        state.bells.remove(&self.ticket);
        if !state.shares.give_up(&lane, self.ticket) {
            // Its turn came and it was not there to see it.
            state.release(&lane);
        }
    }
}

/// A place among the calls of a provider; given back when dropped.
#[derive(Debug)]
pub struct CallPermit {
    limiter: Limiter,
    lane: Lane,
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        self.limiter.lock().release(&self.lane);
    }
}

/// A provider whose calls are bounded. Tool names reach it in the alphabet that every provider takes, and come back as
/// they were. What it sends comes back without secrets.
#[derive(Clone)]
pub struct LimitedProvider {
    inner: Arc<dyn Model>,
    limiter: Limiter,
    redactor: Redactor,
}

impl LimitedProvider {
    /// At most so many calls of `inner` at once.
    pub fn new(inner: Arc<dyn Model>, places: usize) -> Self {
        Self {
            inner,
            limiter: Limiter::new(places),
            redactor: Redactor::new(),
        }
    }

    /// The same, with the secrets that `redactor` knows.
    pub fn redacting(mut self, redactor: &Redactor) -> Self {
        self.redactor = redactor.clone();
        self
    }

    /// Its bound.
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Starts a call in a place that was entered before; the place is held until the stream is dropped.
    pub fn stream_in(&self, place: CallPermit, mut request: ModelRequest) -> ModelStream {
        let names = ToolNames::of(&request);
        names.send(&mut request);
        let first_id = request.earlier_calls();
        let held = PermittedStream {
            events: self.inner.stream(request),
            names,
            _place: place,
        };
        redacted(Box::pin(held), self.redactor.clone(), first_id)
    }
}

impl Model for LimitedProvider {
    fn provider(&self) -> &str {
        self.inner.provider()
    }

    fn family(&self) -> &'static str {
        self.inner.family()
    }

    /// Waits for its place inside the stream, in the lane of the request's prompt cache key.
    fn stream(&self, request: ModelRequest) -> ModelStream {
        let limited = self.clone();
        let lane = Lane::of("", request.prompt_cache_key.clone().unwrap_or_default());
        let started = async move {
            let place = limited.limiter.enter(lane).await;
            limited.stream_in(place, request)
        };
        Box::pin(started.flatten_stream())
    }
}

/// A stream with its place.
struct PermittedStream {
    events: ModelStream,
    names: ToolNames,
    _place: CallPermit,
}

impl Stream for PermittedStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut next = self.events.as_mut().poll_next(cx);
        if let Poll::Ready(Some(Ok(ModelEvent::Finished(answer)))) = &mut next {
            self.names.receive(answer);
        }
        next
    }
}
