//! Cancels what waited while the engine was held.

use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::words::OutboxClass;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::input::NewNotice;
use std::collections::HashSet;

/// Cancels pending and interrupted continuations. Durable; answers which.
#[derive(Debug, Clone)]
pub struct DropWaiting {
    /// Keep the newest of each session.
    pub keep_newest: bool,
    /// Who.
    pub by: ActorRef,
    /// Sent to each conversation concerned.
    pub notice: String,
}

impl WriteCommand for DropWaiting {
    type Output = Vec<ContinuationId>;
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Vec<ContinuationId>, StoreError> {
        let waiting = tx
            .conn
            .prepare_cached(
                "SELECT id, session_id FROM continuations WHERE ended_at IS NULL AND state IN ('pending', 'interrupted')
                 ORDER BY +position DESC",
            )?
            .query_map([], |row| {
                Ok((
                    ContinuationId::from_bytes(row.get(0)?),
                    SessionId::from_bytes(row.get(1)?),
                ))
            })?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let mut kept: HashSet<SessionId> = HashSet::new();
        let mut told: HashSet<(String, String)> = HashSet::new();
        let mut dropped = Vec::new();
        for (id, session) in waiting {
            if self.keep_newest && kept.insert(session) {
                continue;
            }
            let mut head = tx.head(id)?;
            let mut notices = Vec::new();
            if told.insert((head.channel.clone(), head.conversation.clone())) {
                notices.push(NewNotice {
                    channel: head.channel.clone(),
                    conversation: head.conversation.clone(),
                    class: OutboxClass::Notice,
                    text: self.notice.clone(),
                    reply_to: head.message_ref.clone(),
                    continuation_id: Some(id),
                });
            }
            tx.cancel_continuation(
                &mut head,
                &self.by,
                Some("dropped when the emergency stop was released"),
                &notices,
            )?;
            dropped.push(id);
        }
        Ok(dropped)
    }
}
