//! Compaction: the oldest turns of a long session become a summary and some facts, and are no longer sent.
//!
//! Never in the way of a turn: a task of its own asks the model after the turn has ended. Nothing is put away before
//! the summary that covers it is committed, in the same transaction.

pub mod plan;
pub mod prompt;
mod run;

use crate::engine::budget;
use crate::engine::context;
use crate::engine::core::Engine;
use crate::engine::problem::from_store;
use crate::engine::turn::reply::ModelReply;
use crate::model::profiles::Profile;
use crate::protocol::ids::SessionId;
use crate::protocol::memory::Compaction;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::words::CompactionState;
use crate::store::commands::reserve_model::BudgetStop;
use crate::store::error::StoreError;
use crate::store::queries::turn::TurnRows;

/// Compactions that follow each other after one turn.
const PASSES: u32 = 4;

/// Why a session is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// A turn ended: it is compacted where that is due.
    TurnEnded,
    /// A person wants it compacted.
    Asked,
}

/// What became of a look at a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Pass {
    /// Nothing is begun now.
    NotNow(&'static str),
    /// Another one is under way.
    UnderWay,
    /// There is nothing to put away.
    Nothing,
    /// A budget forbids the model call; nothing was written.
    Refused(BudgetStop),
    /// One ended, well or badly.
    Ended(Box<Compaction>),
}

/// Turns that are sent to a model along with the next message, whatever they fill.
fn sent_along(engine: &Engine, profile: &Profile) -> usize {
    let configured = engine.settings.engine.history_exchanges;
    context::exchanges(configured, profile.context_window) as usize
}

/// Tokens that turns beyond those may fill.
fn history_tokens(engine: &Engine, profile: &Profile) -> u64 {
    context::history_tokens(engine.settings.engine.history_share, profile.context_window)
}

/// Turns beyond those that are sent along anyway at which a session is compacted: before more are not read for a
/// prompt.
fn beyond(engine: &Engine) -> usize {
    let configured = engine.settings.memory.compaction_exchanges;
    let most = match engine.settings.engine.history_share {
        0 => configured,
        _ => configured.min(context::MOST_BEYOND / 4 * 3),
    };
    most as usize
}

/// What a prompt may have of a model's window.
fn room(profile: &Profile) -> u64 {
    profile
        .context_window
        .saturating_sub(u64::from(profile.max_output_tokens))
}

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
    match pass.map_err(from_store)? {
        Pass::Ended(compaction) => Ok(*compaction),
        Pass::Nothing => Err(Problem::new(
            ProblemKind::Conflict,
            "nothing to compact",
            format!(
                "session {session} has no completed turn beside its newest that its summary does not cover"
            ),
        )
        .hint("`leverframe memory summary SESSION` shows what its summary says")),
        Pass::UnderWay => Err(Problem::new(
            ProblemKind::Conflict,
            "under way",
            format!("session {session} is being compacted already"),
        )
        .hint("`leverframe memory compactions` shows when it has ended")),
        Pass::NotNow(why) => Err(Problem::new(
            ProblemKind::Unavailable,
            "not now",
            format!("session {session} is not compacted: {why}"),
        )),
        Pass::Refused(stop) => Err(Problem::new(
            ProblemKind::Conflict,
            "a budget is used up",
            budget::of_stop(&stop).text,
        )
        .hint("raise the budget under [budgets], or try again when it begins anew")),
    }
}
