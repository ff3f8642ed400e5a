//! `[escalation.NAME]`: who hears of a question that nobody decides, and when.

use serde::Deserialize;

use crate::config::secret::Secret;

/// The word for whoever is on call when the step is taken.
pub const ON_CALL: &str = "on-call";

/// `[escalation.NAME]`: an escalation policy.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EscalationTable {
    /// Who hears of it, in order: `{ after = "5m", to = "on-call" }`.
    pub steps: Vec<EscalationStepTable>,
    /// How long an assigned question waits for whoever has it before its steps go on; left out: `30m`.
    pub acknowledgement_timeout: Option<String>,
    /// Address that a notification of ntfy opens.
    pub click: Option<String>,
}

/// A step of a policy.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EscalationStepTable {
    /// How long a question waited by then: `5m`. It is more than that of the step before.
    pub after: String,
    /// Who hears of it: `on-call`, `person:NAME`, `webhook:CHANNEL` or `ntfy:https://HOST/TOPIC`.
    pub to: String,
    /// Ntfy: variable that holds the access token.
    #[serde(default)]
    pub token_env: Option<String>,
    /// Ntfy: file that holds the access token, mode 0600.
    #[serde(default)]
    pub token_file: Option<String>,
}

/// An escalation policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EscalationPolicy {
    /// Its steps, in order; at least one.
    pub steps: Vec<EscalationStep>,
    /// Seconds that an assigned question waits before its steps go on.
    pub acknowledgement_seconds: i64,
    /// What a notification opens.
    pub click: Option<String>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EscalationStep {
    /// Seconds that a question waited by then.
    pub after_seconds: i64,
    /// Who hears of it.
    pub target: Target,
}

/// Who hears of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Whoever is on call then.
    OnCall,
    /// A name under `[people]`.
    Person(String),
    /// A channel of kind webhook with an address.
    Webhook(String),
    /// A topic of an ntfy server.
    Ntfy {
        /// Its address. Whoever knows it can read what is sent there.
        url: Secret,
        /// The server, as it may be shown.
        host: String,
        /// Access token.
        token: Option<Secret>,
    },
}

impl Target {
    /// As it is shown, stored and counted: without the topic of ntfy.
    pub fn name(&self) -> String {
        match self {
            Self::OnCall => ON_CALL.to_owned(),
            Self::Person(name) => format!("person:{name}"),
            Self::Webhook(channel) => format!("webhook:{channel}"),
            Self::Ntfy { host, .. } => format!("ntfy:{host}"),
        }
    }
}

impl EscalationPolicy {
    /// What nobody may read.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.steps
            .iter()
            .flat_map(|step| match &step.target {
                Target::Ntfy { url, token, .. } => [Some(url), token.as_ref()],
                Target::OnCall | Target::Person(_) | Target::Webhook(_) => [None, None],
            })
            .flatten()
    }
}
