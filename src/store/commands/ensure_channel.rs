//! Makes a configured channel known and reconciles its baseline policy.

use serde::{Deserialize, Serialize};

use crate::protocol::words::{Autonomy, ChannelKind};

/// A channel of the configuration. Durable.
///
/// The first time it gets policy version 1 from the baseline. Later the stored policy wins, except: what
/// became stricter than the recorded baseline applies at once; what became looser waits as one
/// `policy_raise` approval.
#[derive(Debug, Clone)]
pub struct EnsureChannel {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: ChannelKind,
    /// Policy of the configuration.
    pub baseline: Baseline,
}

/// The policy the configuration gives a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// Level.
    pub autonomy: Autonomy,
    /// Tools that run without asking.
    pub auto_approve: Vec<String>,
    /// Tools that never run.
    pub block: Vec<String>,
    /// Tools that always ask.
    pub always_ask: Vec<String>,
}
