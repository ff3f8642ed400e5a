//! Routines: when they are due, and what begins when they are.
//!
//! Pure but for [`begin_due`]: nothing else here reads the clock or the store.

pub mod begin_due;
pub mod cron;
pub mod schedule;
