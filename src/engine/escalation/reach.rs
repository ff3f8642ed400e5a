//! Whom a step of an escalation reaches at a moment. Nothing here sends or stores anything.

use crate::clock::Timestamp;
use crate::config::escalation::Target;
use crate::engine::approvals::{self, Origin, Recipient};
use crate::engine::core::Engine;
use crate::engine::escalation::outcome::number;
use crate::protocol::enums::Risk;
use crate::protocol::escalation::{EscalationStep, StepOutcome};

/// The conversation of a webhook channel that gets steps.
pub const CONVERSATION: &str = "escalation";

/// Who hears of it.
#[derive(Debug)]
pub enum Reach {
    /// These conversations.
    Chats(Vec<Recipient>),
    /// A topic of ntfy.
    Topic,
    /// Nobody, and why.
    Nobody(String),
}

/// A step at a moment.
#[derive(Debug)]
pub struct StepMoment<'a> {
    /// Where the question came from.
    pub origin: Origin<'a>,
    pub risk: Risk,
    pub on_call: Option<&'a str>,
    /// Whether no other step follows.
    pub is_last: bool,
    /// When.
    pub now: Timestamp,
}

/// The person that a target stands for at this moment.
pub fn person_of<'a>(target: &'a Target, on_call: Option<&'a str>) -> Option<&'a str> {
    match target {
        Target::OnCall => on_call,
        Target::Person(name) => Some(name),
        Target::Webhook(_) | Target::Ntfy { .. } => None,
    }
}

/// Whom the step reaches.
pub fn reach(engine: &Engine, target: &Target, moment: &StepMoment<'_>) -> Reach {
    match target {
        Target::OnCall => match moment.on_call {
            Some(name) => person(engine, name, moment),
            None => Reach::Nobody("nobody is on call".to_owned()),
        },
        Target::Person(name) => person(engine, name, moment),
        Target::Webhook(channel) if engine.has_bridge(channel) => Reach::Chats(vec![Recipient {
            person: String::new(),
            channel: channel.clone(),
            conversation: CONVERSATION.to_owned(),
            // Another system is told; whoever reads it there decides in a chat or the console.
            decides: false,
        }]),
        Target::Webhook(channel) => Reach::Nobody(format!("there is no webhook channel {channel}")),
        Target::Ntfy { .. } => Reach::Topic,
    }
}

/// The step of this index as it is taken now, and who hears of it.
pub fn take(
    engine: &Engine,
    target: &Target,
    index: usize,
    moment: &StepMoment<'_>,
) -> (EscalationStep, Vec<Recipient>) {
    let (outcome, detail, recipients) = match reach(engine, target, moment) {
        Reach::Chats(recipients) => (StepOutcome::Queued, None, recipients),
        Reach::Topic => (StepOutcome::Queued, None, Vec::new()),
        Reach::Nobody(why) => (StepOutcome::Skipped, Some(why), Vec::new()),
    };
    let step = EscalationStep {
        step: number(index),
        to: target.name(),
        person: person_of(target, moment.on_call).map(str::to_owned),
        at: moment.now,
        outcome,
        detail,
        settled_at: (outcome != StepOutcome::Queued).then_some(moment.now),
        deliveries: Vec::new(),
    };
    (step, recipients)
}

fn person(engine: &Engine, name: &str, moment: &StepMoment<'_>) -> Reach {
    let settings = &engine.settings;
    let Some(known) = settings.people.get(name) else {
        return Reach::Nobody(format!("{name} is not under [people], so no chat is known"));
    };
    // The last step, and what is critical, wait for nobody's sleep.
    if !moment.is_last
        && moment.risk < Risk::Critical
        && let Some(hours) = &known.quiet_hours
        && let Some(end) = hours.end(moment.now)
    {
        return Reach::Nobody(format!("{name} has quiet hours until {}", hours.clock(end)));
    }
    let recipients = approvals::recipients(engine, moment.origin, moment.risk, |one| one == name);
    if recipients.is_empty() {
        return Reach::Nobody(format!(
            "{name} cannot decide it in a chat: no id on a channel with a bot, no right to decide here, or the question \
             is {name}'s own"
        ));
    }
    Reach::Chats(recipients)
}
