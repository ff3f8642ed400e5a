//! Properties of the policy: the order of SPEC A3, and that taint, lists and levels never widen what is forbidden.

mod races;
mod risk;

use leverframe::clock::Timestamp;
use leverframe::engine::handle::policy::raises;
use leverframe::engine::policy::{CallFacts, PolicyInput, covers, verdict};
use leverframe::protocol::enums::{Access, Autonomy, Effect, Risk, VerdictKind};
use leverframe::protocol::ids::{ApprovalId, ContinuationId, RuleId};
use leverframe::protocol::policy::{Policy, PolicyPatch};
use leverframe::protocol::rule::Rule;
use leverframe::store::queries::approvals::Grant;
use proptest::prelude::*;

const TOOLS: &[&str] = &["read_file", "write_file", "execute_command", "read_secret"];

fn list() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(
        proptest::sample::select(vec![
            "read_file",
            "write_file",
            "execute_command",
            "read*",
            "*",
            "write_fil",
        ]),
        0..3,
    )
    .prop_map(|list| list.into_iter().map(str::to_owned).collect())
}

fn policy() -> impl Strategy<Value = Policy> {
    (
        proptest::sample::select(Autonomy::ALL.to_vec()),
        list(),
        list(),
        list(),
    )
        .prop_map(|(autonomy, auto_approve, block, always_ask)| Policy {
            version: 3,
            autonomy,
            expires_at: None,
            reverts_to: None,
            auto_approve,
            block,
            always_ask,
        })
}

fn facts() -> impl Strategy<Value = CallFacts> {
    (
        proptest::sample::select(TOOLS.to_vec()),
        proptest::sample::select(Access::ALL.to_vec()),
        proptest::sample::select(Risk::ALL.to_vec()),
        proptest::option::weighted(0.2, Just("no sandbox".to_owned())),
        proptest::collection::vec(Just("message of telegram:9".to_owned()), 0..2),
    )
        .prop_map(|(tool, access, risk, always_asks, taint)| CallFacts {
            tool: tool.to_owned(),
            access,
            effect: Effect::NonIdempotent,
            risk,
            args_digest: "d".to_owned(),
            always_asks,
            taint,
        })
}

const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn turn_of(number: u8) -> ContinuationId {
    ContinuationId::from_bytes([number; 16])
}

/// The turn that a permission ends with, of which the call's is 1, and when it ends: before, at and after the verdict.
fn grant_end() -> impl Strategy<Value = (Option<u8>, Option<Timestamp>)> {
    let end = (-2_i64..3).prop_map(|seconds| NOW.plus_seconds(seconds));
    (proptest::option::of(1_u8..3), proptest::option::of(end))
}

fn circumstances() -> impl Strategy<Value = PolicyInput> {
    (
        policy(),
        proptest::option::weighted(0.3, policy()),
        proptest::bool::weighted(0.1),
        proptest::option::of(grant_end()),
        proptest::option::of(proptest::sample::select(Autonomy::ALL.to_vec())),
        any::<bool>(),
    )
        .prop_map(
            |(policy, also, held, granted, ceiling, taint_guard_in_full)| PolicyInput {
                policy,
                also,
                held,
                grants: granted
                    .into_iter()
                    .flat_map(|(turn, expires_at)| {
                        TOOLS.iter().map(move |tool| Grant {
                            tool: (*tool).to_owned(),
                            args_digest: "d".to_owned(),
                            requester_id: "telegram:1".to_owned(),
                            by: "anna".to_owned(),
                            approval_id: ApprovalId::from_bytes([7; 16]),
                            continuation_id: turn.map(turn_of),
                            expires_at,
                        })
                    })
                    .collect(),
                rules: Vec::new(),
                now: NOW,
                continuation_id: Some(turn_of(1)),
                requester_id: "telegram:1".to_owned(),
                taint_guard_in_full,
                ceiling,
            },
        )
}

fn lasts(grant: &Grant) -> bool {
    grant.continuation_id != Some(turn_of(2)) && grant.expires_at.is_none_or(|at| at > NOW)
}

