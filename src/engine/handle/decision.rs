//! What every way to decide has in common: the call evaluated as it is now, and what follows from a decision.

use crate::engine::core::Engine;
use crate::engine::handle::mcp;
use crate::engine::turn::evaluate::{self, Evaluation, Refusal};
use crate::engine::turn::input::Halt;
use crate::engine::turn::policy_context::PolicyContext;
use crate::engine::views;
use crate::protocol::approval::Approval;
use crate::protocol::enums::{ApprovalKind, DecisionKind};
use crate::protocol::ids::ApprovalId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::commands::decide::{DecideOutcome, DecideReport};
use crate::store::commands::pause_flooded::PauseFlooded;
use crate::store::queries::turn::TurnRows;

/// The call of an approval with these arguments, evaluated as the policy is by now, and its turn; none = it is about no
/// call.
pub async fn judged_now(
    engine: &Engine,
    approval: &Approval,
    args: &serde_json::Value,
) -> Result<Option<(TurnRows, Result<Evaluation, Refusal>)>, Problem> {
    let (Some(continuation_id), Some(call_id)) = (approval.continuation_id, approval.tool_call_id)
    else {
        return Ok(None);
    };
    let rows = engine.turn_rows(continuation_id).await?;
    let policy_context = PolicyContext::read(engine, &rows).await?;
    let version = policy_context.policy.version;
    let evaluation = evaluate::evaluate(
        engine,
        &policy_context,
        &rows,
        call_id,
        &approval.tool,
        args,
        version,
    );
    Ok(Some((rows, evaluation)))
}

/// Starts or stops what a decision moved.
pub fn settle(engine: &Engine, report: &DecideReport) {
    engine.scheduler.deadlines_changed();
    if report.ended
        && let Some(continuation) = report.continuation_id
    {
        engine.sessions.halt(continuation, Halt::Cancelled);
    }
    if let Some(session) = report.session_id
        && (report.resumed || report.ended)
    {
        engine.wake(session);
    }
}

/// What follows from a decision beside its turn: readers see whom somebody new may talk to and what the day may cost
/// now, and too many denials in a row pause the conversation.
pub async fn follow_up(engine: &Engine, approval: &Approval, decision: DecisionKind) {
    if approval.kind == ApprovalKind::Pairing {
        views::announce_channel(engine, &approval.channel).await;
    }
    if approval.kind == ApprovalKind::Budget && decision == DecisionKind::Approve {
        views::announce_engine(engine).await;
    }
    if approval.kind == ApprovalKind::ServerPin
        && let Err(problem) = mcp::settled(engine, &approval.requester.display).await
    {
        tracing::error!(%problem, "cannot apply the new trust in tool servers");
    }
    if let Some(session_id) = approval.session_id
        && matches!(decision, DecisionKind::Deny | DecisionKind::DenyAndStop)
    {
        let floods = engine.floods.clone();
        let pause = PauseFlooded { session_id, floods };
        if let Err(error) = engine.store.write(pause).await {
            // The next turn is not begun before it was looked at again.
            tracing::warn!(session = %session_id, %error, "cannot count the denials");
        }
    }
}

/// What the caller is told.
pub fn outcome(id: ApprovalId, report: DecideReport) -> Result<Approval, Problem> {
    match report.outcome {
        DecideOutcome::Decided(approval) | DecideOutcome::Same(approval) => Ok(approval),
        DecideOutcome::Lost { winner, .. } => {
            let mut problem = Problem::conflict("already decided",
                format!(
                    "{id} was answered `{}` by {} ({})",
                    winner.decision, winner.by, winner.surface
                ),
            );
            problem.winner = Some(Box::new(winner));
            Err(problem)
        }
        DecideOutcome::Stale {
            current_revision, ..
        } => Err(Problem::conflict("it changed since it was shown",
            format!("{id} is at revision {current_revision} with another digest"),
        )
        .hint("look at it again and decide with its current digest")),
        DecideOutcome::Expired => Err(Problem::new(
            ProblemKind::Gone,
            "expired",
            format!("nobody decided {id} before its deadline"),
        )
        .hint(
            "retry the continuation to be asked again; a call of an external agent can be allowed for the next time: \
             `leverframe approvals allow-later ID`",
        )),
        DecideOutcome::NotPending(state) => Err(Problem::conflict("no longer pending",
            format!("{id} is {state}"),
        )),
    }
}
