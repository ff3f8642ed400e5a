//! Deciding: the first answer wins, the same answer again is fine, and nothing is answered after its time.

use leverframe::protocol::enums::{
    ApprovalKind, Autonomy, ChannelKind, ContinuationState, DecisionKind, DecisionScope, Effect,
    ToolCallState,
};
use leverframe::protocol::ids::{ApprovalId, ContinuationId, SessionId, ToolCallId};
use leverframe::store::commands::ask_budget::AskBudget;
use leverframe::store::commands::decide::DecideOutcome;
use leverframe::store::commands::ensure_channel::{Baseline, EnsureChannel};
use leverframe::store::commands::expire_due::ExpireDue;
use leverframe::store::commands::park::Park;
use leverframe::store::commands::revise_approval::ReviseApproval;
use leverframe::store::commands::set_policy::SetPolicy;
use leverframe::store::error::StoreError;
use leverframe::store::input::{BudgetKind, NewCallFacts};

use crate::support::world::{START, World, approval, baseline, by, gated};

struct Parked {
    world: World,
    session: SessionId,
    id: ContinuationId,
    call: ToolCallId,
    gate: ApprovalId,
}

async fn parked() -> Parked {
    let world = World::new().await;
    let (session, id) = world.running("chat").await;
    let (new, gate) = gated(Effect::NonIdempotent);
    let call = new.id;
    world.propose(id, vec![new]).await;
    world
        .ok(Park {
            continuation_id: id,
            epoch: world.epoch(),
            active_ms: 0,
            notices: Vec::new(),
        })
        .await;
    Parked {
        world,
        session,
        id,
        call,
        gate,
    }
}

fn expire(at: leverframe::clock::Timestamp) -> ExpireDue {
    ExpireDue {
        now: at,
        notice: "nobody answered".to_owned(),
    }
}

#[tokio::test]
async fn of_two_deciders_one_wins() {
    for (second, same) in [(DecisionKind::Approve, true), (DecisionKind::Deny, false)] {
        let p = parked().await;
        let one = p
            .world
            .decide_command(p.gate, DecisionKind::Approve, "anna")
            .await;
        let two = p.world.decide_command(p.gate, second, "ben").await;
        let (one, two) = tokio::join!(p.world.ok(one), p.world.ok(two));
        assert!(matches!(one.outcome, DecideOutcome::Decided(_)));
        match two.outcome {
            DecideOutcome::Same(_) => assert!(same),
            DecideOutcome::Lost { winner, .. } => assert!(!same && winner.by == "anna"),
            other => panic!("{other:?}"),
        }
        p.world.sound().await;
    }
}

#[tokio::test]
async fn another_digest_or_revision_is_stale() {
    let p = parked().await;
    let mut command = p
        .world
        .decide_command(p.gate, DecisionKind::Approve, "anna")
        .await;
    command.digest = "what was shown before".to_owned();
    assert!(matches!(
        p.world.ok(command).await.outcome,
        DecideOutcome::Stale {
            current_revision: 1,
            ..
        }
    ));
    let mut command = p
        .world
        .decide_command(p.gate, DecisionKind::Approve, "anna")
        .await;
    command.revision = Some(2);
    assert!(matches!(
        p.world.ok(command).await.outcome,
        DecideOutcome::Stale { .. }
    ));
}

#[tokio::test]
async fn a_decision_after_the_deadline_does_not_count() {
    let p = parked().await;
    p.world.clock.advance_millis(3_600_000);
    let command = p
        .world
        .decide_command(p.gate, DecisionKind::Approve, "anna")
        .await;
    assert_eq!(p.world.ok(command).await.outcome, DecideOutcome::Expired);
    let due = p.world.ok(expire(START.plus_seconds(3600))).await;
    assert_eq!(due.approvals[0].continuation_id, Some(p.id));
    let id = p.id;
    let turn = p
        .world
        .store
        .read(move |reader| reader.turn(id))
        .await
        .unwrap();
    assert_eq!(turn.state, ContinuationState::Expired);
    assert_eq!(turn.calls[0].call.state, ToolCallState::Expired);
    p.world.sound().await;
}

#[tokio::test]
async fn a_decision_before_the_deadline_beats_expiry() {
    let p = parked().await;
    let command = p
        .world
        .decide_command(p.gate, DecisionKind::Approve, "anna")
        .await;
    let (decided, due) = tokio::join!(
        p.world.ok(command),
        p.world.ok(expire(START.plus_seconds(9999)))
    );
    assert!(matches!(decided.outcome, DecideOutcome::Decided(_)));
    assert!(due.approvals.is_empty());
    p.world.sound().await;
}

