//! A person changes the arguments of a waiting call: judged afresh, new revision and digest, still pending.

use crate::engine::approvals;
use crate::engine::core::Engine;
use crate::engine::handle::{Caller, decide};
use crate::engine::problem::from_store;
use crate::engine::turn::judge;
use crate::protocol::approval::Approval;
use crate::protocol::command::DecisionRequest;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::words::VerdictWord;
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
    let Some((rows, judged)) = decide::judged_now(engine, approval, &args).await? else {
        return Err(Problem::new(
            ProblemKind::NotOffered,
            "not offered",
            "only a tool call can be edited",
        ));
    };
    let judged = judged.map_err(|refusal| {
        Problem::invalid(refusal.content).hint("the waiting call is unchanged")
    })?;
    if judged.verdict.decision == VerdictWord::Deny {
        return Err(Problem::new(
            ProblemKind::NotOffered,
            "blocked by policy",
            judged.verdict.rule,
        )
        .hint("the waiting call is unchanged"));
    }
    let origin = judge::origin(&rows);
    let revise = ReviseApproval {
        approval_id: approval.id,
        digest: request.digest,
        by: caller.reference(),
        preview: judged.plan.preview.clone(),
        taint: judged.facts.taint.clone(),
        once_only: judged.once_only.clone(),
        cards: approvals::cards_for(engine, &origin, approval.kind, judged.facts.risk, |name| {
            let waits = approval.assignment.as_ref();
            waits.is_some_and(|one| one.to == name)
                || approvals::is_asked(engine, &origin.channel, name)
        }),
        call: judge::call_facts(engine, &approval.tool, args, &judged),
    };
    let report = engine.store.write(revise).await.map_err(from_store)?;
    decide::settle(engine, &report);
    decide::outcome(approval.id, report)
}
