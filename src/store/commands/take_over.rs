//! Holds the agent of a conversation for a person who writes in its place, and gives it back.

use crate::protocol::ids::{ContinuationId, SessionId, TakeOverId};
use crate::protocol::take_over::TakeOver;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::take_overs::load_take_over;
use crate::store::sql::{Statements, columns, params};
use serde_json::json;

/// Which conversation a session is of.
pub(crate) struct SessionConversation {
    pub(crate) channel: String,
    pub(crate) conversation: String,
    pub(crate) temporary: bool,
}

impl WriteTx<'_> {
    /// Which conversation a session is of.
    pub(crate) fn place_of(&self, session: SessionId) -> Result<SessionConversation, StoreError> {
        self.conn
            .row_opt(
                "SELECT channel, conversation, temporary FROM sessions WHERE id = ?1",
                [session],
                |row| Ok(columns!(row => SessionConversation { channel, conversation, temporary })),
            )?
            .ok_or_else(|| StoreError::not_found("session", session))
    }

    /// Tells readers how the active session of a conversation is now.
    fn tell_session(
        &mut self,
        place: &SessionConversation,
    ) -> Result<Option<SessionId>, StoreError> {
        let active = self.active_session(&place.channel, &place.conversation)?;
        if let Some(id) = active {
            self.session_updated(id)?;
        }
        Ok(active)
    }
}

/// Refuses somebody who does not hold a conversation.
fn held_by_another(held: &TakeOver, what: &str) -> StoreError {
    StoreError::rejected(format!(
        "{} has taken this conversation over since {}: {what}",
        held.by, held.at
    ))
}

/// Takes a conversation over. Durable; answers the turn that runs in it, which is to let go. Whoever held it before
/// cannot write into it any more.
#[derive(Debug, Clone)]
pub struct Take {
    /// A session of the conversation.
    pub session_id: SessionId,
    /// What it is called from now on.
    pub id: TakeOverId,
    /// Even from somebody else.
    pub force: bool,
    pub by: ActorRef,
}

impl WriteCommand for Take {
    type Output = Option<ContinuationId>;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Option<ContinuationId>, StoreError> {
        let place = tx.place_of(self.session_id)?;
        if place.temporary {
            return Err(StoreError::rejected(format!(
                "session {} ends with its turn: there is no conversation to take over",
                self.session_id
            )));
        }
        tx.active(self.session_id)?;
        let before = load_take_over(tx.conn, &place.channel, &place.conversation)?;
        if let Some(held) = &before
            && held.by_id != self.by.id
            && !self.force
        {
            return Err(held_by_another(held, "ask them, or take it from them"));
        }
        tx.conn.run(
            "INSERT INTO take_overs (channel, conversation, id, by_label, by_id, surface, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (channel, conversation) DO UPDATE SET id = excluded.id, by_label = excluded.by_label,
                by_id = excluded.by_id, surface = excluded.surface,
                at = CASE WHEN by_id = excluded.by_id THEN at ELSE excluded.at END",
            params![
                place.channel,
                place.conversation,
                self.id,
                self.by.label,
                self.by.id,
                self.by.surface,
                tx.now
            ],
        )?;
        tx.audit(
            "session.taken_over",
            &self.by,
            Some(&place.channel),
            self.session_id,
            &json!({ "conversation": place.conversation, "from": before.map(|held| held.by) }),
        )?;
        tx.tell_session(&place)?;
        tx.conn.value_opt::<ContinuationId>(
            "SELECT id FROM continuations WHERE session_id = ?1 AND ended_at IS NULL AND state = 'running'",
            [self.session_id],
        )
    }

    fn committed(&self) {
        crate::crash_point!("take_over.post");
    }
}

/// Gives a conversation back to its agent. Durable; answers its active session, which has work where somebody wrote
/// since the last word.
#[derive(Debug, Clone)]
pub struct GiveBack {
    /// A session of the conversation.
    pub session_id: SessionId,
    /// Even somebody else's.
    pub force: bool,
    pub by: ActorRef,
}

impl WriteCommand for GiveBack {
    type Output = Option<SessionId>;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Option<SessionId>, StoreError> {
        let place = tx.place_of(self.session_id)?;
        let Some(held) = load_take_over(tx.conn, &place.channel, &place.conversation)? else {
            return Err(StoreError::rejected(
                "nobody has taken this conversation over".to_owned(),
            ));
        };
        if held.by_id != self.by.id && !self.force {
            return Err(held_by_another(&held, "ask them, or give it back for them"));
        }
        tx.conn.run(
            "DELETE FROM take_overs WHERE channel = ?1 AND conversation = ?2",
            params![place.channel, place.conversation],
        )?;
        tx.audit(
            "session.given_back",
            &self.by,
            Some(&place.channel),
            self.session_id,
            &json!({
                "conversation": place.conversation,
                "held_by": held.by,
                "seconds": tx.now.millis_since(held.at) / 1000,
            }),
        )?;
        tx.tell_session(&place)
    }
}
