//! Escalation policies of channels, and their drills.

use std::collections::BTreeMap;

use crate::config::error::nearest;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::escalation::reach::person_of;
use crate::protocol::escalation::{
    DrillRequest, Escalation, EscalationDrill, EscalationStatus, PolicyStep,
};
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::Page;
use crate::store::commands::put_drill::BeginDrill;

/// The channels that escalate, with the steps of their policies and their last drills.
pub async fn list(engine: &Engine) -> Result<Page<EscalationStatus>, Problem> {
    let now = engine.clock.now();
    let (on_call, drills) = engine
        .read_here(|reader| Ok((reader.on_call()?, reader.escalation_drills()?)))
        .await?;
    let on_call = on_call.filter(|one| one.until.is_none_or(|until| until > now));
    let on_call = on_call.as_ref().map(|one| one.name.as_str());
    let mut drills: BTreeMap<String, EscalationDrill> = drills
        .into_iter()
        .map(|drill| (drill.channel.clone(), drill))
        .collect();
    let settings = &engine.settings;
    let mut rows = Vec::new();
    for (channel, home) in &settings.channels {
        let Some(name) = &home.escalation else {
            continue;
        };
        let policy = settings.escalation.get(name);
        let steps = policy.iter().flat_map(|policy| &policy.steps);
        let steps = steps.map(|step| PolicyStep {
            after_seconds: u64::try_from(step.after_seconds).unwrap_or(0),
            to: step.target.name(),
            person: person_of(&step.target, on_call).map(str::to_owned),
        });
        rows.push(EscalationStatus {
            channel: channel.clone(),
            policy: name.clone(),
            steps: steps.collect(),
            drill: drills.remove(channel),
        });
    }
    Ok(Page::from(rows))
}

/// Begins a drill.
pub async fn drill(
    engine: &Engine,
    caller: &Caller,
    request: DrillRequest,
) -> Result<EscalationDrill, Problem> {
    let settings = &engine.settings;
    let escalate = settings
        .channels
        .iter()
        .filter(|(_, channel)| channel.escalation.is_some());
    let names: Vec<&str> = escalate.map(|(name, _)| name.as_str()).collect();
    let channel = settings.channels.get(&request.channel);
    let Some(policy) = channel.and_then(|channel| channel.escalation.clone()) else {
        let shown: String = request.channel.chars().take(64).collect();
        let near = nearest(&shown, names.iter().copied())
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        return Err(Problem::invalid(format!(
            "channel `{shown}` has no escalation policy: expected one of {}",
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        ))
        .hint(format!(
            "{near}set `escalation` under [channels.NAME] to a name under [escalation]"
        )));
    };
    if engine.emergency.is_quarantined() || engine.is_held() {
        return Err(
            Problem::invalid("an emergency stop or a quarantine blocks all sends")
                .hint("release it first"),
        );
    }
    let drill = EscalationDrill {
        channel: request.channel,
        by: caller.actor.label(),
        started_at: engine.clock.now(),
        fast: request.fast,
        escalation: Escalation {
            policy,
            ..Escalation::default()
        },
        ended_at: None,
    };
    let begin = BeginDrill {
        drill: drill.clone(),
        by: caller.reference(),
    };
    let running = engine.write(begin).await?;
    engine.scheduler.deadlines_changed();
    // Whoever asks again follows the one that runs.
    Ok(running.unwrap_or(drill))
}