#[tokio::test]
async fn deny_answer_stop_and_revoke_settle_the_call() {
    for (word, call_state, turn_state) in [
        (
            DecisionKind::Deny,
            ToolCallState::Denied,
            ContinuationState::Pending,
        ),
        (
            DecisionKind::Answer,
            ToolCallState::Succeeded,
            ContinuationState::Pending,
        ),
        (
            DecisionKind::DenyAndStop,
            ToolCallState::Denied,
            ContinuationState::Cancelled,
        ),
        (
            DecisionKind::Revoke,
            ToolCallState::Denied,
            ContinuationState::Pending,
        ),
    ] {
        let p = parked().await;
        if word == DecisionKind::Revoke {
            let command = p
                .world
                .decide_command(p.gate, DecisionKind::Approve, "anna")
                .await;
            p.world.ok(command).await;
        }
        let command = p.world.decide_command(p.gate, word, "anna").await;
        assert!(
            matches!(p.world.ok(command).await.outcome, DecideOutcome::Decided(_)),
            "{word}"
        );
        let id = p.id;
        let turn = p
            .world
            .store
            .read(move |reader| reader.turn(id))
            .await
            .unwrap();
        assert_eq!(
            (turn.calls[0].call.state, turn.state),
            (call_state, turn_state),
            "{word}"
        );
        assert_eq!(
            turn.calls[0].call.result.as_deref(),
            Some("what the model reads")
        );
        p.world.sound().await;
        if turn_state == ContinuationState::Pending {
            p.world.claim(p.session).await.unwrap();
            p.world.finish(p.id, 1).await;
            p.world.sound().await;
        }
    }
}

#[tokio::test]
async fn an_edit_keeps_the_question_under_a_new_digest() {
    let p = parked().await;
    let digest = p
        .world
        .decide_command(p.gate, DecisionKind::Approve, "anna")
        .await
        .digest;
    let revise = ReviseApproval {
        approval_id: p.gate,
        digest: digest.clone(),
        by: by("anna"),
        call: NewCallFacts {
            args: serde_json::json!({"path": "b.txt"}),
            preview: "b.txt".to_owned(),
            access: leverframe::protocol::enums::Access::Write,
            effect: Effect::Idempotent,
            risk: leverframe::protocol::enums::Risk::High,
            risk_reasons: Vec::new(),
            plan: leverframe::protocol::approval::PlanFacts::default(),
            digest: "edited".to_owned(),
            args_digest: "edited args".to_owned(),
            verdict: leverframe::protocol::policy::Verdict {
                decision: leverframe::protocol::enums::VerdictKind::Ask,
                rule: "a rule".to_owned(),
                policy_version: 1,
            },
        },
        preview: leverframe::protocol::approval::Preview::None,
        taint: Vec::new(),
        once_only: None,
        cards: Vec::new(),
    };
    let DecideOutcome::Decided(row) = p.world.ok(revise.clone()).await.outcome else {
        panic!("not revised");
    };
    assert_eq!(
        (row.revision, row.digest.as_str(), row.state.as_str()),
        (2, "edited", "pending")
    );
    assert_eq!(
        row.effect,
        Effect::Idempotent,
        "other arguments, another class"
    );
    assert!(matches!(
        p.world.ok(revise).await.outcome,
        DecideOutcome::Stale { .. }
    ));
    // The button of the old card is spent.
    let token = format!("t{}", p.gate);
    assert_eq!(
        p.world
            .store
            .read(move |reader| reader.card_token(&token))
            .await
            .unwrap(),
        None
    );
    p.world.sound().await;
}

#[tokio::test]
async fn a_session_grant_and_a_snooze_are_kept() {
    let p = parked().await;
    let mut command = p
        .world
        .decide_command(p.gate, DecisionKind::Snooze, "ben")
        .await;
    command.minutes = Some(5);
    p.world.ok(command).await;
    let gate = p.gate;
    let until = p
        .world
        .store
        .read(move |reader| reader.snoozed_until(gate, "operator:ben"))
        .await
        .unwrap();
    assert_eq!(until, Some(START.plus_seconds(300)));
    let mut command = p
        .world
        .decide_command(p.gate, DecisionKind::Approve, "anna")
        .await;
    command.scope = Some(DecisionScope::Session);
    command.grant_expires_at = Some(START.plus_seconds(10));
    p.world.ok(command).await;
    let session = p.session;
    let now = p
        .world
        .store
        .read(move |reader| reader.grants(session, START))
        .await
        .unwrap();
    assert_eq!(
        (now[0].tool.as_str(), now[0].requester_id.as_str()),
        ("write_file", "telegram:1")
    );
    let later = p
        .world
        .store
        .read(move |reader| reader.grants(session, START.plus_seconds(10)))
        .await
        .unwrap();
    assert!(later.is_empty());
    let call = p.call;
    let row = p
        .world
        .store
        .read(move |reader| reader.why_rows(call))
        .await
        .unwrap();
    assert_eq!(row.call.state, ToolCallState::Approved);
}

