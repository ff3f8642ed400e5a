//! Shared harness of the suites.

pub mod fake_telegram;
pub mod daemon;
