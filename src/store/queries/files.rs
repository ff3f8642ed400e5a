//! Files of messages that turns wait for, and files that go with answers.

use crate::protocol::artifact::{ArtifactRef, Attachment, SentFile};
use crate::protocol::ids::ContinuationId;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Row, Statements, columns, params};

/// A file that a turn waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundFileRow {
    /// Its number.
    pub id: i64,
    pub continuation_id: ContinuationId,
    pub channel: String,
    pub conversation: String,
    /// What the bridge fetches it by.
    pub reference: String,
    /// Its name: one component of a path.
    pub name: String,
    pub media_type: String,
    /// Its content, once it is fetched.
    pub artifact: Option<ArtifactRef>,
    /// The message, by the platform's id.
    pub message_ref: Option<String>,
    /// Who sent the message: stable platform id and display name.
    pub sender: (String, String),
    /// Files that the turn has already, and their bytes.
    pub received: (usize, u64),
}

const FILE: &str = "SELECT f.id, f.continuation_id, f.channel, s.conversation, f.reference, f.name, f.media_type,
        f.artifact, c.message_ref, c.attachments, c.requester_id, c.requester_display
     FROM inbound_files f JOIN continuations c ON c.id = f.continuation_id JOIN sessions s ON s.id = c.session_id
     WHERE c.ended_at IS NULL";

fn file(row: &Row<'_>) -> Result<InboundFileRow, StoreError> {
    let attachments: Vec<Attachment> = row.json_opt("attachments")?.unwrap_or_default();
    Ok(columns!(row => InboundFileRow {
        id, continuation_id, channel, conversation, reference, name, media_type, message_ref;
        artifact: row.json_opt("artifact")?,
        sender: (row.get("requester_id")?, row.get("requester_display")?),
        received: (
            attachments.len(),
            attachments.iter().map(|file| file.artifact.size).sum(),
        ),
    }))
}

/// The files that go with the answer of a turn, also those that a call kept before an error.
pub(crate) fn load_outbound_files(
    conn: &Connection,
    id: ContinuationId,
) -> Result<Vec<SentFile>, StoreError> {
    conn.rows(
        "SELECT f.file FROM outbound_files f JOIN tool_calls t ON t.id = f.tool_call_id
         WHERE f.continuation_id = ?1 AND t.state IN ('succeeded', 'failed') ORDER BY t.position, f.rowid",
        [id],
        |row| row.json("file"),
    )
}

impl Reader<'_> {
    /// The oldest file of a channel that is still at the platform.
    pub fn next_inbound_file(&self, channel: &str) -> Result<Option<InboundFileRow>, StoreError> {
        self.conn.row_opt(
            &format!("{FILE} AND f.channel = ?1 AND f.artifact IS NULL ORDER BY f.id LIMIT 1"),
            [channel],
            file,
        )
    }

    /// The oldest file that is stored, of a turn that waits for its transcript.
    pub fn next_untranscribed_file(&self) -> Result<Option<InboundFileRow>, StoreError> {
        self.conn.row_opt(
            &format!("{FILE} AND f.artifact IS NOT NULL ORDER BY f.id LIMIT 1"),
            [],
            file,
        )
    }

    /// Whether a turn was removed, or never was.
    pub fn is_gone(&self, id: ContinuationId) -> Result<bool, StoreError> {
        self.conn.row(
            "SELECT NOT EXISTS (SELECT 1 FROM continuations WHERE id = ?1) AS gone",
            [id],
            |row| row.get("gone"),
        )
    }

    /// Whether the turn of a message of this group waits in a conversation.
    pub fn group_waits(
        &self,
        channel: &str,
        conversation: &str,
        group: &str,
    ) -> Result<bool, StoreError> {
        self.conn.row(
            "SELECT EXISTS (SELECT 1 FROM continuations c JOIN sessions s ON s.id = c.session_id
                WHERE s.channel = ?1 AND s.conversation = ?2 AND s.state = 'active'
                    AND c.ended_at IS NULL AND c.state = 'pending' AND c.message_group = ?3) AS waits",
            params![channel, conversation, group],
            |row| row.get("waits"),
        )
    }

    /// The files that go with the answer of a turn, in the order of their calls. A call that failed sends none.
    pub fn outbound_files(&self, id: ContinuationId) -> Result<Vec<SentFile>, StoreError> {
        load_outbound_files(self.conn, id)
    }

    /// One of them.
    pub fn inbound_file(&self, id: i64) -> Result<Option<InboundFileRow>, StoreError> {
        self.conn
            .row_opt(&format!("{FILE} AND f.id = ?1"), params![id], file)
    }
}
