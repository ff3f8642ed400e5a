//! Escalation: who heard of an undecided approval, and who hears of it next. Escalation never
//! changes who may decide, or until when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::duration::span;
use crate::protocol::ids::OutboxId;

/// Escalation of an approval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Escalation {
    /// Name of the policy under `[escalation]`.
    pub policy: String,
    /// Steps taken so far, in order.
    #[serde(default)]
    pub steps: Vec<EscalationStep>,
    /// The next step unless somebody decides; none = there are no further steps.
    #[serde(default)]
    pub next: Option<NextEscalationStep>,
}

/// A step of the escalation that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EscalationStep {
    /// Step number in the policy, from 1.
    pub step: u32,
    /// Who is notified: `on-call`, `person:ben`, `webhook:pager`, `ntfy:HOST`.
    pub to: String,
    /// The person behind `to`; none = `to` names no person, or nobody was on call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// When the step was taken.
    pub at: Timestamp,
    /// Outcome of the step.
    pub outcome: StepOutcome,
    /// Why the step was skipped or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When the outcome was certain; none = the step is still in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
    /// Its deliveries through channels; empty = it uses no channel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<OutboxId>,
}

/// Outcome of an escalation step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The notification is on its way.
    Queued,
    /// The platform or server accepted the notification.
    Sent,
    /// There was nobody to notify, or they may not be disturbed. The next step followed at once.
    Skipped,
    /// The notification did not arrive. The next step followed at once.
    Failed,
}

impl StepOutcome {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }

    /// Whether the step reached nobody. The next step then does not wait.
    pub const fn reached_nobody(self) -> bool {
        match self {
            Self::Skipped | Self::Failed => true,
            Self::Queued | Self::Sent => false,
        }
    }
}

/// The next step of an escalation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextEscalationStep {
    /// Step number in the policy, from 1.
    pub step: u32,
    /// Who will be notified.
    pub to: String,
    /// The person behind `to` at the moment; none = `to` names no person, or nobody is on call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// When the step follows, unless somebody decides, assigns or snoozes the approval.
    pub at: Timestamp,
}

/// The target of a step in words: `ben`, `ben, who is on call,`, `webhook pager`, `ntfy HOST`.
pub fn in_words(to: &str, person: Option<&str>) -> String {
    match (to.split_once(':'), person) {
        (Some(("person", name)), _) => name.to_owned(),
        (Some((kind, name)), _) => format!("{kind} {name}"),
        (None, Some(person)) => format!("{person}, who is on call,"),
        (None, None) => "the person on call".to_owned(),
    }
}

impl EscalationStep {
    /// Who was notified and the outcome, in words.
    pub fn in_words(&self) -> String {
        let to = match &self.person {
            Some(person) => person.clone(),
            None => in_words(&self.to, None),
        };
        let detail = self.detail.as_ref();
        let detail = detail.map_or_else(String::new, |detail| format!(": {detail}"));
        format!(
            "step {}, {to}: {}{detail}",
            self.step,
            self.outcome.as_str()
        )
    }
}

impl NextEscalationStep {
    /// The target in a word or two: `ben`, `on call`, `webhook pager`.
    pub fn in_brief(&self) -> String {
        match &self.person {
            Some(person) => person.clone(),
            None if self.to == "on-call" => "on call".to_owned(),
            None => in_words(&self.to, None),
        }
    }
}

impl Escalation {
    /// The next step in words: `escalates to ben in 4 minutes`; none = there are no further steps.
    pub fn next_in_words(&self, now: Timestamp) -> Option<String> {
        let next = self.next.as_ref()?;
        let to = in_words(&next.to, next.person.as_deref());
        Some(if next.at > now {
            format!("escalates to {to} in {}", span(next.at.millis_since(now)))
        } else {
            format!("escalates to {to} now")
        })
    }

    /// Why the newest step notified its target; none = there was no step yet.
    pub fn why_in_words(&self, asked_at: Timestamp) -> Option<String> {
        let step = self
            .steps
            .iter()
            .rfind(|step| !step.outcome.reached_nobody())?;
        let to = in_words(&step.to, step.person.as_deref());
        let to = to.trim_end_matches(',');
        let waited = span(step.at.millis_since(asked_at));
        Some(format!(
            "Escalated to {to}: nobody decided for {waited} (step {} of {})",
            step.step, self.policy
        ))
    }
}

/// A drill: marked test messages take all steps of an escalation. Nothing waits and nothing runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EscalationDrill {
    /// Channel whose escalation policy is tested.
    pub channel: String,
    /// Label of who started it.
    pub by: String,
    /// When it started.
    pub started_at: Timestamp,
    /// Whether its steps follow each other without their delays.
    pub fast: bool,
    /// Its steps so far.
    pub escalation: Escalation,
    /// When it ended; none = it is still running.
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
}

/// Age after which a drill proves nothing, in milliseconds: 90 days.
const DRILL_HOLDS_MS: u64 = 90 * 24 * 3600 * 1000;

impl EscalationDrill {
    /// Which steps of a finished drill reached nobody; none = every step arrived.
    pub fn problem(&self) -> Option<String> {
        let steps = &self.escalation.steps;
        if steps.is_empty() {
            return Some("it took no step: its policy is gone".to_owned());
        }
        let missed: Vec<String> = steps
            .iter()
            .filter(|step| step.outcome != StepOutcome::Sent)
            .map(EscalationStep::in_words)
            .collect();
        (!missed.is_empty()).then(|| missed.join("; "))
    }

    /// Whether it is too old to prove anything.
    pub fn is_old(&self, now: Timestamp) -> bool {
        now.millis_since(self.started_at) > DRILL_HOLDS_MS
    }
}

/// A request to start a drill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrillRequest {
    /// Channel name.
    pub channel: String,
    /// Whether its steps follow each other without their delays.
    #[serde(default)]
    pub fast: bool,
}

/// A channel with an escalation policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EscalationStatus {
    /// Channel name.
    pub channel: String,
    /// Name of its policy.
    pub policy: String,
    /// The steps of the policy, in order.
    pub steps: Vec<PolicyStep>,
    /// Its last drill; none = there was no drill.
    #[serde(default)]
    pub drill: Option<EscalationDrill>,
}

/// A step of an escalation policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyStep {
    /// How many seconds an approval waits before this step.
    pub after_seconds: u64,
    /// Who is notified: `on-call`, `person:ben`, `webhook:pager`, `ntfy:HOST`.
    pub to: String,
    /// The person behind `to` at the moment; none = `to` names no person, or nobody is on call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
}

impl PolicyStep {
    /// `5 minutes: ben, who is on call`.
    pub fn in_words(&self) -> String {
        let to = in_words(&self.to, self.person.as_deref());
        let after = span(self.after_seconds.saturating_mul(1000));
        format!("{after}: {}", to.trim_end_matches(','))
    }
}
