//! Escalation: who heard of a question that nobody decided, and who hears of it next. It changes nothing about who may
//! decide, or until when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::duration::span;
use crate::protocol::ids::OutboxId;

/// How a question escalates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Escalation {
    /// Name of the policy under `[escalation]`.
    pub policy: String,
    /// The steps so far, in order.
    #[serde(default)]
    pub steps: Vec<EscalationStep>,
    /// What comes next unless somebody decides; none = nothing more.
    #[serde(default)]
    pub next: Option<NextEscalationStep>,
}

/// A step that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EscalationStep {
    /// Its number in the policy, from 1.
    pub step: u32,
    /// Who hears of it: `on-call`, `person:ben`, `webhook:pager`, `ntfy:HOST`.
    pub to: String,
    /// The person that `to` stands for; none = it is about no person, or nobody was on call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// When.
    pub at: Timestamp,
    /// What became of it.
    pub outcome: StepOutcome,
    /// Why it was skipped or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When its outcome was certain; none = it is on its way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
    /// Its deliveries through channels; empty = it goes through none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<OutboxId>,
}

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// It is on its way.
    Queued,
    /// The platform or server took it.
    Sent,
    /// Nobody could be disturbed or found, so the next step followed at once.
    Skipped,
    /// It did not arrive, so the next step followed at once.
    Failed,
}

impl StepOutcome {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }

    /// Whether it reached nobody: the next step does not wait.
    pub const fn reached_nobody(self) -> bool {
        match self {
            Self::Skipped | Self::Failed => true,
            Self::Queued | Self::Sent => false,
        }
    }
}

/// The step that comes next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextEscalationStep {
    /// Its number in the policy, from 1.
    pub step: u32,
    /// Who hears of it then.
    pub to: String,
    /// The person that `to` stands for as things are; none = it is about no person, or nobody is on call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// When, unless somebody decides, assigns or snoozes the question.
    pub at: Timestamp,
}

/// Whom a step is for, as people read it: `ben`, `ben, who is on call,`, `webhook pager`, `ntfy HOST`.
pub fn in_words(to: &str, person: Option<&str>) -> String {
    match (to.split_once(':'), person) {
        (Some(("person", name)), _) => name.to_owned(),
        (Some((kind, name)), _) => format!("{kind} {name}"),
        (None, Some(person)) => format!("{person}, who is on call,"),
        (None, None) => "whoever is on call".to_owned(),
    }
}

impl EscalationStep {
    /// Who heard of it, and what became of that.
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
    /// Who hears of it, in a word or two: `ben`, `on call`, `webhook pager`.
    pub fn in_brief(&self) -> String {
        match &self.person {
            Some(person) => person.clone(),
            None if self.to == "on-call" => "on call".to_owned(),
            None => in_words(&self.to, None),
        }
    }
}

impl Escalation {
    /// What comes next: `escalates to ben in 4 minutes`; none = nothing more.
    pub fn next_in_words(&self, now: Timestamp) -> Option<String> {
        let next = self.next.as_ref()?;
        let to = in_words(&next.to, next.person.as_deref());
        Some(if next.at > now {
            format!("escalates to {to} in {}", span(next.at.millis_since(now)))
        } else {
            format!("escalates to {to} now")
        })
    }

    /// Why the newest step asks whom it asks; none = there was no step yet.
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

/// A drill: marked messages that go the way of a question which nobody decides. Nothing waits and nothing runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EscalationDrill {
    /// The channel whose steps it takes.
    pub channel: String,
    /// Label of who began it.
    pub by: String,
    /// When it began.
    pub started_at: Timestamp,
    /// Whether its steps follow each other without their delays.
    pub fast: bool,
    /// Its steps so far.
    pub escalation: Escalation,
    /// When it ended; none = it runs.
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
}

/// Milliseconds after which a drill proves nothing any more: 90 days.
const DRILL_HOLDS_MS: u64 = 90 * 24 * 3600 * 1000;

impl EscalationDrill {
    /// Which steps reached nobody; none = every step arrived. Of a drill that ended.
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

/// Begins a drill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrillRequest {
    /// Channel name.
    pub channel: String,
    /// Whether its steps follow each other without their delays.
    #[serde(default)]
    pub fast: bool,
}

/// A channel that escalates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EscalationStatus {
    /// Channel name.
    pub channel: String,
    /// Name of its policy.
    pub policy: String,
    /// The steps of the policy, in order.
    pub steps: Vec<PolicyStep>,
    /// Its last drill; none = there was none.
    #[serde(default)]
    pub drill: Option<EscalationDrill>,
}

/// A step of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyStep {
    /// Seconds that a question waited by then.
    pub after_seconds: u64,
    /// Who hears of it.
    pub to: String,
    /// The person that `to` stands for now; none = it is about no person, or nobody is on call.
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
