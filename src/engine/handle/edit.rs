//! A person changes the arguments of a waiting call: evaluated afresh, new revision and digest, still pending.

use crate::engine::approvals::{self, Origin};
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::decision;
use crate::engine::turn::evaluate;
use crate::protocol::approval::Approval;
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::VerdictKind;
use crate::protocol::problem::Problem;
use crate::store::commands::revise_approval::ReviseApproval;

/// Carries out an edit.
pub async fn edit(
    engine: &Engine,
    caller: &Caller,
    approval: &Approval,
    request: DecisionRequest,
) -> Result<Approval, Problem> {
    let Some(mut args) = request.args else {
        return Err(Problem::invalid(
            "`args` is missing: an edit carries the whole new arguments",
        ));
    };
    engine.redactor.redact_json(&mut args);
    let Some((rows, evaluation)) = decision::judged_now(engine, approval, &args).await? else {
        return Err(Problem::not_offered(
            "not offered",
            "only a tool call can be edited",
        ));
    };
    let evaluation = evaluation.map_err(|refusal| {
        Problem::invalid(refusal.content).hint("the waiting call is unchanged")
    })?;
    if evaluation.verdict.decision == VerdictKind::Deny {
        return Err(
            Problem::not_offered("blocked by policy", evaluation.verdict.rule)
                .hint("the waiting call is unchanged"),
        );
    }
    let (risk, choices) = (evaluation.facts.risk, approval.choices());
    let now = engine.clock.now();
    let asked = |name: &str| {
        let waits = approval.assignment.as_ref();
        let asked = waits.is_some_and(|one| one.to == name)
            || approvals::is_asked(engine, &rows.channel, name);
        asked && approvals::quiet_until(engine, &rows.channel, name, risk, now).is_none()
    };
    let origin = Origin::of(&rows);
    let revise = ReviseApproval {
        approval_id: approval.id,
        digest: request.digest,
        by: caller.reference(),
        preview: evaluation.plan.preview.clone(),
        taint: evaluation.facts.taint.clone(),
        once_only: evaluation.once_only.clone(),
        cards: approvals::cards_for(engine, origin, approval.kind, &choices, risk, asked),
        call: evaluate::call_facts(engine, &approval.tool, args, &evaluation),
    };
    let report = engine.write(revise).await?;
    decision::settle(engine, &report);
    decision::outcome(approval.id, report)
}
