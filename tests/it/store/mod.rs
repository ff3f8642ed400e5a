//! The store: transitions, invariants, crash and recover.
