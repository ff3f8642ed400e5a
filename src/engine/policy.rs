//! What the policy says about a call. Pure: no store, no clock, no settings lookup.
//!
//! The order of questions is fixed (SPEC A3); the first that answers wins, and the answer carries the
//! text of the rule that gave it. Schema and path guards come before this module is asked.

use crate::clock::Timestamp;
use crate::config::settings::SEMI_AUTO_RUNS;
use crate::protocol::approval::only_once;
use crate::protocol::enums::{Access, Autonomy, Effect, Risk, VerdictKind};
use crate::protocol::ids::{ApprovalId, ContinuationId};
use crate::protocol::policy::{ALWAYS_ASK_LIST, Policy, Verdict};
use crate::protocol::rule::Rule;
use crate::store::input::Basis;
use crate::store::queries::approvals::Grant;

/// What the policy looks at in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFacts {
    pub tool: String,
    /// What it touches.
    pub access: Access,
    /// Its recovery class.
    pub effect: Effect,
    /// Its risk after overrides.
    pub risk: Risk,
    /// Digest of the canonical arguments and of where they lead, for grants.
    pub args_digest: String,
    /// Why no rule, grant, list or level may let it run without a person.
    pub always_asks: Option<String>,
    /// Which untrusted content is in context.
    pub taint: Vec<String>,
}

/// Whether a permission has not ended at `now`, seen from a turn; none = from no turn.
fn holds(grant: &Grant, now: Timestamp, turn: Option<ContinuationId>) -> bool {
    grant.expires_at.is_none_or(|at| at > now)
        && grant.continuation_id.is_none_or(|id| turn == Some(id))
}

/// Everything beside the call itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyInput {
    /// The channel's policy as it is in force now.
    pub policy: Policy,
    /// A second policy that also applies (a platform session driven over HTTP): the stricter verdict wins.
    pub also: Option<Policy>,
    /// Whether an emergency stop is engaged.
    pub held: bool,
    /// Grants of the session; those that have ended or belong to another turn answer nothing.
    pub grants: Vec<Grant>,
    /// Rules that match the call; those that have ended or belong to another turn answer nothing.
    pub rules: Vec<Rule>,
    /// The time of the verdict.
    pub now: Timestamp,
    /// The turn of the call; none = it belongs to none.
    pub continuation_id: Option<ContinuationId>,
    /// Id of the requester of this turn.
    pub requester_id: String,
    /// Whether untrusted content makes calls ask in `full` too: what the channel says, or the stricter of two.
    pub taint_guard_in_full: bool,
    /// The most that this turn may do by itself, whatever the policies allow.
    pub ceiling: Option<Autonomy>,
}

/// Whether a list entry (a name or `prefix*`) covers a tool.
pub fn covers(entry: &str, tool: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(prefix) => tool.starts_with(prefix),
        None => entry == tool,
    }
}

/// The entry of a list that covers a tool.
pub fn listed<'a>(list: &'a [String], tool: &str) -> Option<&'a str> {
    list.iter()
        .map(String::as_str)
        .find(|entry| covers(entry, tool))
}

/// The entry of `always_ask` that holds for every tool of these (a name or `prefix*`): no permission, rule, list or level
/// lets them run without a person. None = not for all of them.
pub fn always_asked<'a>(policy: &'a Policy, tools: &str) -> Option<&'a str> {
    let Some(prefix) = tools.strip_suffix('*') else {
        return listed(&policy.always_ask, tools);
    };
    policy
        .always_ask
        .iter()
        .map(String::as_str)
        .find(|entry| (entry.strip_suffix('*')).is_some_and(|listed| prefix.starts_with(listed)))
}

/// Whether taint makes a call of this access ask.
pub fn taint_matters(access: Access) -> bool {
    match access {
        Access::ReadLocal | Access::ReadOpen => false,
        Access::WriteAdditive | Access::Write | Access::Exec | Access::Send | Access::Unknown => {
            true
        }
    }
}

/// Why a permission of this shape for the session would never be used under these circumstances; none = it would.
pub fn once_only(facts: &CallFacts, policy_input: &PolicyInput) -> Option<String> {
    let granted = PolicyInput {
        // A stop ends; what it holds back is evaluated again then.
        held: false,
        grants: vec![Grant {
            tool: facts.tool.clone(),
            args_digest: facts.args_digest.clone(),
            requester_id: policy_input.requester_id.clone(),
            by: String::new(),
            approval_id: ApprovalId::from_bytes([0; 16]),
            continuation_id: None,
            expires_at: None,
        }],
        ..policy_input.clone()
    };
    let verdict = verdict(facts, &granted);
    (verdict.decision != VerdictKind::Allow).then(|| {
        format!(
            "it would ask all the same ({}); allow it once",
            verdict.rule
        )
    })
}

/// The verdict on a call: the stricter one where two policies apply.
pub fn verdict(facts: &CallFacts, policy_input: &PolicyInput) -> Verdict {
    evaluate(facts, policy_input).0
}

