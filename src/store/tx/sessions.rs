//! Sessions: finding, opening, ending.

use crate::protocol::enums::{ApprovalState, ContinuationState, SessionState, ToolCallState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::session::{ErrorBody, Session};
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewNotice};
use crate::store::queries::sessions::load_session;
use crate::store::sql::{Statements, params};
use crate::store::tx::continuations::ContinuationRow;

/// A session to open.
#[derive(Debug)]
pub(crate) struct NewSession<'a> {
    pub(crate) channel: &'a str,
    pub(crate) conversation: &'a str,
    pub(crate) title: Option<&'a str>,
    pub(crate) model: Option<&'a str>,
    pub(crate) temporary: bool,
}

impl WriteTx<'_> {
    /// The active session of a conversation.
    pub(crate) fn active_session(
        &self,
        channel: &str,
        conversation: &str,
    ) -> Result<Option<SessionId>, StoreError> {
        self.conn.value_opt::<SessionId>(
            "SELECT id FROM sessions WHERE channel = ?1 AND conversation = ?2 AND state = 'active' AND temporary = 0",
            [channel, conversation],
        )
    }

    /// Opens a session and announces it.
    pub(crate) fn open_session(&mut self, new: &NewSession<'_>) -> Result<SessionId, StoreError> {
        let id = SessionId::generate();
        self.conn.run(
            "INSERT INTO sessions (id, channel, conversation, title, state, temporary, model, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, 'active', ?5, ?6, ?7, ?7)",
            params![
                id,
                new.channel,
                new.conversation,
                new.title,
                new.temporary,
                new.model,
                self.now
            ],
        )?;
        let session = Box::new(load_session(self.conn, id)?);
        self.emit(Some(id), None, EventBody::SessionStarted { session })?;
        Ok(id)
    }

    /// Announces a session as it is now.
    pub(crate) fn session_updated(&mut self, id: SessionId) -> Result<Session, StoreError> {
        let session = load_session(self.conn, id)?;
        let body = EventBody::SessionUpdated {
            session: Box::new(session.clone()),
        };
        self.emit(Some(id), None, body)?;
        Ok(session)
    }

    /// State of a session.
    pub(crate) fn session_state(&self, id: SessionId) -> Result<SessionState, StoreError> {
        self.conn
            .value_opt("SELECT state FROM sessions WHERE id = ?1", [id])?
            .ok_or_else(|| StoreError::not_found("session", id))
    }

    /// Refuses a session that is not active.
    pub(crate) fn active(&self, id: SessionId) -> Result<(), StoreError> {
        match self.session_state(id)? {
            SessionState::Active => Ok(()),
            state @ (SessionState::Ended | SessionState::Expired) => Err(StoreError::rejected(
                format!("session {id} is {state}: resume it, or start a new one"),
            )),
        }
    }

    /// Ends an active session and announces it.
    pub(crate) fn mark_ended(&mut self, id: SessionId, reason: &str) -> Result<(), StoreError> {
        self.close_session(id, SessionState::Ended, reason)
    }

    /// Gives an active session its last state and announces it. What was allowed in it ends too.
    pub(crate) fn close_session(
        &mut self,
        id: SessionId,
        state: SessionState,
        reason: &str,
    ) -> Result<(), StoreError> {
        self.conn.run(
            "UPDATE sessions SET state = ?3, updated_at = ?2 WHERE id = ?1 AND state = 'active'",
            params![id, self.now, state],
        )?;
        self.conn
            .run("DELETE FROM session_grants WHERE session_id = ?1", [id])?;
        self.end_rules_of(id)?;
        self.emit(
            Some(id),
            None,
            EventBody::SessionEnded {
                reason: reason.to_owned(),
            },
        )
    }

    /// A temporary session ends with its turn, or with the last one that somebody sent into it meanwhile.
    pub(crate) fn end_if_temporary(&mut self, head: &ContinuationRow) -> Result<(), StoreError> {
        if head.temporary
            && self.session_state(head.session_id)? == SessionState::Active
            && self.open_of_session(head.session_id)?.is_empty()
        {
            self.mark_ended(head.session_id, "the turn ended")?;
        }
        Ok(())
    }

    /// Cancels a continuation: gates revoked, calls that never started cancelled, announced, audited.
    pub(crate) fn cancel_continuation(
        &mut self,
        head: &mut ContinuationRow,
        by: &ActorRef,
        reason: Option<&str>,
        notices: &[NewNotice],
    ) -> Result<(), StoreError> {
        // Refuse before anything is closed.
        if head.state.is_terminal() {
            return Err(StoreError::conflict(format!(
                "continuation {} cannot go from {} to {}",
                head.id,
                head.state,
                ContinuationState::Cancelled
            )));
        }
        self.close_open(head, ApprovalState::Revoked, ToolCallState::Cancelled)?;
        let message = match reason {
            Some(reason) => format!("cancelled by {}: {reason}", by.label),
            None => format!("cancelled by {}", by.label),
        };
        self.move_continuation(
            head,
            ContinuationState::Cancelled,
            Some(&ErrorBody {
                code: "cancelled".to_owned(),
                message,
            }),
        )?;
        self.emit_turn(
            head,
            EventBody::ContinuationCancelled {
                by: by.label.clone(),
                reason: reason.map(str::to_owned),
            },
        )?;
        self.audit(
            "continuation.cancelled",
            by,
            Some(&head.channel),
            head.id,
            &serde_json::json!({ "reason": reason }),
        )?;
        self.queue_notices(notices)?;
        self.end_if_temporary(head)
    }

    /// Continuations of a session that have not ended, oldest first.
    pub(crate) fn open_of_session(&self, id: SessionId) -> Result<Vec<ContinuationId>, StoreError> {
        self.conn.values::<ContinuationId>(
            "SELECT id FROM continuations WHERE session_id = ?1 AND ended_at IS NULL ORDER BY position",
            [id],
        )
    }
}
