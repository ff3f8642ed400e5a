//! Answering an approval: who may, what is offered, and what follows.

use crate::clock::Timestamp;
use crate::engine::approvals;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::decision;
use crate::engine::handle::{edit, rules, unused_rules};
use crate::engine::people;
use crate::protocol::approval::{Approval, MAX_LIFE_SECONDS, MAX_SNOOZE_MINUTES, SHAPE_SECONDS};
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::{
    ApprovalKind, ApprovalState, DecisionKind, DecisionScope, Risk, Scope,
};
use crate::protocol::ids::ApprovalId;
use crate::protocol::problem::Problem;
use crate::store::commands::allow_by_two::{AllowByTwo, TwoPeople};
use crate::store::commands::decide::{Decide, DecideOutcome};

/// Most that is added to a budget at once: tokens, US dollars, seconds or a count.
const MOST_EXTRA: f64 = 1e12;
/// Seconds for which calls are held back at least that were approved together, or with a rule.
const GRACE_OF_SEVERAL: u32 = 3;
/// Longest reason, in bytes.
const MAX_REASON: usize = 2 * 1024;
/// Longest answer in place of a tool's, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// Carries out a decision.
pub async fn decide(
    engine: &Engine,
    caller: &Caller,
    approval_id: ApprovalId,
    request: DecisionRequest,
) -> Result<Approval, Problem> {
    let approval = engine.approval(approval_id).await?;
    check(engine, caller, &approval, &request)?;
    if allows_shape(request.scope) && approval.state == ApprovalState::Pending {
        check_still_used(engine, &approval).await?;
    }
    let mut request = request;
    let rule = match request.rule.take() {
        Some(patch) if !people::has_scope(&caller.actor, Scope::Admin) => {
            drop(patch);
            return Err(Problem::forbidden(
                "not allowed to make rules",
                format!(
                    "{} may decide; making a rule needs the scope `admin`",
                    caller.actor.label()
                ),
            )
            .hint("nothing was decided; decide it without a rule"));
        }
        Some(patch) => {
            let made = rules::with_decision(engine, &approval, request.decision, *patch)?;
            unused_rules::check(engine, &made.1).await?;
            Some(made)
        }
        None => None,
    };
    if request.decision == DecisionKind::Edit {
        return edit::edit(engine, caller, &approval, request).await;
    }
    let word = request.decision;
    let grace_seconds = grace(engine, &approval, request.batch || rule.is_some());
    let decide = Decide {
        rule,
        grace_seconds,
        ..command(engine, caller, &approval, request)
    };
    let decide = by_two(engine, caller, &approval, decide);
    let report = engine.write(decide).await?;
    decision::settle(engine, &report);
    decision::follow_up(engine, &approval, word).await;
    if let DecideOutcome::Lost { approval, .. } = &report.outcome
        && word == DecisionKind::Revoke
        && approval.state == ApprovalState::Consumed
    {
        return Err(Problem::conflict(
            "too late to take it back",
            format!("{approval_id} was used: the call has started"),
        )
        .hint("you can still remove a rule or grant that came with it"));
    }
    decision::outcome(approval_id, report)
}

