//! Rules for tests.

use leverframe::protocol::enums::{Effect, RuleMatcher, RuleScope, ToolCallState, VerdictKind};
use leverframe::protocol::ids::{RuleId, SessionId};
use leverframe::protocol::policy::Verdict;
use leverframe::store::commands::put_rule::{PutRule, RuleFields};
use leverframe::store::input::{Basis, Fallback, NewCall, NewCallOutcome};

use crate::support::world::{by, call};

/// A rule of a session that allows writing.
pub(crate) fn fields(session: SessionId) -> RuleFields {
    RuleFields {
        tool: "write_file".to_owned(),
        field: Some("path".to_owned()),
        matcher: RuleMatcher::Prefix,
        value: "a".to_owned(),
        cwd: None,
        executable: None,
        scope: RuleScope::Session,
        channel: None,
        session_id: Some(session),
        continuation_id: None,
        verdict: VerdictKind::Allow,
        enabled: true,
        expires_at: None,
        max_uses: None,
        note: None,
    }
}

/// Makes it.
pub(crate) fn put(fields: RuleFields) -> PutRule {
    PutRule {
        id: RuleId::generate(),
        version: 0,
        fields,
        approval_id: None,
        by: by("anna"),
    }
}

/// A call that a rule lets run, and that is denied without it.
pub(crate) fn leaning(rule: RuleId) -> NewCall {
    let mut call = call(Effect::Idempotent, NewCallOutcome::Ready);
    call.basis = Some(Basis::Rule(rule));
    call.fallback = Some(Box::new(Fallback {
        verdict: Verdict {
            decision: VerdictKind::Deny,
            rule: "without the rule".to_owned(),
            policy_version: 1,
        },
        outcome: NewCallOutcome::Refused {
            state: ToolCallState::Denied,
            content: "no".to_owned(),
        },
    }));
    call
}
