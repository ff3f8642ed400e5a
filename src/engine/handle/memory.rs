//! Memory: what people do with it, and what it answers.

use crate::engine::compaction;
use crate::engine::core::Engine;
use crate::engine::handle::Caller;
use crate::protocol::memory::{MemoryAnswer, MemoryCommand, MemoryOutcome, MemoryQuery};
use crate::protocol::problem::Problem;

/// Carries out a command.
pub async fn carry_out(
    engine: &Engine,
    _caller: &Caller,
    command: MemoryCommand,
) -> Result<MemoryOutcome, Problem> {
    match command {
        MemoryCommand::Compact { session_id } => compaction::on_demand(engine, session_id).await,
        command => Err(Problem::internal(format!("{command:?}"))),
    }
}

/// Answers a question.
pub async fn answer(engine: &Engine, query: MemoryQuery) -> Result<MemoryAnswer, Problem> {
    match query {
        MemoryQuery::Summary { session_id } => compaction::summary(engine, session_id).await,
        MemoryQuery::Compactions { session_id, page } => {
            compaction::list(engine, session_id, page).await
        }
        query => Err(Problem::internal(format!("{query:?}"))),
    }
}
