//! What `doctor` says about who hears of a question: whether a drill proved lately that the steps of an escalation reach
//! people, which of them reach nobody as things are now, and which channels ask nobody in a chat and escalate to nobody.

use crate::clock::Timestamp;
use crate::config::escalation::EscalationPolicy;
use crate::config::settings::Settings;
use crate::engine::approvals::{self, Origin};
use crate::engine::core::Engine;
use crate::engine::escalation::reach::{Reach, StepMoment, reach};
use crate::protocol::doctor::Finding;
use crate::protocol::enums::{Risk, Role};
use crate::protocol::escalation::EscalationDrill;

/// One finding for each channel that escalates and has steps that reach nobody now. Quiet hours end by themselves and
/// are not counted.
pub fn unreached(engine: &Engine, on_call: Option<&str>, now: Timestamp) -> Vec<Finding> {
    let settings = &engine.settings;
    let channels = settings.channels.iter();
    let escalate = channels.filter_map(|(channel, known)| {
        let policy = settings.escalation.get(known.escalation.as_ref()?)?;
        Some((channel, policy))
    });
    escalate
        .filter_map(|(channel, policy)| {
            let missed = missed(engine, channel, policy, on_call, now);
            let all = missed.len() == policy.steps.len();
            let which = if all { "no step" } else { "not every step" };
            (!missed.is_empty()).then(|| {
                Finding::warn(
                    format!("escalation {channel}"),
                    format!("{which} reaches somebody now: {}", missed.join("; ")),
                    "give the people it names an id of a channel with a bot, and set who is on call: \
                     `leverframe on-call NAME`",
                )
            })
        })
        .collect()
}

/// Channels without an escalation whose questions go to nobody in a chat, although people are named who may decide.
/// Only the console shows such a question before it expires.
pub fn unasked(engine: &Engine) -> Option<Finding> {
    let settings = &engine.settings;
    let mut people = settings.people.values();
    if !people.any(|person| person.role >= Role::Approver) {
        // Whoever names nobody decides at the console, and means to.
        return None;
    }
    let channels = settings.channels.iter();
    let silent = channels.filter(|(channel, known)| {
        known.escalation.is_none()
            && approvals::asked_recipients(engine, from_nobody(channel), Risk::Low).is_empty()
    });
    let names: Vec<&str> = silent.map(|(channel, _)| channel.as_str()).collect();
    let detail = || {
        format!(
            "only the console shows a question of {} before it expires after {} minutes: no person is asked in a chat, and \
             nothing escalates",
            names.join(", "),
            approvals::life_seconds(settings, Risk::Low) / 60
        )
    };
    let fix = "give the people in `approval_to` an id of a channel with a bot, or set `escalation` of the channel";
    (!names.is_empty()).then(|| Finding::warn("approvals", detail(), fix))
}

/// A request that belongs to no person.
fn from_nobody(channel: &str) -> Origin<'_> {
    Origin {
        channel,
        requester: "doctor",
    }
}

/// The steps that reach nobody, and why.
fn missed(
    engine: &Engine,
    channel: &str,
    policy: &EscalationPolicy,
    on_call: Option<&str>,
    now: Timestamp,
) -> Vec<String> {
    let moment = StepMoment {
        origin: from_nobody(channel),
        risk: Risk::Low,
        on_call,
        // The last one waits for nobody's sleep.
        is_last: true,
        now,
    };
    let steps = (1..).zip(&policy.steps);
    steps
        .filter_map(
            |(number, step)| match reach(engine, &step.target, &moment) {
                Reach::Nobody(why) => {
                    Some(format!("step {number} ({}): {why}", step.target.name()))
                }
                Reach::Chats(_) | Reach::Topic => None,
            },
        )
        .collect()
}

/// One finding for each channel that escalates.
pub fn look(settings: &Settings, drills: &[EscalationDrill], now: Timestamp) -> Vec<Finding> {
    let channels = settings.channels.iter();
    let escalate =
        channels.filter_map(|(name, channel)| Some((name, channel.escalation.as_ref()?)));
    escalate
        .map(|(channel, policy)| {
            let drill = drills.iter().find(|drill| drill.channel == *channel);
            let again = format!("`leverframe escalation drill {channel} --fast` tries all steps");
            let about = format!("escalation {channel}");
            let Some(drill) = drill else {
                return Finding::warn(
                    about,
                    format!("policy {policy}: it was never drilled"),
                    again,
                );
            };
            let of = drill.started_at;
            if drill.ended_at.is_none() {
                Finding::ok(about, format!("policy {policy}: a drill runs since {of}"))
            } else if let Some(why) = drill.problem() {
                let detail = format!("the drill of {of} did not reach everybody: {why}");
                let fix = format!("correct what it names; {again}");
                Finding::fail(about, format!("policy {policy}: {detail}"), fix)
            } else if drill.is_old(now) {
                let detail = format!("the last drill is of {of}, more than 90 days ago");
                Finding::warn(about, format!("policy {policy}: {detail}"), again)
            } else {
                let detail = format!("every step arrived in the drill of {of}");
                Finding::ok(about, format!("policy {policy}: {detail}"))
            }
        })
        .collect()
}