/// Why a decision cannot be made by this caller or in this form.
pub fn check(
    engine: &Engine,
    caller: &Caller,
    approval: &Approval,
    request: &DecisionRequest,
) -> Result<(), Problem> {
    if let Some(reason) =
        people::may_not_decide(&engine.settings, approval, &caller.actor, caller.surface)
    {
        return Err(Problem::forbidden("not allowed to decide this", reason));
    }
    let word = request.decision;
    if word == DecisionKind::Approve && people::takes_two_people(&engine.settings, approval) {
        check_of_two(caller, request)?;
    }
    let about_the_past = matches!(
        approval.kind,
        ApprovalKind::ResolveUnknown | ApprovalKind::Resend
    );
    if engine.emergency.is_quarantined() && !about_the_past {
        return Err(Problem::unavailable("quarantined",
            "the database was restored from a copy: until it is released, only what is unknown can be answered",
        )
        .hint("`leverframe release` shows what is uncertain and releases it"));
    }
    let always_possible = matches!(word, DecisionKind::Snooze | DecisionKind::Revoke);
    if !always_possible && !approval.offered.contains(&word) {
        let offered: Vec<&str> = approval.offered.iter().map(|word| word.as_str()).collect();
        return Err(Problem::not_offered(
            "not offered",
            format!(
                "`{word}` is not offered for {}; offered: {}",
                approval.id,
                offered.join(", ")
            ),
        ));
    }
    if allows_shape(request.scope) {
        let why = approval.only_once();
        let why = why.or((word != DecisionKind::Approve).then_some("only an approval has a scope"));
        why.map_or(Ok(()), |why| Err(not_for_the_session(why)))?;
    }
    check_life(request)?;
    let right_code = request
        .confirm_code
        .as_deref()
        .is_some_and(|code| code.trim().eq_ignore_ascii_case(&approval.short_code));
    if word == DecisionKind::Approve
        && approval.risk == Risk::Critical
        && approval.state == ApprovalState::Pending
        && !right_code
    {
        return Err(Problem::not_offered(
            "confirmation needed",
            "a critical call is approved with its short code in `confirm_code`",
        )
        .hint("read the code on the card and send it along"));
    }
    check_reason(request.reason.as_deref())?;
    short_enough("answer", request.answer.as_deref(), MAX_ANSWER)?;
    if word == DecisionKind::Answer
        && request
            .answer
            .as_deref()
            .is_none_or(|answer| answer.trim().is_empty())
    {
        return Err(Problem::invalid(
            "`answer` is empty: it is what the model reads in place of the tool's result",
        ));
    }
    if let Some(extra) = request.extra {
        check_extra(approval, word, extra)?;
    }
    if word == DecisionKind::Snooze
        && !request
            .minutes
            .is_some_and(|minutes| (1..=MAX_SNOOZE_MINUTES).contains(&minutes))
    {
        return Err(Problem::invalid(format!(
            "`minutes` must be 1 to {MAX_SNOOZE_MINUTES} for a snooze"
        )));
    }
    Ok(())
}

/// Refuses an approval of somebody whom nobody knows, and one for more than this call, where two people must allow.
fn check_of_two(caller: &Caller, request: &DecisionRequest) -> Result<(), Problem> {
    if caller.actor.person().is_none() {
        return Err(Problem::forbidden("not allowed to decide this",
            format!(
                "two people must allow this (two_people of its channel), and {} is none under [people]",
                caller.actor.label()
            ),
        )
        .hint("link the id `unix:UID` to a person, or use a token that was made with `--person`"));
    }
    if request.rule.is_some() || allows_shape(request.scope) {
        return Err(not_for_the_session(
            "two people must allow each of these calls",
        ));
    }
    Ok(())
}

/// A decision, with what it needs where two people must allow. Those who can decide and are asked hear of the first one.
pub fn by_two(engine: &Engine, caller: &Caller, approval: &Approval, decide: Decide) -> AllowByTwo {
    let takes_two = decide.decision == DecisionKind::Approve
        && people::takes_two_people(&engine.settings, approval);
    let person = caller.actor.person().filter(|_| takes_two);
    let two_people = person.map(|person| {
        let (channel, risk, now) = (&approval.channel, approval.risk, engine.clock.now());
        let cards = approvals::cards_of(engine, approval, |name| {
            name != person
                && approvals::is_asked(engine, channel, name)
                && approvals::quiet_until(engine, channel, name, risk, now).is_none()
        });
        TwoPeople {
            person: person.to_owned(),
            cards,
        }
    });
    AllowByTwo { decide, two_people }
}