#[tokio::test]
async fn a_budget_is_extended_or_ends_the_turn() {
    for (word, state) in [
        (DecisionKind::Approve, ContinuationState::Pending),
        (DecisionKind::Deny, ContinuationState::Failed),
    ] {
        let world = World::new().await;
        let (_, id) = world.running("chat").await;
        let question = approval(ApprovalKind::Budget, "budget");
        let gate = question.id;
        world
            .ok(AskBudget {
                continuation_id: id,
                epoch: world.epoch(),
                budget: BudgetKind::Steps,
                extra: None,
                day: None,
                limit: 8.0,
                used: 8.0,
                approval: question,
                active_ms: 0,
            })
            .await;
        let command = world.decide_command(gate, word, "anna").await;
        world.ok(command).await;
        let turn = world
            .store
            .read(move |reader| reader.turn(id))
            .await
            .unwrap();
        assert_eq!(turn.state, state);
        assert_eq!(
            turn.limits.max_steps,
            if word == DecisionKind::Approve { 18 } else { 8 }
        );
        world.sound().await;
    }
}

#[tokio::test]
async fn a_lowered_baseline_applies_and_a_raised_one_asks() {
    let world = World::new().await;
    let ensure = |autonomy, auto: &[&str]| EnsureChannel {
        name: "team".to_owned(),
        kind: ChannelKind::Telegram,
        baseline: Baseline {
            autonomy,
            auto_approve: auto.iter().map(|name| (*name).to_owned()).collect(),
            ..baseline()
        },
    };
    let policy = async || {
        world
            .store
            .read(|reader| reader.policy("team"))
            .await
            .unwrap()
    };
    world.ok(ensure(Autonomy::SemiAuto, &["read_file"])).await;
    world.ok(ensure(Autonomy::SemiAuto, &["read_file"])).await;
    assert_eq!(policy().await.autonomy, Autonomy::Supervised);
    let waiting = world
        .store
        .read(|reader| {
            reader.approvals(
                &leverframe::store::queries::approvals::ApprovalFilter::default(),
                &leverframe::protocol::snapshot::PageRequest::default(),
            )
        })
        .await
        .unwrap()
        .items;
    assert_eq!(waiting.len(), 1);
    let command = world
        .decide_command(waiting[0].id, DecisionKind::Approve, "anna")
        .await;
    world.ok(command).await;
    let raised = policy().await;
    assert_eq!(
        (raised.autonomy, raised.auto_approve.as_slice()),
        (Autonomy::SemiAuto, &["read_file".to_owned()][..])
    );
    world.ok(ensure(Autonomy::Supervised, &[])).await;
    let lowered = policy().await;
    assert_eq!(
        (lowered.autonomy, lowered.auto_approve.len()),
        (Autonomy::Supervised, 0)
    );
    let set = |if_version| SetPolicy {
        channel: "team".to_owned(),
        autonomy: Some(Autonomy::Full),
        expires_at: Some(START.plus_seconds(60)),
        auto_approve: None,
        block: None,
        always_ask: None,
        if_version,
        by: by("anna"),
    };
    assert!(matches!(
        world.store.write(set(Some(1))).await,
        Err(StoreError::VersionConflict { current }) if current == lowered.version
    ));
    world.ok(set(Some(lowered.version))).await;
    let due = world.ok(expire(START.plus_seconds(60))).await;
    assert_eq!(due.policies[0].1.autonomy, Autonomy::Supervised);
    world.sound().await;
}

#[tokio::test]
async fn a_raise_that_is_approved_during_a_temporary_level_holds_after_it() {
    let world = World::new().await;
    world
        .ok(SetPolicy {
            channel: "team".to_owned(),
            autonomy: Some(Autonomy::Full),
            expires_at: Some(START.plus_seconds(60)),
            auto_approve: None,
            block: None,
            always_ask: None,
            if_version: None,
            by: by("anna"),
        })
        .await;
    world
        .ok(EnsureChannel {
            name: "team".to_owned(),
            kind: ChannelKind::Telegram,
            baseline: Baseline {
                autonomy: Autonomy::SemiAuto,
                ..baseline()
            },
        })
        .await;
    let waiting = world
        .store
        .read(|reader| {
            reader.approvals(
                &leverframe::store::queries::approvals::ApprovalFilter::default(),
                &leverframe::protocol::snapshot::PageRequest::default(),
            )
        })
        .await
        .unwrap()
        .items;
    let command = world
        .decide_command(waiting[0].id, DecisionKind::Approve, "anna")
        .await;
    world.ok(command).await;
    let policy = async || {
        let read = world.store.read(|reader| reader.policy("team")).await;
        let policy = read.unwrap();
        (policy.autonomy, policy.reverts_to)
    };
    assert_eq!(policy().await, (Autonomy::Full, Some(Autonomy::SemiAuto)));
    world.ok(expire(START.plus_seconds(60))).await;
    assert_eq!(policy().await, (Autonomy::SemiAuto, None));
    world.sound().await;
}
