//! Rules that can never be used: they allow what the policies they reach ask about all the same.

use std::collections::BTreeMap;

use crate::engine::core::Engine;
use crate::engine::policy::always_asked;
use crate::protocol::enums::VerdictKind;
use crate::protocol::policy::Policy;
use crate::protocol::problem::Problem;
use crate::protocol::rule::Rule;
use crate::store::commands::put_rule::RuleFields;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

/// The policies by channel.
type Policies = BTreeMap<String, Policy>;

/// Why a rule that allows these tools, on this channel or everywhere, is never used; none = it can be.
fn never_used(policies: &Policies, tool: &str, channel: Option<&str>) -> Option<String> {
    let always_asks = |policy: &Policy| always_asked(policy, tool).is_some();
    match channel {
        Some(name) => policies
            .get(name)
            .filter(|policy| always_asks(policy))
            .map(|_| format!("{tool} is on always_ask of channel {name}")),
        None => (!policies.is_empty() && policies.values().all(always_asks))
            .then(|| format!("{tool} is on always_ask of every channel")),
    }
}

fn policies(reader: &Reader<'_>, channels: &[String]) -> Result<Policies, StoreError> {
    channels
        .iter()
        .map(|name| Ok((name.clone(), reader.policy(name)?)))
        .collect()
}

fn channels(engine: &Engine) -> Vec<String> {
    engine.settings.channels.keys().cloned().collect()
}

/// Refuses a rule that could never be used.
pub async fn check(engine: &Engine, fields: &RuleFields) -> Result<(), Problem> {
    if fields.verdict != VerdictKind::Allow {
        return Ok(());
    }
    let channels = channels(engine);
    let (tool, channel, session) = (
        fields.tool.clone(),
        fields.channel.clone(),
        fields.session_id,
    );
    let why = engine
        .read(move |reader| {
            let channel = match session {
                Some(session) => Some(reader.session(session)?.channel),
                None => channel,
            };
            let policies = policies(reader, &channels)?;
            Ok(never_used(&policies, &tool, channel.as_deref()))
        })
        .await?;
    let Some(why) = why else {
        return Ok(());
    };
    Err(Problem::not_offered(
        "it would never be used",
        format!("no rule lets it run without a person: {why}"),
    )
    .hint(
        "approve each call once, or take the tool off `always_ask` first; a rule may still deny it",
    ))
}

/// Says of each rule whether it is never used.
pub async fn tell(engine: &Engine, mut rules: Vec<Rule>) -> Result<Vec<Rule>, Problem> {
    let channels = channels(engine);
    engine
        .read(move |reader| {
            let policies = policies(reader, &channels)?;
            for rule in &mut rules {
                if rule.verdict != VerdictKind::Allow {
                    continue;
                }
                let of_session = match rule.session_id {
                    Some(session) => match reader.session(session) {
                        Ok(session) => Some(session.channel),
                        // It ended, and its rules end with it.
                        Err(StoreError::NotFound { .. }) => continue,
                        Err(error) => return Err(error),
                    },
                    None => None,
                };
                let channel = of_session.as_ref().or(rule.channel.as_ref());
                rule.never_used = never_used(&policies, &rule.tool, channel.map(String::as_str));
            }
            Ok(rules)
        })
        .await
}
