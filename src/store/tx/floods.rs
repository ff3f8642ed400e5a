//! Pausing a conversation in which too much happens. People let it go on.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::protocol::budget::FloodLimits;
use crate::protocol::enums::{FloodKind, OutboxClass};
use crate::protocol::ids::SessionId;
use crate::protocol::session::Flood;
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewNotice};
use crate::store::sql::{Statements, columns, params};
use serde_json::json;

/// The time in which turns are counted, in seconds.
const WINDOW_SECONDS: i64 = 10 * 60;

impl WriteTx<'_> {
    /// Pauses a session whose conversation is flooded, and tells the chat. Whether it did.
    pub(crate) fn pause_if_flooded(
        &mut self,
        id: SessionId,
        floods: &BTreeMap<String, FloodLimits>,
    ) -> Result<bool, StoreError> {
        let (channel, conversation, paused): (String, String, bool) = self.conn.row(
            "SELECT channel, conversation, paused FROM sessions WHERE id = ?1",
            [id],
            columns!(channel, conversation, paused),
        )?;
        let limits = floods.get(&channel).copied().unwrap_or_default();
        if paused || limits == FloodLimits::default() {
            return Ok(false);
        }
        let unpaused: Option<Timestamp> = self.conn.value(
            "SELECT max(unpaused_at) FROM sessions
             WHERE channel = ?1 AND conversation = ?2 AND unpaused_at IS NOT NULL",
            params![channel, conversation],
        )?;
        let since = unpaused.unwrap_or_default();
        let flood = if limits.denials > 0
            && self.denials(&channel, &conversation, since, limits.denials)? >= limits.denials
        {
            Some((FloodKind::Denials, limits.denials))
        } else if limits.turns > 0
            && self.turns(id, &channel, &conversation, since, limits.turns)? >= limits.turns
        {
            Some((FloodKind::Turns, limits.turns))
        } else {
            None
        };
        let Some((of, count)) = flood else {
            return Ok(false);
        };
        let at = self.now;
        self.pause_flooded(id, Flood { of, count, at })?;
        Ok(true)
    }

    fn pause_flooded(&mut self, id: SessionId, flood: Flood) -> Result<(), StoreError> {
        self.conn.run(
            "UPDATE sessions SET paused = 1, flood = ?2, flood_count = ?3, flood_at = ?4, updated_at = ?4
             WHERE id = ?1",
            params![id, flood.of, flood.count, flood.at],
        )?;
        let session = self.session_updated(id)?;
        self.audit(
            "session.paused",
            &ActorRef::engine(),
            Some(&session.channel),
            id,
            &json!({ "of": flood.of, "count": flood.count }),
        )?;
        self.queue_notice(&NewNotice {
            channel: session.channel,
            conversation: session.conversation,
            class: OutboxClass::Notice,
            text: format!(
                "This conversation is paused: {}. Messages wait until an operator lets it go on.",
                flood.text()
            ),
            reply_to: None,
            continuation_id: None,
        })
        .map(drop)
    }

    /// How many of the newest decisions about calls are denials in a row, at most `most`.
    fn denials(
        &self,
        channel: &str,
        conversation: &str,
        since: Timestamp,
        most: u32,
    ) -> Result<u32, StoreError> {
        let denied: Vec<bool> = self.conn.values(
            "SELECT state = 'denied' AND decision IN ('deny', 'deny_and_stop') FROM approvals
             WHERE channel = ?1 AND conversation = ?2 AND kind IN ('execute', 'memory') AND decided_at IS NOT NULL
                AND decided_at > ?3
             ORDER BY decided_at DESC LIMIT ?4",
            params![channel, conversation, since, most],
        )?;
        let row = denied.into_iter().take_while(|denied| *denied).count();
        Ok(u32::try_from(row).unwrap_or(u32::MAX))
    }

    /// How many turns of a conversation began within the window, at most `most` of each session.
    fn turns(
        &self,
        id: SessionId,
        channel: &str,
        conversation: &str,
        since: Timestamp,
        most: u32,
    ) -> Result<u32, StoreError> {
        let since = since.max(self.now.plus_seconds(-WINDOW_SECONDS));
        let sessions: Vec<SessionId> = self.conn.values(
            "SELECT id FROM sessions WHERE id = ?1
             UNION SELECT id FROM sessions WHERE channel = ?2 AND updated_at > ?4 AND conversation = ?3",
            params![id, channel, conversation, since],
        )?;
        let mut turns = 0_u32;
        for session in sessions {
            // The newest ones only: a session can have thousands.
            let begun: u32 = self.conn.value(
                "SELECT count(*) FROM (SELECT created_at FROM continuations
                    WHERE session_id = ?1 AND (ended_at IS NOT NULL OR state <> 'pending')
                    ORDER BY position DESC LIMIT ?2) WHERE created_at > ?3",
                params![session, most, since],
            )?;
            turns = turns.saturating_add(begun);
        }
        Ok(turns)
    }
}
