//! Memory: what people do with it, and what it answers.

use crate::engine::core::Engine;
use crate::engine::handle::Caller;
use crate::protocol::memory::{MemoryAnswer, MemoryCommand, MemoryOutcome, MemoryQuery};
use crate::protocol::problem::Problem;

/// Carries out a command.
pub async fn carry_out(
    _engine: &Engine,
    _caller: &Caller,
    command: MemoryCommand,
) -> Result<MemoryOutcome, Problem> {
    Err(Problem::internal(format!("{command:?}")))
}

/// Answers a question.
pub async fn answer(_engine: &Engine, query: MemoryQuery) -> Result<MemoryAnswer, Problem> {
    Err(Problem::internal(format!("{query:?}")))
}
