//! Changing a channel's policy at run time.

use crate::clock::Timestamp;
use crate::config::settings::ChannelSettings;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::people;
use crate::engine::views::channel_view;
use crate::protocol::channel::Channel;
use crate::protocol::enums::{Autonomy, Scope};
use crate::protocol::mcp::{covers_servers, server_of};
use crate::protocol::policy::{Policy, PolicyPatch};
use crate::protocol::problem::Problem;
use crate::store::commands::set_policy::SetPolicy;
use crate::store::error::StoreError;

/// Seconds that `full` holds when nothing else is said.
const FULL_SECONDS: u64 = 3600;
/// Longest temporary level: a day.
const MAX_SECONDS: u64 = 24 * 3600;

/// Whether a patch lets anything run that the policy would have asked about or refused. `expires_at` is when its level
/// ends; none = it lasts.
pub fn raises(policy: &Policy, patch: &PolicyPatch, expires_at: Option<Timestamp>) -> bool {
    let adds = |old: &[String], new: &Option<Vec<String>>| {
        new.as_ref()
            .is_some_and(|new| new.iter().any(|entry| !old.contains(entry)))
    };
    let removes = |old: &[String], new: &Option<Vec<String>>| {
        new.as_ref()
            .is_some_and(|new| old.iter().any(|entry| !new.contains(entry)))
    };
    // A level that ends by itself is no permission to make it last.
    let lasting = policy.reverts_to.unwrap_or(policy.autonomy);
    // A lower level that ends earlier gives the higher one back earlier.
    let is_earlier = expires_at
        .zip(policy.expires_at)
        .is_some_and(|(new, old)| new < old);
    let returns = lasting > policy.autonomy && is_earlier;
    patch
        .autonomy
        .is_some_and(|autonomy| returns || autonomy > lasting.min(policy.autonomy))
        || adds(&policy.auto_approve, &patch.auto_approve)
        || removes(&policy.block, &patch.block)
        || removes(&policy.always_ask, &patch.always_ask)
}

/// Carries out a change.
pub async fn set(
    engine: &Engine,
    caller: &Caller,
    channel: String,
    patch: PolicyPatch,
) -> Result<Channel, Problem> {
    let settings = engine.channel(&channel)?;
    let name = channel.clone();
    let policy = engine.read(move |reader| reader.policy(&name)).await?;
    let expires_at =
        expiry(settings, &patch)?.map(|seconds| engine.clock.now().plus_seconds(seconds as i64));
    let may_raise = people::has_scope(&caller.actor, Scope::Admin);
    if raises(&policy, &patch, expires_at) && !may_raise {
        return Err(Problem::forbidden(
            "not allowed to raise",
            format!(
                "{} may lower the policy of `{channel}`; raising it needs the scope `admin`",
                caller.actor.label()
            ),
        ));
    }
    check_lists(engine, &patch)?;
    // What was judged is this version. Another one, which somebody made meanwhile, must not get the change.
    if patch
        .if_version
        .is_some_and(|version| version != policy.version)
    {
        let current = policy.version;
        return Err(StoreError::VersionConflict { current }.into());
    }
    let judged = (!may_raise).then_some(policy.version);
    engine
        .write(SetPolicy {
            channel: channel.clone(),
            autonomy: patch.autonomy,
            expires_at,
            auto_approve: patch.auto_approve,
            block: patch.block,
            always_ask: patch.always_ask,
            if_version: patch.if_version.or(judged),
            by: caller.reference(),
        })
        .await?;
    engine.scheduler.deadlines_changed();
    channel_view(engine, &channel).await
}

fn expiry(settings: &ChannelSettings, patch: &PolicyPatch) -> Result<Option<u64>, Problem> {
    match (patch.autonomy, patch.expires_in_seconds) {
        (None, Some(_)) => Err(Problem::invalid("`expires_in_seconds` needs `autonomy`")),
        (_, Some(seconds)) if !(1..=MAX_SECONDS).contains(&seconds) => Err(Problem::invalid(
            format!("`expires_in_seconds` must be 1 to {MAX_SECONDS}"),
        )),
        (_, Some(seconds)) => Ok(Some(seconds)),
        (Some(Autonomy::Full), None) if !settings.permanent_full => Ok(Some(FULL_SECONDS)),
        (Some(Autonomy::Full | Autonomy::SemiAuto | Autonomy::Supervised) | None, None) => Ok(None),
    }
}

/// Refuses entries of lists that name no tool.
pub fn check_lists(engine: &Engine, patch: &PolicyPatch) -> Result<(), Problem> {
    let tools = engine.tools();
    let names: Vec<&str> = tools.names().collect();
    for (field, list) in [
        ("auto_approve", &patch.auto_approve),
        ("block", &patch.block),
        ("always_ask", &patch.always_ask),
    ] {
        for entry in list.iter().flatten() {
            if field == "auto_approve" && covers_servers(entry) {
                let problem =
                    format!("`{field}`: `{entry}` would approve the tools of every server");
                return Err(Problem::invalid(problem).hint("name a server: `mcp__SERVER__*`"));
            }
            // It may not have been connected yet.
            let of_server = server_of(entry);
            if of_server.is_some_and(|server| engine.settings.mcp.contains_key(server)) {
                continue;
            }
            let known = match entry.strip_suffix('*') {
                Some(prefix) => names.iter().any(|name| name.starts_with(prefix)),
                None => names.contains(&entry.as_str()),
            };
            if !known {
                let shown: String = entry.chars().take(64).collect();
                return Err(
                    Problem::invalid(format!("`{field}`: there is no tool `{shown}`"))
                        .hint(format!("tools: {}; or a prefix and `*`", names.join(", "))),
                );
            }
        }
    }
    Ok(())
}
