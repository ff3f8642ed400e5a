//! Shared harness of the suites.

pub mod fake_telegram;
