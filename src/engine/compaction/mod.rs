//! Compaction: the oldest turns of a long session become a summary and some facts, and are no longer sent.
//!
//! Never in the way of a turn: a task of its own asks the model after the turn has ended. Nothing is put away before
//! the summary that covers it is committed, in the same transaction.

mod limits;
pub mod plan;
pub mod prompt;
mod run;

use crate::engine::budget;
use crate::engine::compaction::limits::{beyond, history_tokens, room, sent_along};
use crate::engine::compaction::run::{Occasion, Pass};
use crate::engine::core::Engine;
use crate::engine::turn::reply::ModelReply;
use crate::protocol::enums::CompactionState;
use crate::protocol::ids::SessionId;
use crate::protocol::memory::Compaction;
use crate::protocol::problem::Problem;
use crate::store::error::StoreError;
use crate::store::queries::turn::TurnRows;

/// Compactions that follow each other after one turn.
const PASSES: u32 = 4;

/// What an ended turn tells about how full its session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    /// `<provider>/<model>` that answered.
    model: String,
    /// Tokens of its last call, in and out.
    used: u64,
    /// Whether something did not fit.
    dropped: bool,
}

impl TurnEnd {
    /// That of a turn which ends with this answer.
    pub fn of(reply: &ModelReply) -> Self {
        let usage = &reply.answer.usage;
        Self {
            model: reply.model.clone(),
            // Servers that cut what does not fit count less than was sent.
            used: usage.input_tokens.max(reply.prompt_tokens) + usage.output_tokens,
            dropped: reply.dropped.len() > usize::from(reply.removed),
        }
    }
}

/// A turn has ended. Costs no more than a few comparisons where its session is far from full.
pub fn after_turn(engine: &Engine, rows: &TurnRows, end: &TurnEnd) {
    let settings = &engine.settings.memory;
    if !settings.compaction || rows.temporary || rows.uncovered < 2 {
        return;
    }
    let profile = engine.models.profile(&end.model);
    let half_way = room(&profile) * u64::from(settings.compaction_share) / 200;
    let history = history_tokens(engine, &profile);
    let full = end.used >= half_way || end.dropped || history > 0 && end.used * 4 >= history * 3;
    let most = sent_along(engine, &profile) + beyond(engine);
    if !full && rows.uncovered < most as u64 {
        return;
    }
    let (engine, session) = (engine.clone(), rows.session_id);
    let tasks = engine.tasks.clone();
    tasks.spawn(async move {
        for _ in 0..PASSES {
            match run::pass(&engine, session, Occasion::TurnEnded).await {
                Ok(Pass::Ended(compaction)) if compaction.state == CompactionState::Done => {}
                Ok(Pass::Refused(stop)) => {
                    let why = budget::of_stop(&stop).text;
                    tracing::info!(%session, %why, "not compacted: a budget is used up");
                    return;
                }
                Ok(Pass::Ended(_) | Pass::UnderWay | Pass::Nothing | Pass::NotNow(_)) => return,
                // A person compacts it, or it was taken up or ended, since it was looked at.
                Err(
                    error @ (StoreError::Fenced { .. }
                    | StoreError::Conflict { .. }
                    | StoreError::Rejected { .. }
                    | StoreError::NotFound { .. }
                    | StoreError::Closed),
                ) => {
                    tracing::debug!(%session, %error, "not compacted");
                    return;
                }
                Err(error) => {
                    tracing::error!(%session, %error, "not compacted");
                    return;
                }
            }
        }
    });
}

/// Compacts a session now, however small it is. Goes on where nobody waits for it any more.
pub async fn on_demand(engine: &Engine, session: SessionId) -> Result<Compaction, Problem> {
    let task = {
        let engine = engine.clone();
        let tasks = engine.tasks.clone();
        tasks.spawn(async move { run::pass(&engine, session, Occasion::Asked).await })
    };
    let pass = task
        .await
        .map_err(|error| Problem::internal(format!("the compaction did not end: {error}")))?;
    match pass? {
        Pass::Ended(compaction) => Ok(*compaction),
        Pass::Nothing => Err(Problem::conflict("nothing to compact",
            format!(
                "session {session} has no completed turn beside its newest that its summary does not cover"
            ),
        )
        .hint("`leverframe memory summary SESSION` shows what its summary says")),
        Pass::UnderWay => Err(Problem::conflict("under way",
            format!("session {session} is being compacted already"),
        )
        .hint("`leverframe memory compactions` shows when it has ended")),
        Pass::NotNow(why) => Err(Problem::unavailable("not now",
            format!("session {session} is not compacted: {why}"),
        )),
        Pass::Refused(stop) => Err(Problem::conflict("a budget is used up",
            budget::of_stop(&stop).text,
        )
        .hint("raise the budget under [budgets], or try again when it begins anew")),
    }
}
