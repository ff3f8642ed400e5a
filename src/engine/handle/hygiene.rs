//! Hygiene: running it, taking it back, and what it answers.

use crate::engine::core::Engine;
use crate::engine::handle::Caller;
use crate::protocol::hygiene::{HygieneAnswer, HygieneCommand, HygieneQuery, HygieneRun};
use crate::protocol::problem::Problem;

/// Carries out a command.
pub async fn carry_out(
    _engine: &Engine,
    _caller: &Caller,
    command: HygieneCommand,
) -> Result<HygieneRun, Problem> {
    Err(Problem::internal(format!("{command:?}")))
}

/// Answers a question.
pub async fn answer(_engine: &Engine, query: HygieneQuery) -> Result<HygieneAnswer, Problem> {
    Err(Problem::internal(format!("{query:?}")))
}
