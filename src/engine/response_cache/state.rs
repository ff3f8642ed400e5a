//! The cache of an engine: its file, who asks what now, and which answers could not be kept.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use crate::config::settings::Settings;
use crate::engine::lock::lock;
use crate::engine::response_cache::single_flight::{FlightRole, Flights};
use crate::engine::tool_cache::state;
use crate::protocol::enums::{CacheMissReason, CacheScope};
use crate::store::response_cache::{Key, Options, ResponseCache, StoredAnswer};

/// Most bytes of questions and answers that are kept.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Questions whose last answer could not be kept that are remembered.
const REMEMBERED: usize = 1024;
/// An answer on its way to those who asked for it.
#[derive(Debug, Clone)]
pub struct Shared {
    pub found: StoredAnswer,
    /// Whether it was kept already when the leader looked; else the leader's call made it.
    pub kept: bool,
}

/// The cache of an engine.
pub struct Caching {
    pub file: ResponseCache,
    flights: Flights<Key, Shared>,
    refused: Mutex<StoreRefusal>,
    enabled: bool,
}

/// Why the last answer to a question could not be kept, for the questions asked last.
#[derive(Default)]
struct StoreRefusal {
    reasons: HashMap<Key, CacheMissReason>,
    order: VecDeque<Key>,
}

impl StoreRefusal {
    fn note(&mut self, key: Key, reason: CacheMissReason) {
        if self.reasons.insert(key, reason).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.reasons.remove(&oldest);
        }
    }

    fn forget(&mut self, key: &Key) {
        if self.reasons.remove(key).is_some() {
            self.order.retain(|known| known != key);
        }
    }
}

impl Caching {
    /// The cache that settings ask for. Opens nothing.
    pub fn new(settings: &Settings) -> Self {
        let limits = settings.response_cache;
        Self {
            file: ResponseCache::new(Options {
                path: settings.paths.data_dir.join("response_cache.db"),
                ttl_ms: u64::from(limits.ttl_minutes) * 60_000,
                max_entries: u64::from(limits.max_entries.max(1)),
                max_bytes: MAX_BYTES,
                max_results: state::MAX_RESULTS,
                max_result_bytes: state::MAX_RESULT_BYTES,
            }),
            flights: Flights::default(),
            refused: Mutex::default(),
            enabled: settings
                .channels
                .values()
                .any(|channel| channel.response_cache != CacheScope::Off),
        }
    }

    /// Joins those who ask the same question now.
    pub fn join(&self, key: &Key) -> FlightRole<Key, Shared> {
        self.flights.join(key)
    }

    /// Why the last answer to a question could not be kept; none = it could, or nobody knows.
    pub fn refused(&self, key: &Key) -> Option<CacheMissReason> {
        lock(&self.refused).reasons.get(key).copied()
    }

    /// Notes why an answer cannot be kept.
    pub fn refuse(&self, key: Key, reason: CacheMissReason) {
        lock(&self.refused).note(key, reason);
    }

    /// An answer to a question was kept.
    pub fn accept(&self, key: &Key) {
        lock(&self.refused).forget(key);
    }

    /// Whether any channel caches responses.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }
}
