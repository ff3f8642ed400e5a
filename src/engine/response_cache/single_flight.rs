//! One model call for the same question at the same time: the first asker leads, the others wait for its answer.
//!
//! A leader that goes away without an answer (its error, its cancellation, an answer that may not be shared) never
//! hands its fate on: one of those who wait becomes the leader. When a second leader's answer may not be shared
//! either, the question is of that kind, and everybody else asks alone.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Answers that may not be shared until everybody asks alone.
const UNSHAREABLE: u32 = 2;

/// What one who waits is told.
pub enum FlightResult<K: Key, A> {
    Answer(A),
    /// Lead now.
    Lead(Lead<K, A>),
    /// Ask without the others.
    Alone,
}

/// What a key needs.
pub trait Key: Clone + Eq + std::hash::Hash + Send + 'static {}
impl<K: Clone + Eq + std::hash::Hash + Send + 'static> Key for K {}

struct Flight<K: Key, A> {
    waiting: VecDeque<oneshot::Sender<FlightResult<K, A>>>,
    unshareable: u32,
}

type Map<K, A> = Arc<Mutex<HashMap<K, Flight<K, A>>>>;

fn lock<K: Key, A>(map: &Map<K, A>) -> MutexGuard<'_, HashMap<K, Flight<K, A>>> {
    // No code panics while it holds the lock.
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The questions that are being asked.
pub struct Flights<K: Key, A> {
    map: Map<K, A>,
}

impl<K: Key, A> Default for Flights<K, A> {
    fn default() -> Self {
        Self {
            map: Arc::default(),
        }
    }
}

/// What somebody who asks is.
pub enum FlightRole<K: Key, A> {
    /// The one who asks.
    Lead(Lead<K, A>),
    /// One who waits.
    Follow(oneshot::Receiver<FlightResult<K, A>>),
}

impl<K: Key, A: Clone> Flights<K, A> {
    /// Joins the others who ask the same.
    pub fn join(&self, key: &K) -> FlightRole<K, A> {
        let mut map = lock(&self.map);
        if let Some(flight) = map.get_mut(key) {
            let (tell, told) = oneshot::channel();
            flight.waiting.push_back(tell);
            return FlightRole::Follow(told);
        }
        map.insert(
            key.clone(),
            Flight {
                waiting: VecDeque::new(),
                unshareable: 0,
            },
        );
        FlightRole::Lead(Lead {
            key: Some(key.clone()),
            map: Arc::clone(&self.map),
        })
    }

    /// Questions that are being asked now.
    pub fn len(&self) -> usize {
        lock(&self.map).len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The duty to ask. Dropping it hands it on.
pub struct Lead<K: Key, A> {
    /// None once the duty is done.
    key: Option<K>,
    map: Map<K, A>,
}

impl<K: Key, A: Clone> Lead<K, A> {
    /// Gives everybody who waits the answer.
    pub fn answer(mut self, answer: &A) {
        let Some(key) = self.key.take() else {
            return;
        };
        let flight = lock(&self.map).remove(&key);
        for waiting in flight.into_iter().flat_map(|flight| flight.waiting) {
            // Whoever has gone away needs no answer.
            let _ = waiting.send(FlightResult::Answer(answer.clone()));
        }
    }
}

impl<K: Key, A> Lead<K, A> {
    /// The answer may not be shared.
    pub fn unshareable(mut self) {
        let Some(key) = &self.key else {
            return;
        };
        let mut map = lock(&self.map);
        let Some(flight) = map.get_mut(key) else {
            return;
        };
        flight.unshareable += 1;
        if flight.unshareable < UNSHAREABLE {
            // Dropping hands the duty on.
            drop(map);
            return;
        }
        let flight = map.remove(key);
        drop(map);
        self.key = None;
        for waiting in flight.into_iter().flat_map(|flight| flight.waiting) {
            let _ = waiting.send(FlightResult::Alone);
        }
    }
}

impl<K: Key, A> Drop for Lead<K, A> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else {
            return;
        };
        let mut map = lock(&self.map);
        let Some(flight) = map.get_mut(&key) else {
            return;
        };
        let Some(next) = flight.waiting.pop_front() else {
            map.remove(&key);
            return;
        };
        drop(map);
        let lead = Lead {
            key: Some(key),
            map: Arc::clone(&self.map),
        };
        // Where nobody listens any more, the refused message is dropped here and the duty goes to the next.
        let _ = next.send(FlightResult::Lead(lead));
    }
}
