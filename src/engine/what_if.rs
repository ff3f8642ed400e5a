//! "Of the last N calls on this channel, M would have run without you": real history, evaluated again.

use crate::engine::call_shape::CallShape;
use crate::engine::core::Engine;
use crate::engine::handle::policy::check_lists;
use crate::engine::policy::{self, CallFacts, PolicyInput};
use crate::engine::rules;
use crate::protocol::enums::{Autonomy, Effect, Risk, VerdictKind};
use crate::protocol::policy::{PolicyPatch, WhatIf, WhatIfCall};
use crate::protocol::problem::Problem;

/// Evaluates the last calls of a channel as if its policy was changed.
pub async fn what_if(
    engine: &Engine,
    channel: String,
    patch: PolicyPatch,
    limit: Option<u32>,
) -> Result<WhatIf, Problem> {
    if patch.autonomy.is_none()
        && [&patch.auto_approve, &patch.block, &patch.always_ask]
            .iter()
            .all(|list| list.is_none())
    {
        let levels: Vec<&str> = Autonomy::ALL.iter().map(|level| level.as_str()).collect();
        let levels = levels.join(", ");
        return Err(Problem::invalid("there is no change to try").hint(format!(
            "give `autonomy` ({levels}), `auto_approve`, `block` or `always_ask`"
        )));
    }
    let workspace = engine.channel(&channel)?.workspace.to_string_lossy();
    let limit = limit.unwrap_or(20).clamp(1, 200);
    let name = channel.clone();
    let now = engine.clock.now();
    let (policy, past, rules) = engine
        .read(move |reader| {
            let rules = reader.rules_in_force(&name, None, None, now)?;
            Ok((
                reader.policy(&name)?,
                reader.past_calls(&name, limit)?,
                rules,
            ))
        })
        .await?;
    check_lists(engine, &patch)?;
    let policy = patch.applied(policy);
    let autonomy = policy.autonomy;
    let mut policy_input = PolicyInput {
        policy,
        also: None,
        held: false,
        grants: Vec::new(),
        rules: Vec::new(),
        now,
        continuation_id: None,
        requester_id: String::new(),
        taint_guard_in_full: engine.has_taint_guard(&channel),
        ceiling: None,
    };
    let confined = engine.sandbox.is_confined();
    let calls: Vec<WhatIfCall> = past
        .into_iter()
        // Calls that could not be carried out at all say nothing about a level.
        .filter(|call| call.risk > Risk::Low || call.verdict.decision != VerdictKind::Deny)
        .map(|call| {
            let unsandboxed = call.access == crate::protocol::enums::Access::Exec && !confined;
            let mut facts = CallFacts {
                tool: call.tool.clone(),
                access: call.access,
                effect: Effect::NonIdempotent,
                risk: call.risk,
                args_digest: String::new(),
                always_asks: unsandboxed.then(|| "no sandbox".to_owned()),
                taint: if call.tainted {
                    vec!["as recorded".to_owned()]
                } else {
                    Vec::new()
                },
            };
            let shape = CallShape {
                tool: &call.tool,
                args: &call.args,
                workspace: &workspace,
                plan: &call.plan,
            };
            policy_input.rules = rules::asked(&rules, &shape);
            facts.always_asks = rules::doubt(&rules, &shape).or(facts.always_asks);
            WhatIfCall {
                tool: call.tool,
                preview: call.preview,
                access: call.access,
                risk: call.risk,
                was: call.verdict.decision,
                would_be: policy::verdict(&facts, &policy_input),
                at: call.at,
            }
        })
        .collect();
    let runs = |call: &&WhatIfCall| call.would_be.decision == VerdictKind::Allow;
    Ok(WhatIf {
        channel,
        autonomy,
        considered: calls.len() as u32,
        would_run: calls.iter().filter(runs).count() as u32,
        newly_unattended: calls
            .iter()
            .filter(runs)
            .filter(|call| call.was != VerdictKind::Allow)
            .count() as u32,
        calls,
    })
}
