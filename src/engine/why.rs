//! Why a call ran, asked or was refused: recorded facts, told in order. Nothing is guessed.

use crate::engine::core::Engine;
use crate::protocol::approval::Approval;
use crate::protocol::enums::VerdictKind;
use crate::protocol::hook::{HookNote, HookVerdict};
use crate::protocol::ids::ToolCallId;
use crate::protocol::problem::Problem;
use crate::protocol::session::Why;
use crate::store::queries::why::WhyRows;

/// Explains a call.
pub async fn why(engine: &Engine, id: ToolCallId) -> Result<Why, Problem> {
    let rows = engine.read(move |reader| reader.why_rows(id)).await?;
    let story = story(&rows);
    let hooks = rows.hooks.clone();
    let approval = rows.approvals.last().cloned();
    Ok(Why {
        taint: rows
            .approvals
            .iter()
            .flat_map(|approval| approval.taint.clone())
            .collect(),
        call: rows.call,
        requester: rows.requester,
        request: rows.request.chars().take(500).collect(),
        model_reason: rows.model_text.filter(|text| !text.trim().is_empty()),
        channel: rows.channel,
        policy_author: rows.policy_author.map(|(who, at)| format!("{who} at {at}")),
        approval,
        hooks,
        story,
    })
}

fn story(rows: &WhyRows) -> Vec<String> {
    let call = &rows.call;
    let mut story = vec![format!(
        "{}: {} asked on {}; the model proposed {} ({}, {}, risk {}).",
        call.created_at,
        rows.requester.id,
        rows.channel,
        call.name,
        call.access,
        call.effect,
        call.risk
    )];
    let (late, early): (Vec<&HookNote>, Vec<&HookNote>) =
        rows.hooks.iter().partition(|note| note.at_start);
    story.extend(early.into_iter().map(hook_story));
    let verdict = match call.verdict.decision {
        VerdictKind::Allow => "may run without asking",
        VerdictKind::Ask => "a person is asked",
        VerdictKind::Deny => "refused",
    };
    story.push(format!(
        "Policy version {}: {verdict} ({}).",
        call.verdict.policy_version, call.verdict.rule
    ));
    story.extend(rows.approvals.iter().flat_map(approval_story));
    story.extend(late.into_iter().map(hook_story));
    for attempt in &rows.attempts {
        let end = match (attempt.outcome, attempt.finished_at) {
            (Some(outcome), Some(at)) => format!("ended {outcome} at {at}"),
            (Some(outcome), None) => format!("ended {outcome}"),
            (None, _) => "has not ended".to_owned(),
        };
        story.push(format!(
            "{}: start {} (epoch {}); it {end}.",
            attempt.started_at, attempt.attempt, attempt.epoch
        ));
    }
    if let Some(cached) = &call.cached {
        story.push(format!(
            "Nothing ran: the result is that of {}, {} s old then (the tool-result cache).",
            cached.stored_at,
            cached.age_ms / 1000
        ));
    }
    story.push(format!("It is {} now.", call.state));
    story
}

fn hook_story(note: &HookNote) -> String {
    let when = if note.at_start { " at the start" } else { "" };
    let dry = if note.dry_run {
        " (dry run: nothing followed)"
    } else {
        ""
    };
    let what = match &note.verdict {
        HookVerdict::Pass => "had nothing to say".to_owned(),
        HookVerdict::Change { field, value } => match &note.before {
            Some(before) => format!("changed {field} from {before} to {value}"),
            None => format!("changed {field}"),
        },
        HookVerdict::Cancel { reason } => format!("cancelled it: {reason}"),
        HookVerdict::Failed { error } => format!("failed: {error}"),
    };
    format!("{}: hook {}{when} {what}{dry}.", note.at, note.hook)
}

fn approval_story(approval: &Approval) -> Vec<String> {
    let mut story = vec![format!(
        "{}: {} {} asked (kind {}, revision {}).",
        approval.requested_at, approval.id, approval.short_code, approval.kind, approval.revision
    )];
    story.push(match &approval.decision {
        Some(decision) => {
            let reason = decision
                .reason
                .as_deref()
                .map(|reason| format!(": {reason}"))
                .unwrap_or_default();
            format!(
                "{}: {} by {} ({}){reason}.",
                decision.at, decision.decision, decision.by, decision.surface
            )
        }
        None => format!("It is {}.", approval.state),
    });
    story
}
