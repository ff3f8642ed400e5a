//! Channels, their policies, and the flags of the engine.

use crate::clock::Timestamp;
use crate::protocol::policy::Policy;
use crate::protocol::words::ChannelKind;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

/// What the database knows of a channel; health is the engine's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelRow {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: ChannelKind,
    /// Policy in force.
    pub policy: Policy,
    /// Paused by an operator.
    pub paused: bool,
    /// Outbox parts not yet sent.
    pub backlog: u32,
    /// Approvals that wait.
    pub pending_approvals: u32,
    /// Sessions that are active.
    pub active_sessions: u32,
    /// Position saved with the last inbound item.
    pub cursor: Option<String>,
}

/// Flags of the engine that survive a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineFlags {
    /// Since when, by whom and why everything is held.
    pub held: Option<(Timestamp, String)>,
    /// Whether the database is a restored copy that waits for release.
    pub quarantine: bool,
}

impl Reader<'_> {
    /// Every channel, by name.
    pub fn channel_rows(&self) -> Result<Vec<ChannelRow>, StoreError> {
        Err(StoreError::Closed)
    }

    /// One channel.
    pub fn channel_row(&self, name: &str) -> Result<ChannelRow, StoreError> {
        Err(StoreError::Closed)
    }

    /// Policy in force.
    pub fn policy(&self, channel: &str) -> Result<Policy, StoreError> {
        Err(StoreError::Closed)
    }

    /// Saved position and pause.
    pub fn account(&self, channel: &str) -> Result<(Option<String>, bool), StoreError> {
        Err(StoreError::Closed)
    }

    /// Emergency stop and quarantine.
    pub fn flags(&self) -> Result<EngineFlags, StoreError> {
        Err(StoreError::Closed)
    }
}