/// Whether a decision of this scope allows further calls of the same shape.
fn allows_shape(scope: Option<DecisionScope>) -> bool {
    match scope {
        None | Some(DecisionScope::Once) => false,
        Some(DecisionScope::Turn | DecisionScope::Session) => true,
    }
}

/// Refuses a life of a permission that is none, or longer than one can be.
fn check_life(request: &DecisionRequest) -> Result<(), Problem> {
    match request.expires_in_seconds {
        None => Ok(()),
        Some(_) if !allows_shape(request.scope) => Err(Problem::invalid(
            "`expires_in_seconds` is the life of a session grant: it needs the scope `turn` or `session`",
        )
        .hint("a rule has its own `expires_in_seconds`")),
        Some(seconds) if seconds > MAX_LIFE_SECONDS => Err(Problem::invalid(format!(
            "`expires_in_seconds` is {seconds}: expected 0 (as long as the turn or session lasts) to {MAX_LIFE_SECONDS}"
        ))),
        Some(_) => Ok(()),
    }
}

/// When a permission for the shape ends; none = with its turn or session.
fn grant_ends(engine: &Engine, request: &DecisionRequest) -> Option<Timestamp> {
    let seconds = match (request.scope?, request.expires_in_seconds) {
        (DecisionScope::Once, _) => None,
        (DecisionScope::Turn, seconds) => seconds,
        (DecisionScope::Session, seconds) => Some(seconds.unwrap_or(SHAPE_SECONDS)),
    };
    let seconds = i64::try_from(seconds.filter(|seconds| *seconds > 0)?).ok()?;
    Some(engine.clock.now().plus_seconds(seconds))
}

fn not_for_the_session(why: &str) -> Problem {
    Problem::not_offered(
        "not offered",
        format!("this call can only be allowed once: {why}"),
    )
    .hint("approve it once")
}

/// Refuses a permission for the session that the policy would not use as it is by now.
async fn check_still_used(engine: &Engine, approval: &Approval) -> Result<(), Problem> {
    match decision::judged_now(engine, approval, &approval.args).await? {
        Some((_, Ok(evaluation))) => evaluation
            .once_only
            .map_or(Ok(()), |why| Err(not_for_the_session(&why))),
        // It will not start; whoever decides is told so when it is evaluated again.
        Some((_, Err(_))) | None => Ok(()),
    }
}

/// Refuses an amount that adds nothing, more than anybody means, or to what is no budget.
fn check_extra(approval: &Approval, word: DecisionKind, extra: f64) -> Result<(), Problem> {
    if approval.kind != ApprovalKind::Budget || word != DecisionKind::Approve {
        return Err(Problem::invalid(format!(
            "`extra` goes with `approve` on a question about a budget; this is `{word}` on {}, of kind {}",
            approval.id, approval.kind
        ))
        .hint("leave `extra` out"));
    }
    if extra.is_finite() && extra > 0.0 && extra <= MOST_EXTRA {
        return Ok(());
    }
    let question = approval.question.as_deref().unwrap_or_default();
    Err(Problem::invalid(format!(
        "`extra` is {extra}: expected an amount above 0 and at most {MOST_EXTRA}, in the unit of the question: {question}"
    ))
    .hint("leave `extra` out to add what the question offers"))
}

/// Refuses a reason that is too long to be kept.
pub fn check_reason(reason: Option<&str>) -> Result<(), Problem> {
    short_enough("reason", reason, MAX_REASON)
}

fn short_enough(what: &str, text: Option<&str>, max: usize) -> Result<(), Problem> {
    match text {
        Some(text) if text.len() > max => Err(Problem::invalid(format!(
            "`{what}` has {} bytes; at most {max} are taken",
            text.len()
        ))),
        Some(_) | None => Ok(()),
    }
}

/// `text` with exactly one mark at its end, so that what follows is not read as part of it.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let ended = text.ends_with(['.', '!', '?', '…', '。', '！', '？']);
    format!("{text}{}", if ended { "" } else { "." })
}

