//! Named tokens as requests are compared with: in memory, so that no request reads the database.
//!
//! Nothing here keeps a value of a token, or reads the database.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::clock::Timestamp;
use crate::protocol::token::TokenRecord;

/// Milliseconds after which the use of a token is written down again.
const WRITTEN_EVERY_MS: u64 = 60_000;

/// The tokens that open the door, and when the use of each was written down last.
#[derive(Debug, Default)]
pub struct Tokens {
    records: RwLock<Arc<Vec<TokenRecord>>>,
    used: Mutex<HashMap<[u8; 32], Timestamp>>,
    /// They are read and put into use by one at a time.
    pub refresh: tokio::sync::Mutex<()>,
}

impl Tokens {
    /// Those that open the door now.
    pub fn records(&self) -> Arc<Vec<TokenRecord>> {
        Arc::clone(&self.records.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// These open the door from now on.
    pub fn set(&self, records: Vec<TokenRecord>) {
        let mut slot = self.records.write().unwrap_or_else(PoisonError::into_inner);
        *slot = Arc::new(records);
    }

    /// Whether a use is to be written down, and whether it is the first one since the start.
    pub fn is_due(&self, hash: [u8; 32], now: Timestamp) -> Option<bool> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let before = used.get(&hash).copied();
        if before.is_some_and(|at| now.millis_since(at) < WRITTEN_EVERY_MS) {
            return None;
        }
        used.insert(hash, now);
        Some(before.is_none())
    }
}
