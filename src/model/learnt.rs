//! What the models of one provider have refused so far: kept per model, for the life of the provider object.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The parameters of each model; `P` as it was first given until something was learnt.
#[derive(Debug)]
pub struct Learnt<P> {
    first: P,
    by_model: Mutex<BTreeMap<String, P>>,
}

impl<P: Copy> Learnt<P> {
    /// Nothing refused yet.
    pub fn new(first: P) -> Self {
        Self {
            first,
            by_model: Mutex::default(),
        }
    }

    /// What to send to `model` now.
    pub fn of(&self, model: &str) -> P {
        let known = self.by_model.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(model).copied().unwrap_or(self.first)
    }

    /// Remembers what to send to `model` from now on.
    pub fn set(&self, model: &str, parameters: P) {
        self.by_model
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(model.to_owned(), parameters);
    }
}
