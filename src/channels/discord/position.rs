//! The position of the account in its events: the channel's cursor.
//!
//! It belongs to the account on the platform, not to the channel: a cursor of another account counts for nothing. It
//! names the messages of the last minute. So nothing is read again because the store forgot it: retention and the
//! erasure of a user remove keys in the store, never these.

use serde::{Deserialize, Serialize};

use crate::channels::discord::session::Session;

/// Direct conversations that are remembered: Discord does not list those of a bot.
pub const MAX_DIRECT: usize = 64;
/// Messages of different conversations do not come in the order of their ids; this much, in milliseconds, they may
/// differ.
pub const OVERLAP_MS: u64 = 60_000;
/// Messages that are remembered from that time.
pub const MAX_RECENT: usize = 64;
/// Bits of an id below its time (Discord, "Snowflakes").
pub const TIME_SHIFT: u32 = 22;

/// A position. Everything up to it is durable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Whose.
    account: u64,
    /// The session that what comes belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
    /// The newest message seen.
    #[serde(default)]
    newest: u64,
    /// The last messages seen, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    recent: Vec<u64>,
    /// A session was lost: messages after this one may not have come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    behind: Option<u64>,
    /// The last messages seen before that, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen_before: Vec<u64>,
    /// Direct conversations, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    direct: Vec<u64>,
}

impl Position {
    /// Where this account goes on.
    pub fn stored(cursor: Option<&str>, account: u64) -> Self {
        cursor
            .and_then(|cursor| serde_json::from_str::<Self>(cursor).ok())
            .filter(|position| position.account == account)
            .unwrap_or(Self {
                account,
                ..Self::default()
            })
    }

    /// As it is stored.
    pub fn cursor(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// A new session began: what came between the last one and this one is still to be asked for.
    pub fn begin(&mut self, session: Session) {
        if self.behind.is_none() && self.newest > 0 {
            self.behind = Some(self.newest);
            self.seen_before = std::mem::take(&mut self.recent);
        }
        self.session = Some(session);
    }

    /// An event of the session.
    pub fn count(&mut self, seq: Option<u64>) {
        if let (Some(session), Some(seq)) = (&mut self.session, seq) {
            session.seq = session.seq.max(seq);
        }
    }

    /// A message of a conversation.
    pub fn saw(&mut self, message: u64, conversation: u64, is_direct: bool) {
        self.newest = self.newest.max(message);
        if let Err(place) = self.recent.binary_search(&message) {
            self.recent.insert(place, message);
        }
        let first = self.newest.saturating_sub(OVERLAP_MS << TIME_SHIFT);
        self.recent.retain(|recent| *recent >= first);
        let surplus = self.recent.len().saturating_sub(MAX_RECENT);
        self.recent.drain(..surplus);
        if is_direct && self.direct.last() != Some(&conversation) {
            self.direct.retain(|other| *other != conversation);
            self.direct.push(conversation);
            if self.direct.len() > MAX_DIRECT {
                self.direct.remove(0);
            }
        }
    }

    /// The message after which some may be missing, somewhat early; none when none are.
    pub fn missing_after(&self) -> Option<u64> {
        let behind = self.behind?;
        match self.seen_before.as_slice() {
            [] => Some(behind),
            [oldest, ..] if self.seen_before.len() == MAX_RECENT => Some(*oldest),
            [..] => Some(behind.saturating_sub(OVERLAP_MS << TIME_SHIFT)),
        }
    }

    /// Whether a message is one of the last that were seen.
    pub fn remembers(&self, message: u64) -> bool {
        self.seen_before.binary_search(&message).is_ok()
            || self.recent.binary_search(&message).is_ok()
    }

    /// Nothing is missing any more.
    pub fn caught_up(&mut self) {
        self.behind = None;
        self.seen_before.clear();
    }

    /// Direct conversations that are remembered.
    pub fn direct(&self) -> &[u64] {
        &self.direct
    }
}