fn rule_of(
    verdict: VerdictKind,
    turn: Option<ContinuationId>,
    expires_at: Option<Timestamp>,
) -> Rule {
    let scope = if turn.is_some() { "turn" } else { "global" };
    let value = serde_json::json!({
        "id": RuleId::from_bytes([3; 16]), "tool": "*", "field": null, "matcher": "pattern", "value": "*",
        "scope": scope, "channel": null, "session_id": null, "continuation_id": turn, "verdict": verdict,
        "enabled": true, "expires_at": expires_at, "max_uses": null, "uses": 0, "last_used_at": null, "note": null,
        "approval_id": null, "by": "anna", "version": 1, "created_at": NOW, "updated_at": NOW,
    });
    serde_json::from_value(value).expect("a rule")
}

fn any_covers(list: &[String], tool: &str) -> bool {
    list.iter().any(|entry| {
        entry == tool
            || entry
                .strip_suffix('*')
                .is_some_and(|prefix| tool.starts_with(prefix))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// An oracle written from the text of SPEC A3, rule by rule, decides every case the same way.
    #[test]
    fn the_order_of_the_rules_holds(facts in facts(), circumstances in circumstances()) {
        #[expect(clippy::if_same_then_else, reason = "one branch a rule, in the order of the specification")]
        let one = |policy: &Policy| {
            let writes = !matches!(facts.access, Access::ReadLocal | Access::ReadOpen);
            let tainted = !facts.taint.is_empty();
            let ceiling = circumstances.ceiling.unwrap_or(Autonomy::Full);
            let level = if ceiling < policy.autonomy { ceiling } else { policy.autonomy };
            let guarded = circumstances.taint_guard_in_full || level != Autonomy::Full;
            let granted = circumstances.grants.iter().any(lasts)
                && facts.risk < Risk::High && !tainted && facts.always_asks.is_none();
            if circumstances.held { VerdictKind::Ask }
            else if any_covers(&policy.block, &facts.tool) { VerdictKind::Deny }
            else if any_covers(&policy.always_ask, &facts.tool) { VerdictKind::Ask }
            else if facts.always_asks.is_some() { VerdictKind::Ask }
            else if tainted && writes && guarded { VerdictKind::Ask }
            else if granted { VerdictKind::Allow }
            else if any_covers(&policy.auto_approve, &facts.tool) { VerdictKind::Allow }
            else {
                match level {
                    Autonomy::Supervised => VerdictKind::Ask,
                    Autonomy::SemiAuto => if facts.access == Access::ReadLocal { VerdictKind::Allow } else { VerdictKind::Ask },
                    Autonomy::Full => VerdictKind::Allow,
                }
            }
        };
        let strict = |word: VerdictKind| match word {
            VerdictKind::Allow => 0,
            VerdictKind::Ask => 1,
            VerdictKind::Deny => 2,
        };
        let first = one(&circumstances.policy);
        let expected = match &circumstances.also {
            Some(also) if strict(one(also)) > strict(first) => one(also),
            Some(_) | None => first,
        };
        let said = verdict(&facts, &circumstances);
        prop_assert_eq!(said.decision, expected, "{}", said.rule);
        prop_assert!(!said.rule.is_empty());
    }

    /// What has ended, or is of another turn, changes no verdict: it is as if it had never been given.
    #[test]
    fn ended_permissions_and_rules_never_answer(
        facts in facts(), circumstances in circumstances(), end in grant_end(),
        word in proptest::sample::select(VerdictKind::ALL.to_vec()),
    ) {
        let (turn, expires_at) = end;
        let rule = rule_of(word, turn.map(turn_of), expires_at);
        let holds = turn != Some(2) && expires_at.is_none_or(|at| at > NOW);
        let with = PolicyInput { rules: vec![rule], ..circumstances.clone() };
        let mut without = circumstances.clone();
        without.grants.retain(lasts);
        if !holds {
            prop_assert_eq!(verdict(&facts, &with), verdict(&facts, &without));
        }
        // At the moment at which the last of them ends, none of them is left.
        let later = PolicyInput { now: NOW.plus_seconds(9), continuation_id: Some(turn_of(9)), ..with };
        without.grants.retain(|grant| grant.continuation_id.is_none() && grant.expires_at.is_none());
        if turn.is_some() || expires_at.is_some() {
            let plain = PolicyInput { now: later.now, continuation_id: later.continuation_id, ..without };
            prop_assert_eq!(verdict(&facts, &later), verdict(&facts, &plain));
        }
    }

    /// An unsandboxed program never runs without a person, whatever list, grant or level says (A11).
    #[test]
    fn what_always_asks_never_runs_by_itself(facts in facts(), circumstances in circumstances()) {
        let facts = CallFacts { always_asks: Some("no sandbox".to_owned()), ..facts };
        prop_assert_ne!(verdict(&facts, &circumstances).decision, VerdictKind::Allow);
    }

    /// A tainted write runs by itself where the channel is without the guard, in `full` alone (A7).
    #[test]
    fn a_tainted_write_runs_by_itself_in_full_without_the_guard_alone(facts in facts(), circumstances in circumstances()) {
        let access = match facts.access {
            Access::ReadLocal | Access::ReadOpen => Access::Exec,
            writing => writing,
        };
        let facts = CallFacts { taint: vec!["a web page".to_owned()], access, ..facts };
        let said = verdict(&facts, &circumstances);
        if said.decision == VerdictKind::Allow {
            prop_assert!(!circumstances.taint_guard_in_full);
            prop_assert_eq!(circumstances.policy.autonomy, Autonomy::Full);
            prop_assert!(circumstances.also.as_ref().is_none_or(|also| also.autonomy == Autonomy::Full));
            prop_assert_eq!(circumstances.ceiling.unwrap_or(Autonomy::Full), Autonomy::Full);
            prop_assert!(facts.always_asks.is_none());
            let listed = said.rule.starts_with("auto_approve");
            prop_assert!(listed || said.rule.contains("taint_guard_in_full"), "{}", said.rule);
        }
        // Without the guard, the lists and what always asks hold as ever.
        let clean = CallFacts { taint: Vec::new(), ..facts };
        prop_assert!(said.decision != VerdictKind::Allow || verdict(&clean, &circumstances).decision == VerdictKind::Allow);
    }

    /// A tainted write never runs by itself (A7).
    #[test]
    fn a_tainted_write_never_runs_by_itself(facts in facts(), circumstances in circumstances()) {
        let circumstances = PolicyInput { taint_guard_in_full: true, ..circumstances };
        let access = match facts.access {
            Access::ReadLocal | Access::ReadOpen => Access::Exec,
            writing => writing,
        };
        let facts = CallFacts { taint: vec!["a web page".to_owned()], access, ..facts };
        prop_assert_ne!(verdict(&facts, &circumstances).decision, VerdictKind::Allow);
    }

    /// With a ceiling nothing runs that would not run without it, and the rule names it where it decides.
    #[test]
    fn a_ceiling_only_takes_away(facts in facts(), circumstances in circumstances()) {
        let free = PolicyInput { ceiling: None, ..circumstances.clone() };
        let (said, free) = (verdict(&facts, &circumstances), verdict(&facts, &free));
        prop_assert!(said.decision != VerdictKind::Allow || free.decision == VerdictKind::Allow);
        prop_assert!(said.decision == free.decision || said.rule.contains("the ceiling of this turn"), "{}", said.rule);
    }

    /// Lowering the level never lets anything run that asked before.
    #[test]
    fn a_lower_level_is_never_more_permissive(facts in facts(), circumstances in circumstances()) {
        let at = |autonomy| {
            let mut lowered = circumstances.clone();
            lowered.policy.autonomy = autonomy;
            lowered.also = None;
            verdict(&facts, &lowered).decision == VerdictKind::Allow
        };
        prop_assert!(!at(Autonomy::Supervised) || at(Autonomy::SemiAuto));
        prop_assert!(!at(Autonomy::SemiAuto) || at(Autonomy::Full));
    }
}

#[test]
fn a_grant_is_for_its_requester_and_shape_only() {
    let facts = CallFacts {
        tool: "write_file".to_owned(),
        access: Access::WriteAdditive,
        effect: Effect::NonIdempotent,
        risk: Risk::Medium,
        args_digest: "one".to_owned(),
        always_asks: None,
        taint: Vec::new(),
    };
    let policy = Policy {
        version: 1,
        autonomy: Autonomy::Supervised,
        expires_at: None,
        reverts_to: None,
        auto_approve: Vec::new(),
        block: Vec::new(),
        always_ask: Vec::new(),
    };
    let grant = Grant {
        tool: "write_file".to_owned(),
        args_digest: "one".to_owned(),
        requester_id: "telegram:1".to_owned(),
        by: "anna".to_owned(),
        approval_id: ApprovalId::from_bytes([7; 16]),
        continuation_id: None,
        expires_at: None,
    };
    let circumstances = PolicyInput {
        policy,
        also: None,
        held: false,
        grants: vec![grant],
        rules: Vec::new(),
        now: NOW,
        continuation_id: None,
        requester_id: "telegram:1".to_owned(),
        taint_guard_in_full: true,
        ceiling: None,
    };
    assert_eq!(verdict(&facts, &circumstances).decision, VerdictKind::Allow);
    let other_shape = CallFacts {
        args_digest: "two".to_owned(),
        ..facts.clone()
    };
    assert_eq!(
        verdict(&other_shape, &circumstances).decision,
        VerdictKind::Ask
    );
    let other_person = PolicyInput {
        requester_id: "telegram:2".to_owned(),
        ..circumstances.clone()
    };
    assert_eq!(verdict(&facts, &other_person).decision, VerdictKind::Ask);
    let riskier = CallFacts {
        risk: Risk::High,
        ..facts
    };
    assert_eq!(verdict(&riskier, &circumstances).decision, VerdictKind::Ask);
}

#[test]
fn list_entries_match_names_and_prefixes_only() {
    assert!(covers("read_file", "read_file"));
    assert!(covers("read*", "read_file"));
    assert!(covers("*", "anything"));
    assert!(!covers("read_fil", "read_file"));
    assert!(!covers("READ_FILE", "read_file"));
}

#[test]
fn a_level_that_ends_by_itself_is_no_permission_to_make_it_last() {
    let policy = |autonomy, reverts_to| Policy {
        version: 1,
        autonomy,
        expires_at: None,
        reverts_to,
        auto_approve: Vec::new(),
        block: Vec::new(),
        always_ask: Vec::new(),
    };
    let to = |autonomy| PolicyPatch {
        autonomy: Some(autonomy),
        ..PolicyPatch::default()
    };
    let for_a_while = policy(Autonomy::Full, Some(Autonomy::Supervised));
    assert!(raises(&for_a_while, &to(Autonomy::Full), None));
    assert!(raises(&for_a_while, &to(Autonomy::SemiAuto), None));
    assert!(!raises(&for_a_while, &to(Autonomy::Supervised), None));
    let lasting = policy(Autonomy::SemiAuto, None);
    assert!(!raises(&lasting, &to(Autonomy::SemiAuto), None));
    assert!(raises(&lasting, &to(Autonomy::Full), None));
    // Lowered for a while: what comes back by itself is not given back earlier without being allowed to.
    let lowered = policy(Autonomy::Supervised, Some(Autonomy::SemiAuto));
    assert!(raises(&lowered, &to(Autonomy::SemiAuto), None));
    // Nor by ending the lower level sooner.
    let until = |autonomy, reverts_to, seconds| Policy {
        expires_at: Some(NOW.plus_seconds(seconds)),
        ..policy(autonomy, Some(reverts_to))
    };
    let lowered = until(Autonomy::SemiAuto, Autonomy::Full, 60);
    for level in [Autonomy::Supervised, Autonomy::SemiAuto] {
        let ends = |seconds| Some(NOW.plus_seconds(seconds));
        assert!(raises(&lowered, &to(level), ends(59)), "{level}");
        assert!(!raises(&lowered, &to(level), ends(60)), "{level}");
        assert!(!raises(&lowered, &to(level), ends(61)), "{level}");
        assert!(!raises(&lowered, &to(level), None), "{level}");
    }
    // What is raised for a while falls back as soon as somebody likes.
    let for_a_while = until(Autonomy::Full, Autonomy::Supervised, 60);
    let soon = Some(NOW.plus_seconds(1));
    assert!(!raises(&for_a_while, &to(Autonomy::Supervised), soon));
}
