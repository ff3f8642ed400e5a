//! A daemon with four platforms under load for as long as one likes: `tests/soak.sh --channels`.
//!
//! What the platforms have is compared with what the database says. No figure of time is asserted, only printed.

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod ledger;
mod platforms;
mod process;
mod run;
