//! Says something as the bot in a conversation that a person has taken over.
//!
//! Whoever waited has been answered with it: their turns are completed in the same transaction, the newest with the
//! text. Where nobody waited, it is a turn of its own. So the agent finds in its history what the conversation read.

use crate::protocol::citation::Citations;
use crate::protocol::enums::{ContinuationState, Disposition};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ContinuationId, SessionId, TakeOverId};
use crate::protocol::session::{BY_HAND, StepBody, Usage};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::finish_turn::queue_reply;
use crate::store::commands::ingest_turn::{
    IngestTurn, TurnFiles, record, save_cursor, seen_before,
};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewPart, SessionChoice};
use crate::store::queries::take_overs::load_take_over;
use crate::store::rows::{preview, usage};
use crate::store::sql::{Statements, columns, params};
use crate::store::tx::sessions::NewSession;
use serde_json::json;

/// Says it. Durable; answers the turn that ended with it.
#[derive(Debug, Clone)]
pub struct SendBotMessage {
    /// A session of the conversation.
    pub session_id: SessionId,
    /// As it was taken.
    pub take_over_id: TakeOverId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// The turn that it is where nobody waited; its text says what it stands for.
    pub turn: IngestTurn,
    /// What is said.
    pub text: String,
    /// The same as it is to be sent.
    pub parts: Vec<NewPart>,
    pub by: ActorRef,
}

impl SendBotMessage {
    /// Ends a turn that waited.
    fn answer(
        &self,
        tx: &mut WriteTx<'_>,
        id: ContinuationId,
        text: &str,
    ) -> Result<(), StoreError> {
        let mut head = tx.begin_continuation(id, self.epoch)?;
        let note = if text.is_empty() {
            "Answered together with a later message, by hand."
        } else {
            "Written by hand in place of the agent."
        };
        tx.note(&head, &self.by.label, note.to_owned())?;
        tx.push_step(
            &head,
            &StepBody::Final {
                text: text.to_owned(),
                stop: BY_HAND.to_owned(),
                citations: Citations::default(),
            },
        )?;
        tx.move_continuation(&mut head, ContinuationState::Completed, None)?;
        tx.drop_progress(id)?;
        let used: Usage = tx.conn.row(
            "SELECT input_tokens, output_tokens, cached_tokens, cache_write_tokens, cost_usd FROM continuations
             WHERE id = ?1",
            [id],
            usage,
        )?;
        tx.emit_turn(
            &head,
            EventBody::ContinuationCompleted {
                preview: preview(text),
                usage: used,
            },
        )
    }

    /// Turns that wait to be taken up, oldest first, and whether each can be ended as it is: one that broke off
    /// between a call and its result cannot.
    fn waiting(
        tx: &WriteTx<'_>,
        session: SessionId,
    ) -> Result<Vec<(ContinuationId, bool)>, StoreError> {
        tx.conn.rows(
            "SELECT c.id, NOT EXISTS (SELECT 1 FROM tool_calls t
                    WHERE t.continuation_id = c.id AND t.result_step IS NULL)
                AND NOT EXISTS (SELECT 1 FROM approvals a
                    WHERE a.continuation_id = c.id AND +a.state = 'pending' AND a.kind <> 'resend') AS answerable
             FROM continuations c
             WHERE c.session_id = ?1 AND c.ended_at IS NULL AND c.state = 'pending' ORDER BY c.position",
            [session],
            columns!(id, answerable),
        )
    }
}

impl WriteCommand for SendBotMessage {
    type Output = ContinuationId;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<ContinuationId, StoreError> {
        tx.same_epoch(self.epoch)?;
        let origin = &self.turn.origin;
        if let Some(before) = seen_before(tx, origin)? {
            save_cursor(tx, origin)?;
            return before
                .continuation_id
                .ok_or_else(|| StoreError::rejected("this key was used for something else"));
        }
        let place = tx.place_of(self.session_id)?;
        let held = load_take_over(tx.conn, &place.channel, &place.conversation)?;
        match held {
            Some(held) if held.id == self.take_over_id && held.by_id == self.by.id => {}
            Some(held) => {
                return Err(StoreError::rejected(format!(
                    "{} took this conversation over in another console at {}: take it over again to write here",
                    held.by, held.at
                )));
            }
            None => {
                return Err(StoreError::rejected(
                    "this conversation is the agent's: take it over to write in its place",
                ));
            }
        }
        let session = match tx.active_session(&place.channel, &place.conversation)? {
            Some(active) => active,
            None => tx.open_session(&NewSession {
                channel: &place.channel,
                conversation: &place.conversation,
                title: None,
                model: None,
                temporary: false,
            })?,
        };
        let mut waiting = Vec::new();
        for (id, whole) in Self::waiting(tx, session)? {
            if whole {
                waiting.push(id);
            } else {
                let mut head = tx.head(id)?;
                tx.cancel_continuation(&mut head, &self.by, Some("answered by hand"), &[])?;
            }
        }
        // A key is of what was asked for here, so it is kept with a turn of its own.
        let own = waiting.is_empty() || origin.key.is_some();
        if own {
            let turn = IngestTurn {
                files: TurnFiles::default(),
                session: SessionChoice::Id(session),
                ..self.turn.clone()
            };
            let id = turn.insert(tx, session)?;
            record(tx, origin, Disposition::Turn, None, Some(id))?;
            tx.emit(
                Some(session),
                Some(id),
                EventBody::MessageReceived {
                    channel: place.channel.clone(),
                    conversation: place.conversation.clone(),
                    sender: self.by.label.clone(),
                    sender_id: Some(origin.requester.id.clone()),
                    preview: preview(&turn.text),
                },
            )?;
            waiting.push(id);
        }
        let answered = waiting.len() - usize::from(own);
        let Some(last) = waiting.pop() else {
            return Err(StoreError::bug("there is no turn to end"));
        };
        for id in waiting {
            self.answer(tx, id, "")?;
        }
        self.answer(tx, last, &self.text)?;
        queue_reply(tx, last, &self.parts)?;
        tx.conn.run(
            "UPDATE sessions SET last_line = ?2, last_sender = ?3, updated_at = ?4 WHERE id = ?1",
            params![session, preview(&self.text), self.by.label, tx.now],
        )?;
        if let Some(part) = self.parts.first() {
            tx.emit(
                Some(session),
                Some(last),
                EventBody::ReplyQueued {
                    parts: u32::try_from(self.parts.len()).unwrap_or(u32::MAX),
                    channel: part.channel.clone(),
                },
            )?;
        }
        tx.audit(
            "session.spoken",
            &self.by,
            Some(&place.channel),
            last,
            &json!({
                "conversation": place.conversation,
                "characters": self.text.chars().count(),
                "answered": answered,
            }),
        )?;
        crate::crash_point!("say.pre_commit");
        Ok(last)
    }

    fn committed(&self) {
        crate::crash_point!("say.post");
    }
}
