//! Takes in a file that a turn waits for, or notes that it cannot be had.

use crate::protocol::artifact::ArtifactRef;
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::ingest_turn::{add_line, attach, load_attachments};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewNotice};
use crate::store::sql::{Json, Statements, columns, params};

/// What became of a file.
#[derive(Debug, Clone)]
pub enum ReceivedFile {
    /// It is stored, and something else is to be done with it before the turn starts.
    Stored(ArtifactRef),
    /// It is stored and ready.
    Ready {
        /// Its content.
        artifact: ArtifactRef,
        /// What the model is told of it beside its path.
        note: Option<String>,
        /// What the sender is told.
        notice: Option<NewNotice>,
    },
    /// The turn goes on without it.
    Missing {
        /// Why, as the model is told.
        why: String,
        /// What the sender is told.
        notice: Option<NewNotice>,
    },
}

/// Records what became of a file of a message. Answers the session whose turn waits for nothing any more. A file that
/// nothing waits for any more changes nothing. Durable: a bridge does not fetch the file again.
#[derive(Debug, Clone)]
pub struct ReceiveFile {
    /// The file.
    pub id: i64,
    /// What became of it.
    pub file: ReceivedFile,
}

/// How the line of a message begins that names a missing file.
const MISSING: &str = "[a file is missing:";

impl WriteCommand for ReceiveFile {
    type Output = Option<SessionId>;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Option<SessionId>, StoreError> {
        let found = tx.conn.row_opt(
            "SELECT f.continuation_id, f.name, c.session_id, c.text, c.ended_at IS NOT NULL AS ended
             FROM inbound_files f JOIN continuations c ON c.id = f.continuation_id WHERE f.id = ?1",
            [self.id],
            columns!(continuation_id: ContinuationId, name: String, session_id: SessionId, text: String, ended: bool),
        )?;
        let Some((id, name, session, mut text, ended)) = found else {
            return Ok(None);
        };
        if ended {
            return Ok(None);
        }
        let mut attachments = load_attachments(tx.conn, id)?;
        match &self.file {
            ReceivedFile::Stored(artifact) => {
                tx.refer_to_artifact(id, None, artifact)?;
                tx.conn.run(
                    "UPDATE inbound_files SET artifact = ?2 WHERE id = ?1",
                    params![self.id, Json(artifact)],
                )?;
                return Ok(None);
            }
            ReceivedFile::Ready {
                artifact,
                note,
                notice,
            } => {
                tx.refer_to_artifact(id, None, artifact)?;
                attach(id, &name, artifact, &mut attachments, &mut text);
                if let Some(note) = note {
                    add_line(&mut text, note);
                }
                if let Some(notice) = notice {
                    tx.queue_notice(notice)?;
                }
            }
            ReceivedFile::Missing { why, notice } => {
                add_line(&mut text, &format!("{MISSING} {name} ({why})]"));
                if let Some(notice) = notice {
                    tx.queue_notice(notice)?;
                }
            }
        }
        tx.conn.run(
            "UPDATE continuations SET text = ?2, attachments = ?3, updated_at = ?4 WHERE id = ?1",
            params![
                id,
                text,
                (!attachments.is_empty()).then_some(Json(&attachments)),
                tx.now
            ],
        )?;
        tx.conn
            .run("DELETE FROM inbound_files WHERE id = ?1", [self.id])?;
        if tx.awaits_files(id)? {
            tx.tell_awaited_files(session, id)?;
            return Ok(None);
        }
        if attachments.is_empty() && text.lines().all(|line| line.starts_with(MISSING)) {
            // Nothing is left of the message, and its sender was told.
            let mut head = tx.head(id)?;
            tx.cancel_continuation(
                &mut head,
                &ActorRef::engine(),
                Some("its files are missing"),
                &[],
            )?;
        }
        Ok(Some(session))
    }

    fn committed(&self) {
        crate::crash_point!("receive_file.post");
    }
}

impl WriteTx<'_> {
    /// Whether a turn waits for files.
    pub(crate) fn awaits_files(&self, id: ContinuationId) -> Result<bool, StoreError> {
        Ok(self.awaited_files(id)? > 0)
    }

    fn awaited_files(&self, id: ContinuationId) -> Result<u32, StoreError> {
        self.conn.row(
            "SELECT count(*) AS waits FROM inbound_files WHERE continuation_id = ?1",
            [id],
            |row| row.get("waits"),
        )
    }

    /// Tells how many files a turn waits for, where it waits for any.
    pub(crate) fn tell_awaited_files(
        &mut self,
        session: SessionId,
        id: ContinuationId,
    ) -> Result<(), StoreError> {
        let files = self.awaited_files(id)?;
        if files > 0 {
            let body = EventBody::ContinuationWaitingForFiles { files };
            self.emit(Some(session), Some(id), body)?;
        }
        Ok(())
    }
}
