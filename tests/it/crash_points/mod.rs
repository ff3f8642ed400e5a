//! kill -9 at every crash point, then recovery: nothing is lost, nothing runs without its approval, and no
//! effect that must not be repeated is repeated by itself.
//!
//! The database alone looks perfect in most failures of this kind, so the judges are outside of it: the fake
//! platform's ledger of calls, and a ledger file that the approved command itself writes to. The operator of
//! these tests answers from those two, truthfully.
//!
//! A schedule is named by its scenario and by where each daemon dies (`point:nth`, which is what `LEVERFRAME_CRASH`
//! takes). A failing one is run alone with its name in `LEVERFRAME_CRASH_ONLY`, a failing series of random kills again
//! with its seed in `LEVERFRAME_CRASH_SEED`.

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod checks;
mod drive;
mod mutants;
mod operator;
pub mod points;
mod random;
mod scenario;
mod schedules;
mod world;
