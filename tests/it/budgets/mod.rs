//! Budgets stop calls before they are made, whoever makes how many at once, and what was spent is all there.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy.toml does not see as tests"
)]

mod daemon;
mod limits;
mod model_test;
mod parallel;
mod priced;
mod questions;
