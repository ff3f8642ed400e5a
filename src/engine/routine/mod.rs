//! Routines: when they are due, and what begins when they are.
//!
//! Pure but for [`zone`]: nothing here reads the clock or the store.

pub mod cron;
pub mod schedule;
pub mod zone;
