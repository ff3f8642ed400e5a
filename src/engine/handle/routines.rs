//! Routines: making, changing and running them, and what they answer.

use crate::engine::core::Engine;
use crate::engine::handle::Caller;
use crate::protocol::problem::Problem;
use crate::protocol::routine::{RoutineAnswer, RoutineCommand, RoutineOutcome, RoutineQuery};

/// Carries out a command.
pub async fn carry_out(
    _engine: &Engine,
    _caller: &Caller,
    command: RoutineCommand,
) -> Result<RoutineOutcome, Problem> {
    Err(Problem::internal(format!("{command:?}")))
}

/// Answers a question.
pub async fn answer(_engine: &Engine, query: RoutineQuery) -> Result<RoutineAnswer, Problem> {
    Err(Problem::internal(format!("{query:?}")))
}
