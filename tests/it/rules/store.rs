//! Uses and ends of rules hold, whoever else is at it and wherever the process dies.

use leverframe::protocol::enums::{
    DecisionKind, DecisionScope, Effect, RuleScope, SessionState, ToolCallState, VerdictKind,
};
use leverframe::protocol::ids::{ContinuationId, RuleId, ToolCallId};
use leverframe::protocol::rule::Rule;
use leverframe::store::commands::decide::{Decide, DecideOutcome};
use leverframe::store::commands::end_session::EndSession;
use leverframe::store::commands::put_rule::{PutRule, RemoveGrant, RemoveRule, RuleFields};
use leverframe::store::commands::start_tool::{StartTool, StartToolOutcome};
use leverframe::store::error::StoreError;
use leverframe::store::input::Basis;

use crate::rules::world::{fields, leaning, put};
use crate::support::world::{START, World, by, gated};

async fn rule(world: &World, id: RuleId) -> Rule {
    world
        .store
        .read(move |reader| reader.rule(id))
        .await
        .unwrap()
}

async fn states(world: &World, turn: ContinuationId) -> Vec<(ToolCallState, VerdictKind)> {
    let rows = world
        .store
        .read(move |reader| reader.turn(turn))
        .await
        .unwrap();
    rows.calls
        .iter()
        .map(|row| (row.call.state, row.call.verdict.decision))
        .collect()
}

fn global(max_uses: Option<u64>) -> RuleFields {
    RuleFields {
        scope: RuleScope::Global,
        session_id: None,
        continuation_id: None,
        max_uses,
        ..fields(leverframe::protocol::ids::SessionId::generate())
    }
}

async fn start(world: &World, id: ToolCallId, basis: Basis) -> StartToolOutcome {
    world
        .ok(StartTool {
            call_id: id,
            epoch: world.epoch(),
            digest: format!("digest-{id}"),
            max_decision_age_ms: 60_000,
            key_lifetime_ms: None,
            basis: Some(basis),
        })
        .await
}

/// Eight answers at once that lean on a rule with three uses: three run, and the count says so after a crash too.
#[tokio::test]
async fn a_rule_allows_no_more_calls_than_it_may() {
    let world = World::new().await;
    let made = world.ok(put(global(Some(3)))).await;
    let mut turns = Vec::new();
    for n in 0..8 {
        turns.push(world.running(&format!("chat-{n}")).await.1);
    }
    let proposals = turns
        .iter()
        .map(|turn| world.propose(*turn, vec![leaning(made.id)]));
    futures_util::future::join_all(proposals).await;
    let world = world.crash().await;
    let mut ran = 0;
    for turn in &turns {
        match states(&world, *turn).await[..] {
            [(ToolCallState::Ready, VerdictKind::Allow)] => ran += 1,
            [(ToolCallState::Denied, VerdictKind::Deny)] => {}
            ref other => panic!("{other:?}"),
        }
    }
    let after = rule(&world, made.id).await;
    assert_eq!((ran, after.uses), (3, 3));
    assert_eq!(after.idle(START).as_deref(), Some("used up"));
    world.sound().await;
}

#[tokio::test]
async fn a_rule_that_ended_or_was_taken_away_meanwhile_lets_nothing_run() {
    let world = World::new().await;
    let (_, turn) = world.running("chat").await;
    let ended = world
        .ok(put(RuleFields {
            expires_at: Some(START.plus_seconds(60)),
            ..global(None)
        }))
        .await;
    let disabled = world
        .ok(put(RuleFields {
            enabled: false,
            ..global(None)
        }))
        .await;
    let removed = world.ok(put(global(None))).await;
    world
        .ok(RemoveRule {
            id: removed.id,
            by: by("anna"),
        })
        .await;
    world.clock.advance_millis(60_000);
    let calls = [ended.id, disabled.id, removed.id].map(leaning).to_vec();
    world.propose(turn, calls).await;
    let denied = (ToolCallState::Denied, VerdictKind::Deny);
    assert_eq!(states(&world, turn).await, [denied, denied, denied]);
    assert_eq!(rule(&world, ended.id).await.uses, 0);
    world.sound().await;
}

