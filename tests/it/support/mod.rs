//! Shared harness of the suites.

pub mod daemon;
pub mod fake_telegram;
pub mod pty;
pub mod record;