/// What the model reads in place of a result.
fn result_content(kind: ApprovalKind, request: &DecisionRequest) -> String {
    let because = request
        .reason
        .as_deref()
        .map(|reason| format!(" Reason: {}", sentence(reason)))
        .unwrap_or_default();
    match request.decision {
        DecisionKind::Deny if kind == ApprovalKind::Question => {
            format!("the operator does not answer.{because} Do not ask this again.")
        }
        DecisionKind::Deny => format!("denied by the operator.{because} Do not repeat this call."),
        DecisionKind::DenyAndStop => {
            format!("denied by the operator, and the turn was stopped.{because}")
        }
        DecisionKind::Answer => {
            let said = request.answer.as_deref().unwrap_or_default();
            let who = match kind {
                ApprovalKind::Question => "the operator answers",
                ApprovalKind::Execute
                | ApprovalKind::ResolveUnknown
                | ApprovalKind::Resend
                | ApprovalKind::Budget
                | ApprovalKind::Pairing
                | ApprovalKind::Memory
                | ApprovalKind::ServerPin
                | ApprovalKind::PolicyRaise => "answered by the operator in place of the tool",
            };
            format!("{who}: {said}")
        }
        DecisionKind::Happened => format!(
            "the outcome was unknown after an interruption; the operator says that it happened.{because}"
        ),
        DecisionKind::GiveUp => format!(
            "the outcome is unknown after an interruption; the operator gave the call up.{because} Do not repeat it."
        ),
        DecisionKind::Revoke => {
            format!("the operator took the approval back before it ran.{because}")
        }
        DecisionKind::Approve
        | DecisionKind::Edit
        | DecisionKind::Snooze
        | DecisionKind::RunAgain
        | DecisionKind::Sent
        | DecisionKind::SendAgain
        | DecisionKind::Drop => String::new(),
    }
}

/// Why a turn ended whose budget was not raised.
fn no_more_budget(request: &DecisionRequest) -> String {
    let because = request
        .reason
        .as_deref()
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    format!("the budget is used up and the operator did not give more{because}")
}

/// The decision as stored.
pub fn command(
    engine: &Engine,
    caller: &Caller,
    approval: &Approval,
    request: DecisionRequest,
) -> Decide {
    let clean = |text: Option<String>| text.map(|text| engine.redactor.redact(&text).into_owned());
    let request = DecisionRequest {
        reason: clean(request.reason),
        answer: clean(request.answer).map(|said| approval.answer_said(&said).to_owned()),
        ..request
    };
    let grant_expires_at = grant_ends(engine, &request);
    Decide {
        approval_id: approval.id,
        result_content: if approval.kind == ApprovalKind::Budget {
            no_more_budget(&request)
        } else {
            result_content(approval.kind, &request)
        },
        refusal_notice: (approval.kind == ApprovalKind::Budget
            && engine.has_bridge(&approval.channel))
        .then(|| {
            "This was stopped: its budget is used up, and the operator did not give more."
                .to_owned()
        }),
        digest: request.digest,
        revision: request.revision,
        decision: request.decision,
        scope: request.scope,
        by: caller.reference(),
        reason: request.reason,
        answer: request.answer,
        extra: request.extra,
        minutes: request.minutes,
        seen_ms: request.seen_ms,
        grant_expires_at,
        card_update: true,
        rule: None,
        grace_seconds: grace(engine, approval, request.batch),
    }
}

/// Seconds for which an approved call is held back. `several`: the decision is about more than this call.
fn grace(engine: &Engine, approval: &Approval, several: bool) -> u32 {
    let configured = match approval.risk {
        Risk::Low | Risk::Medium => engine.settings.approvals.approve_grace_seconds,
        Risk::High | Risk::Critical => 0,
    };
    if several {
        configured.max(GRACE_OF_SEVERAL)
    } else {
        configured
    }
}