/// Between verdict and start a rule can go; a call is counted once however often it starts.
#[tokio::test]
async fn a_call_starts_only_while_its_rule_is_in_force() {
    let world = World::new().await;
    let (_, turn) = world.running("chat").await;
    let made = world.ok(put(global(Some(1)))).await;
    let call = leaning(made.id);
    let id = call.id;
    world.propose(turn, vec![call]).await;
    let off = PutRule {
        id: made.id,
        version: 1,
        fields: RuleFields {
            enabled: false,
            ..global(Some(1))
        },
        approval_id: None,
        by: by("anna"),
    };
    world.ok(off.clone()).await;
    let basis = Basis::Rule(made.id);
    assert_eq!(
        start(&world, id, basis).await,
        StartToolOutcome::NoLongerAllowed
    );
    world
        .ok(PutRule {
            version: 2,
            fields: global(Some(1)),
            ..off.clone()
        })
        .await;
    assert_eq!(
        start(&world, id, basis).await,
        StartToolOutcome::Started { attempt: 1 }
    );
    assert_eq!(rule(&world, made.id).await.uses, 1);
    // Another rule that lets it run by the time it starts counts it then, while it has uses left.
    let (_, turn) = world.running("other").await;
    let (one, two) = (world.ok(put(global(None))).await, off.id);
    let call = leaning(one.id);
    let id = call.id;
    world.propose(turn, vec![call]).await;
    assert_eq!(
        start(&world, id, Basis::Rule(two)).await,
        StartToolOutcome::NoLongerAllowed
    );
    let other = world.ok(put(global(Some(1)))).await;
    assert_eq!(
        start(&world, id, Basis::Rule(other.id)).await,
        StartToolOutcome::Started { attempt: 1 }
    );
    assert_eq!(rule(&world, other.id).await.uses, 1);
    // A change of something that was changed meanwhile is refused.
    let late = world.illegal(PutRule { version: 1, ..off }).await;
    assert!(late.contains("changed by anna meanwhile"), "{late}");
    world.sound().await;
}

#[tokio::test]
async fn a_rule_is_made_with_the_decision_or_not_at_all_and_goes_with_it() {
    let world = World::new().await;
    let (session, turn) = world.running("chat").await;
    let (call, gate) = gated(Effect::NonIdempotent);
    world.propose(turn, vec![call]).await;
    let decide = world
        .decide_command(gate, DecisionKind::Approve, "anna")
        .await;
    let id = RuleId::generate();
    let with = Decide {
        rule: Some((id, fields(session))),
        ..decide.clone()
    };
    let stale = Decide {
        digest: "another".to_owned(),
        ..with.clone()
    };
    assert!(matches!(
        world.ok(stale).await.outcome,
        DecideOutcome::Stale { .. }
    ));
    let gone = |world: &World| {
        let store = world.store.clone();
        async move {
            matches!(
                store.read(move |reader| reader.rule(id)).await,
                Err(StoreError::NotFound { .. })
            )
        }
    };
    assert!(gone(&world).await);
    assert!(matches!(
        world.ok(with.clone()).await.outcome,
        DecideOutcome::Decided(_)
    ));
    let world = world.crash().await;
    assert_eq!(rule(&world, id).await.approval_id, Some(gate));
    // The same once more changes nothing.
    assert!(matches!(
        world.ok(with).await.outcome,
        DecideOutcome::Same(_)
    ));
    let revoke = Decide {
        decision: DecisionKind::Revoke,
        ..decide
    };
    world.ok(revoke).await;
    assert!(gone(&world).await);
    world.sound().await;
}

#[tokio::test]
async fn rules_and_permissions_of_a_session_end_with_it() {
    let world = World::new().await;
    let (session, turn) = world.running("chat").await;
    let (call, gate) = gated(Effect::NonIdempotent);
    world.propose(turn, vec![call]).await;
    let decide = world
        .decide_command(gate, DecisionKind::Approve, "anna")
        .await;
    world
        .ok(Decide {
            scope: Some(DecisionScope::Session),
            grant_expires_at: Some(START.plus_seconds(3600)),
            ..decide
        })
        .await;
    let made = world.ok(put(fields(session))).await;
    let grants = world
        .store
        .read(|reader| reader.all_grants(START))
        .await
        .unwrap();
    assert_eq!((grants.len(), grants[0].id, grants[0].uses), (1, gate, 0));
    assert_eq!(grants[0].preview, "a.txt");
    // A call that leans on the permission counts there.
    let (_, other) = world.running("elsewhere").await;
    let mut leans = leaning(made.id);
    leans.basis = Some(Basis::Grant(gate));
    world.propose(other, vec![leans]).await;
    let used = world
        .store
        .read(|reader| reader.all_grants(START))
        .await
        .unwrap();
    assert_eq!((used[0].uses, used[0].last_used_at), (1, Some(START)));
    world
        .ok(RemoveGrant {
            id: gate,
            by: by("anna"),
        })
        .await;
    assert!(matches!(
        world
            .write(RemoveGrant {
                id: gate,
                by: by("anna")
            })
            .await,
        Err(StoreError::NotFound { .. })
    ));
    world
        .ok(EndSession {
            session_id: session,
            by: by("anna"),
            reason: "over".to_owned(),
        })
        .await;
    let left = world.store.read(|reader| reader.rules()).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
    let state = world
        .store
        .read(move |reader| reader.session(session))
        .await
        .unwrap()
        .state;
    assert_eq!(state, SessionState::Ended);
    let late = world.illegal(put(fields(session))).await;
    assert!(late.contains("has ended"), "{late}");
    world.sound().await;
}
