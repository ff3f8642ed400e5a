//! How far a rule reaches: one turn, one session, one channel, or everywhere. A rule keeps no place that its reach does not
//! need.

use crate::engine::core::Engine;
use crate::protocol::enums::RuleScope;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::problem::Problem;
use crate::protocol::rule::Rule;

/// What a rule is about beside calls: the channel, session or turn that a request names.
pub struct RuleTarget {
    pub channel: Option<String>,
    pub session_id: Option<SessionId>,
    pub continuation_id: Option<ContinuationId>,
}

/// How far a rule reaches, and where: only what that reach needs is kept.
pub fn reach(
    engine: &Engine,
    before: Option<&Rule>,
    scope: Option<RuleScope>,
    named: RuleTarget,
) -> Result<(RuleScope, RuleTarget), Problem> {
    let scope = match (scope, &named) {
        (Some(scope), _) => scope,
        (None, place) if place.continuation_id.is_some() => RuleScope::Turn,
        (None, place) if place.session_id.is_some() => RuleScope::Session,
        (None, place) if place.channel.is_some() => RuleScope::Channel,
        (None, _) => before.map_or(RuleScope::Global, |rule| rule.scope),
    };
    let before_channel = before.and_then(|rule| rule.channel.clone());
    let channel = named.channel.or(before_channel);
    let session = named
        .session_id
        .or_else(|| before.and_then(|rule| rule.session_id));
    let turn = named
        .continuation_id
        .or_else(|| before.and_then(|rule| rule.continuation_id));
    let nowhere = RuleTarget {
        channel: None,
        session_id: None,
        continuation_id: None,
    };
    let missing = |field: &str| {
        Problem::invalid(format!(
            "`{field}` is missing: a rule of scope `{scope}` names one"
        ))
    };
    let place = match scope {
        RuleScope::Global => nowhere,
        RuleScope::Channel => {
            let channel = channel.ok_or_else(|| missing("channel"))?;
            engine.channel(&channel)?;
            RuleTarget {
                channel: Some(channel),
                ..nowhere
            }
        }
        RuleScope::Session => RuleTarget {
            session_id: Some(session.ok_or_else(|| missing("session_id"))?),
            ..nowhere
        },
        RuleScope::Turn => RuleTarget {
            // That of the turn, which the store knows.
            session_id: None,
            continuation_id: Some(turn.ok_or_else(|| missing("continuation_id"))?),
            ..nowhere
        },
    };
    Ok((scope, place))
}