/// The same, with the rule or grant that it is based on.
pub fn evaluate(facts: &CallFacts, policy_input: &PolicyInput) -> (Verdict, Option<Basis>) {
    let first = verdict_under(facts, policy_input, &policy_input.policy);
    match &policy_input.also {
        None => first,
        Some(also) => {
            let second = verdict_under(facts, policy_input, also);
            // What both policies need is needed, whichever of them is told.
            let basis = first.1.or(second.1);
            let strict = stricter(first.0.clone(), second.0.clone());
            let basis = match strict.decision {
                VerdictKind::Allow => basis,
                VerdictKind::Ask | VerdictKind::Deny if strict == first.0 => first.1,
                VerdictKind::Ask | VerdictKind::Deny => second.1,
            };
            (strict, basis)
        }
    }
}

/// The stricter of two verdicts; the first when they are equally strict.
pub fn stricter(first: Verdict, second: Verdict) -> Verdict {
    let rank = |word: VerdictKind| match word {
        VerdictKind::Allow => 0,
        VerdictKind::Ask => 1,
        VerdictKind::Deny => 2,
    };
    if rank(second.decision) > rank(first.decision) {
        second
    } else {
        first
    }
}

fn verdict_under(
    facts: &CallFacts,
    policy_input: &PolicyInput,
    policy: &Policy,
) -> (Verdict, Option<Basis>) {
    let (now, turn) = (policy_input.now, policy_input.continuation_id);
    let lean = |decision, rule: String, basis| {
        let verdict = Verdict {
            decision,
            rule,
            policy_version: policy.version,
        };
        (verdict, basis)
    };
    let say = |decision, rule: String| lean(decision, rule, None);
    let ruled = |word: VerdictKind| {
        let rule = policy_input
            .rules
            .iter()
            .find(|rule| rule.verdict == word && rule.holds(now, turn))?;
        let text = format!("rule {} of {}: {}", rule.id, rule.by, rule.in_words());
        Some(lean(word, text, Some(Basis::Rule(rule.id))))
    };
    if policy_input.held {
        return say(
            VerdictKind::Ask,
            "emergency stop: nothing starts until it is released".to_owned(),
        );
    }
    if let Some(entry) = listed(&policy.block, &facts.tool) {
        return say(VerdictKind::Deny, format!("block list: `{entry}`"));
    }
    if let Some(denied) = ruled(VerdictKind::Deny) {
        return denied;
    }
    if let Some(entry) = always_asked(policy, &facts.tool) {
        return say(VerdictKind::Ask, format!("{ALWAYS_ASK_LIST}: `{entry}`"));
    }
    if let Some(asks) = ruled(VerdictKind::Ask) {
        return asks;
    }
    if let Some(reason) = &facts.always_asks {
        return say(VerdictKind::Ask, format!("always asks: {reason}"));
    }
    let ceiling = policy_input.ceiling.unwrap_or(Autonomy::Full);
    let autonomy = policy.autonomy.min(ceiling);
    let is_tainted = !facts.taint.is_empty() && taint_matters(facts.access);
    let is_guarded = policy_input.taint_guard_in_full || autonomy < Autonomy::Full;
    if is_tainted && is_guarded {
        return say(
            VerdictKind::Ask,
            format!(
                "taint: untrusted content in context ({}){}",
                facts.taint.join("; "),
                if autonomy < policy.autonomy && !policy_input.taint_guard_in_full {
                    ", under the ceiling of this turn"
                } else {
                    ""
                }
            ),
        );
    }
    let grant = policy_input.grants.iter().find(|grant| {
        grant.tool == facts.tool
            && grant.args_digest == facts.args_digest
            && grant.requester_id == policy_input.requester_id
            && holds(grant, now, turn)
    });
    if let Some(grant) = grant
        && only_once(facts.risk, &facts.taint, facts.always_asks.as_deref()).is_none()
    {
        return lean(
            VerdictKind::Allow,
            match grant.continuation_id {
                None => format!("the same call was allowed for the session by {}", grant.by),
                Some(_) => format!("the same call was allowed for this turn by {}", grant.by),
            },
            Some(Basis::Grant(grant.approval_id)),
        );
    }
    if facts.risk < Risk::Critical
        && let Some(allowed) = ruled(VerdictKind::Allow)
    {
        return allowed;
    }
    if let Some(entry) = listed(&policy.auto_approve, &facts.tool) {
        return say(VerdictKind::Allow, format!("auto_approve list: `{entry}`"));
    }
    let whose = if autonomy < policy.autonomy {
        format!(
            "autonomy {autonomy} (the ceiling of this turn; the channel has {})",
            policy.autonomy
        )
    } else {
        format!("autonomy {autonomy}")
    };
    match autonomy {
        Autonomy::Supervised => say(
            VerdictKind::Ask,
            format!("{whose}: everything not auto-approved asks"),
        ),
        Autonomy::SemiAuto if SEMI_AUTO_RUNS.contains(&facts.access) => say(
            VerdictKind::Allow,
            format!("{whose}: {} runs", facts.access),
        ),
        Autonomy::SemiAuto => say(VerdictKind::Ask, format!("{whose}: {} asks", facts.access)),
        Autonomy::Full if is_tainted => say(
            VerdictKind::Allow,
            format!(
                "{whose}: runs although untrusted content is in context ({}); \
                 the channel has taint_guard_in_full = false",
                facts.taint.join("; ")
            ),
        ),
        Autonomy::Full if facts.access == Access::Unknown => say(
            VerdictKind::Allow,
            format!("{whose}: unclassified calls run"),
        ),
        Autonomy::Full => say(
            VerdictKind::Allow,
            format!("{whose}: everything not listed runs"),
        ),
    }
}
