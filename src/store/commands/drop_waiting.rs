//! Settles what waited while the engine was held.

use crate::protocol::command::Waiting;
use crate::protocol::enums::OutboxClass;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::uncertain::ConversationChoice;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::sql::{Statements, columns};
use serde_json::json;
use std::collections::{HashMap, HashSet};

/// Cancels the pending and interrupted continuations that a person does not want any more. Durable; answers which.
/// The audit names every choice.
#[derive(Debug, Clone)]
pub struct DropWaiting {
    /// What happens to what waited.
    pub waiting: Waiting,
    /// Where something else happens; each session at most once.
    pub conversations: Vec<ConversationChoice>,
    pub by: ActorRef,
    /// Sent to each conversation concerned.
    pub notice: String,
}

impl DropWaiting {
    fn choices(&self, tx: &WriteTx<'_>) -> Result<HashMap<SessionId, Waiting>, StoreError> {
        let mut choices = HashMap::new();
        for choice in &self.conversations {
            let known: bool = tx.conn.value(
                "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)",
                [choice.session_id],
            )?;
            if !known {
                return Err(StoreError::not_found("session", choice.session_id));
            }
            choices.insert(choice.session_id, choice.waiting);
        }
        Ok(choices)
    }
}

impl WriteCommand for DropWaiting {
    type Output = Vec<ContinuationId>;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Vec<ContinuationId>, StoreError> {
        let choices = self.choices(tx)?;
        let waiting = tx.conn.rows(
            "SELECT id, session_id FROM continuations WHERE ended_at IS NULL AND state IN ('pending', 'interrupted')
             ORDER BY +position DESC",
            [],
            columns!(id, session_id),
        )?;
        let found = waiting.len();
        let mut kept: HashSet<SessionId> = HashSet::new();
        let mut told: HashSet<(String, String)> = HashSet::new();
        let mut dropped = Vec::new();
        for (id, session) in waiting {
            let goes_on = match choices.get(&session).copied().unwrap_or(self.waiting) {
                Waiting::All => true,
                Waiting::Newest => kept.insert(session),
                Waiting::Drop => false,
            };
            if goes_on {
                continue;
            }
            let mut head = tx.head(id)?;
            let mut notices = Vec::new();
            if told.insert((head.channel.clone(), head.conversation.clone())) {
                notices.push(head.notice(OutboxClass::Notice, &self.notice));
            }
            tx.cancel_continuation(
                &mut head,
                &self.by,
                Some("dropped when the emergency stop was released"),
                &notices,
            )?;
            dropped.push(id);
        }
        let detail = json!({
            "waiting": self.waiting, "conversations": self.conversations, "waited": found, "dropped": dropped,
        });
        tx.audit("waiting.settled", &self.by, None, "engine", &detail)?;
        Ok(dropped)
    }
}
