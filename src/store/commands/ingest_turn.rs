//! Takes in a message that queues a turn: inbox row, session, continuation and channel cursor in one transaction.

use crate::protocol::approval::{Requester, Speaker};
use crate::protocol::artifact::{ArtifactRef, Attachment};
use crate::protocol::bridge::InboundFile;
use crate::protocol::budget::TurnLimits;
use crate::protocol::enums::{ContinuationState, Disposition};
use crate::protocol::event::EventBody;
use crate::protocol::hex::hex;
use crate::protocol::ids::{ContinuationId, InboxId, SessionId};
use crate::protocol::options::TurnOptions;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::taint_session::TaintSession;
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewNotice, Origin, SessionChoice, TurnBounds, TurnCache};
use crate::store::meta;
use crate::store::rows::preview;
use crate::store::sql::{Connection, Json, Statements, columns, params};
use crate::store::tx::sessions::NewSession;
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// A user message. Durable: acknowledge the platform only after this.
#[derive(Debug, Clone)]
pub struct IngestTurn {
    /// Where it came from.
    pub origin: Origin,
    /// Which session it belongs to.
    pub session: SessionChoice,
    /// The text: outside text.
    pub text: String,
    /// What its sender is here, in a word; see [`Speaker::role`].
    pub role: String,
    /// When it came, as models are told; see [`Speaker::at`].
    pub said_at: String,
    /// Model of this turn only.
    pub model: Option<String>,
    /// Budgets.
    pub limits: TurnLimits,
    /// How many continuations may wait in the session.
    pub max_queue: u32,
    /// The engine is held: queue without limit, drop nothing.
    pub unlimited_queue: bool,
    /// The terminal continuation it repeats.
    pub retry_of: Option<ContinuationId>,
    /// Queued as a notice when the queue is full.
    pub queue_full_notice: Option<NewNotice>,
    /// Title of a session that starts here.
    pub title: Option<String>,
    /// What the response cache may do for it.
    pub cache: TurnCache,
    /// What it asks for beside its text.
    pub options: TurnOptions,
    pub bounds: TurnBounds,
    /// Files that come with it.
    pub files: TurnFiles,
}

/// The files of a message. A name is one component of a path.
#[derive(Debug, Clone, Default)]
pub struct TurnFiles {
    /// Those that are stored, by their names.
    pub stored: Vec<(String, ArtifactRef)>,
    /// Those that are stored and are to be transcribed. The turn waits for that.
    pub untranscribed: Vec<(String, ArtifactRef)>,
    /// What the model is told of them beside their paths.
    pub notes: Vec<String>,
    /// Those that are still at the platform. The turn waits for them.
    pub remote: Vec<InboundFile>,
    /// What this message has in common with others that their sender sent as one. Where the turn of an earlier one
    /// waits, the files join it.
    pub group: Option<String>,
}

/// What became of an inbound item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestOutcome {
    /// Its row.
    pub inbox_id: InboxId,
    /// What became of it.
    pub disposition: Disposition,
    pub session_id: Option<SessionId>,
    /// The turn it queued.
    pub continuation_id: Option<ContinuationId>,
    /// State of that turn now.
    pub state: Option<ContinuationState>,
    /// Whether it had been taken in before; then nothing changed.
    pub repeated: bool,
}

impl IngestOutcome {
    /// Of an item that was taken in now, and queued no turn.
    pub(crate) fn new(inbox_id: InboxId, disposition: Disposition) -> Self {
        Self {
            inbox_id,
            disposition,
            session_id: None,
            continuation_id: None,
            state: None,
            repeated: false,
        }
    }

    fn of_turn(inbox_id: InboxId, session: SessionId, id: ContinuationId) -> Self {
        Self {
            session_id: Some(session),
            continuation_id: Some(id),
            state: Some(ContinuationState::Pending),
            ..Self::new(inbox_id, Disposition::Turn)
        }
    }
}

/// The inbox row with the origin's key, when it was taken in before.
pub(crate) fn seen_before(
    tx: &WriteTx<'_>,
    origin: &Origin,
) -> Result<Option<IngestOutcome>, StoreError> {
    crate::mutant!("dedupe_key" => return Ok(None));
    let Some(key) = &origin.key else {
        return Ok(None);
    };
    let found = tx.conn.row_opt(
        "SELECT i.id, i.body_digest, i.disposition, i.continuation_id, c.session_id, c.state
         FROM inbox i LEFT JOIN continuations c ON c.id = i.continuation_id
         WHERE i.channel = ?1 AND i.principal = ?2 AND i.key = ?3",
        params![origin.channel, origin.principal, key],
        |row| {
            let digest: [u8; 32] = row.get("body_digest")?;
            let outcome = columns!(row => IngestOutcome {
                inbox_id = "id", disposition, continuation_id, session_id, state;
                repeated: true,
            });
            Ok((digest, outcome))
        },
    )?;
    match found {
        Some((digest, _)) if digest != origin.body_digest => Err(StoreError::KeyConflict),
        Some((_, outcome)) => Ok(Some(outcome)),
        None => Ok(None),
    }
}

/// Saves the position after this item. A repeated item moves it too: it was stored the first time.
pub(crate) fn save_cursor(tx: &WriteTx<'_>, origin: &Origin) -> Result<(), StoreError> {
    if let Some(cursor) = &origin.cursor {
        let changed = tx.conn.run(
            "UPDATE channel_accounts SET cursor = ?2, updated_at = ?3 WHERE name = ?1",
            params![origin.channel, cursor, tx.now],
        )?;
        if changed == 0 {
            return Err(StoreError::not_found("channel", &origin.channel));
        }
    }
    Ok(())
}

/// Writes the inbox row.
pub(crate) fn record(
    tx: &WriteTx<'_>,
    origin: &Origin,
    disposition: Disposition,
    detail: Option<&str>,
    continuation: Option<ContinuationId>,
) -> Result<InboxId, StoreError> {
    let id = InboxId::generate();
    let key = origin.key.as_ref();
    let key = key.filter(|_| !crate::mutant!("dedupe_key"));
    tx.conn.run(
        "INSERT INTO inbox (id, channel, principal, key, body_digest, disposition, detail, continuation_id, received_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            id,
            origin.channel,
            origin.principal,
            key,
            origin.body_digest,
            disposition,
            detail,
            continuation,
            tx.now
        ],
    )?;
    Ok(id)
}

impl IngestTurn {
    fn session(&self, tx: &mut WriteTx<'_>) -> Result<SessionId, StoreError> {
        let temporary = match self.session {
            SessionChoice::Id(id) => {
                tx.active(id)?;
                return Ok(id);
            }
            SessionChoice::Conversation => {
                if let Some(id) =
                    tx.active_session(&self.origin.channel, &self.origin.conversation)?
                {
                    return Ok(id);
                }
                false
            }
            SessionChoice::Temporary => true,
        };
        tx.open_session(&NewSession {
            channel: &self.origin.channel,
            conversation: &self.origin.conversation,
            title: self
                .title
                .as_deref()
                .or(self.origin.conversation_title.as_deref()),
            model: None,
            temporary,
        })
    }

    /// The turn of an earlier message of the same group that still waits.
    fn joined(
        &self,
        tx: &WriteTx<'_>,
        session: SessionId,
    ) -> Result<Option<ContinuationId>, StoreError> {
        let Some(group) = &self.files.group else {
            return Ok(None);
        };
        tx.conn.row_opt(
            "SELECT id FROM continuations
             WHERE session_id = ?1 AND ended_at IS NULL AND state = 'pending' AND attempt = 0
                AND message_group = ?2 AND requester_id = ?3",
            params![session, group, self.origin.requester.id],
            |row| row.get("id"),
        )
    }

    /// Adds text and files to a turn that waits.
    fn join(
        &self,
        tx: &mut WriteTx<'_>,
        session: SessionId,
        id: ContinuationId,
    ) -> Result<IngestOutcome, StoreError> {
        if !self.text.is_empty() {
            let mut text = tx.conn.row(
                "SELECT text FROM continuations WHERE id = ?1",
                [id],
                |row| row.get::<String>("text"),
            )?;
            add_line(&mut text, &self.text);
            tx.conn.run(
                "UPDATE continuations SET text = ?2 WHERE id = ?1",
                params![id, text],
            )?;
        }
        self.await_files(tx, id)?;
        tx.tell_awaited_files(session, id)?;
        let inbox_id = record(tx, &self.origin, Disposition::Turn, None, Some(id))?;
        save_cursor(tx, &self.origin)?;
        crate::crash_point!("ingest.pre_commit");
        Ok(IngestOutcome::of_turn(inbox_id, session, id))
    }

    /// Notes the files that the turn waits for.
    fn await_files(&self, tx: &mut WriteTx<'_>, id: ContinuationId) -> Result<(), StoreError> {
        for (name, artifact) in &self.files.untranscribed {
            tx.refer_to_artifact(id, None, artifact)?;
            tx.conn.run(
                "INSERT INTO inbound_files (continuation_id, channel, reference, name, media_type, artifact, created_at)
                 VALUES (?1, ?2, '', ?3, ?4, ?5, ?6)",
                params![
                    id,
                    self.origin.channel,
                    name,
                    artifact.media_type,
                    Json(artifact),
                    tx.now
                ],
            )?;
        }
        if let Some(retried) = self.retry_of {
            tx.conn.run(
                "INSERT INTO inbound_files (continuation_id, channel, reference, name, media_type, artifact, created_at)
                 SELECT ?2, channel, reference, name, media_type, artifact, ?3 FROM inbound_files
                 WHERE continuation_id = ?1 ORDER BY id",
                params![retried, id, tx.now],
            )?;
        }
        for file in &self.files.remote {
            tx.conn.run(
                "INSERT INTO inbound_files (continuation_id, channel, reference, name, media_type, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    id,
                    self.origin.channel,
                    file.reference,
                    file.name,
                    file.media_type.as_deref().unwrap_or(BINARY),
                    tx.now
                ],
            )?;
        }
        Ok(())
    }

    /// Writes the row of the turn.
    pub(crate) fn insert(
        &self,
        tx: &mut WriteTx<'_>,
        session: SessionId,
    ) -> Result<ContinuationId, StoreError> {
        let id = ContinuationId::generate();
        let mut attachments = Vec::new();
        let mut text = self.text.clone();
        if let Some(retried) = self.retry_of {
            // Its text names them already.
            attachments = load_attachments(tx.conn, retried)?;
        }
        for (name, artifact) in &self.files.stored {
            attach(id, name, artifact, &mut attachments, &mut text);
        }
        for note in &self.files.notes {
            add_line(&mut text, note);
        }
        let requester = &self.origin.requester;
        let speaker = Speaker {
            id: alias(tx.conn, requester)?,
            role: self.role.clone(),
            at: self.said_at.clone(),
        };
        let options = TurnOptions {
            trace: self.origin.trace,
            ..self.options.clone()
        };
        let options = (options != TurnOptions::default()).then_some(Json(&options));
        tx.conn.run(
            "INSERT INTO continuations (id, session_id, state, requester_id, requester_display, requester_person,
                surface, text, model, message_ref, retry_of, max_steps, max_tool_calls, max_active_ms, max_tokens,
                created_at, updated_at, fresh, private, max_cost_usd, unattended, autonomy_ceiling, speaker, attachments,
                options, message_group)
             VALUES (?1, ?2, 'pending', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?15, ?16,
                ?17 OR EXISTS (SELECT 1 FROM continuations INDEXED BY continuations_private
                    WHERE session_id = ?2 AND private = 1), ?18, ?19, ?20, ?21, ?22, ?23, ?24)",
            params![
                id,
                session,
                requester.id,
                requester.display,
                requester.person,
                self.origin.surface,
                text,
                self.model,
                self.origin.message_ref,
                self.retry_of,
                self.limits.max_steps,
                self.limits.max_tool_calls,
                self.limits.max_active_ms,
                self.limits.max_tokens,
                tx.now,
                self.cache.fresh,
                self.cache.private,
                self.limits.max_cost_usd,
                self.bounds.unattended,
                self.bounds.autonomy_ceiling,
                Json(&speaker),
                (!attachments.is_empty()).then_some(Json(&attachments)),
                options,
                self.files.group
            ],
        )?;
        for attachment in &attachments {
            tx.refer_to_artifact(id, None, &attachment.artifact)?;
        }
        self.await_files(tx, id)?;
        let awaited = !self.files.remote.is_empty() || !self.files.untranscribed.is_empty();
        if !attachments.is_empty() || awaited {
            let taint = TaintSession {
                session_id: session,
                taint: vec![TAINT.to_owned()],
            };
            taint.apply(tx)?;
        }
        tx.conn.run(
            "UPDATE sessions SET turns = turns + 1, last_line = ?2, last_sender = ?3, updated_at = ?4 WHERE id = ?1",
            params![session, preview(&text), requester.display, tx.now],
        )?;
        Ok(id)
    }
}

/// Directory of the workspace that holds the files of messages.
pub const FOLDER: &str = "attachments";
/// Media type of a file that names none.
pub const BINARY: &str = "application/octet-stream";
/// What a session has read that a file came to.
const TAINT: &str = "a file that came with a message";

/// Adds a file to a turn and the line that names it to its text: what a model, a transcript and a summary say of it.
///
/// Each message has a directory, so that no file meets one of another message. A name that is taken gets a number.
pub(crate) fn attach(
    id: ContinuationId,
    name: &str,
    artifact: &ArtifactRef,
    attachments: &mut Vec<Attachment>,
    text: &mut String,
) {
    let numbered = (2..).map(|number| format!("{FOLDER}/{id}/{number}-{name}"));
    let is_free = |path: &String| {
        let taken = |other: &Attachment| other.path.eq_ignore_ascii_case(path);
        !attachments.iter().any(taken)
    };
    let path = std::iter::once(format!("{FOLDER}/{id}/{name}"))
        .chain(numbered)
        .find(is_free)
        .unwrap_or_default();
    let ArtifactRef {
        size, media_type, ..
    } = artifact;
    add_line(
        text,
        &format!("[attached file: {path} ({media_type}, {size} bytes)]"),
    );
    attachments.push(Attachment {
        path,
        artifact: artifact.clone(),
    });
}

/// The files that a turn has by now.
pub(crate) fn load_attachments(
    conn: &Connection,
    id: ContinuationId,
) -> Result<Vec<Attachment>, StoreError> {
    let row = conn.row_opt(
        "SELECT attachments FROM continuations WHERE id = ?1",
        [id],
        |row| row.json_opt("attachments"),
    )?;
    Ok(row.flatten().unwrap_or_default())
}

/// Adds a line to a message.
pub(crate) fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// Hexadecimal digits of an alias.
const ALIAS_DIGITS: usize = 12;

/// What models know a sender by: the name under `[people]`, else a digest of the platform id. It is keyed with the
/// identity of this database, because platform ids are few enough to try them all.
fn alias(conn: &Connection, requester: &Requester) -> Result<String, StoreError> {
    if let Some(person) = &requester.person {
        return Ok(person.clone());
    }
    let identity = meta::get(conn, "identity")?
        .ok_or_else(|| StoreError::bug("the database has no identity"))?;
    let mut hasher = Sha256::new();
    for part in ["alias", &identity, &requester.id] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    let digits: String = hex(&digest).chars().take(ALIAS_DIGITS).collect();
    Ok(format!("u-{digits}"))
}

impl WriteCommand for IngestTurn {
    type Output = IngestOutcome;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<IngestOutcome, StoreError> {
        if let Some(outcome) = seen_before(tx, &self.origin)? {
            save_cursor(tx, &self.origin)?;
            return Ok(outcome);
        }
        if let Some(retried) = self.retry_of {
            let head = tx.head(retried)?;
            if !head.state.is_terminal() {
                return Err(StoreError::rejected(format!(
                    "continuation {retried} is {}: only one that ended can be retried",
                    head.state
                )));
            }
        }
        let session = self.session(tx)?;
        if let Some(continuation) = self.joined(tx, session)? {
            return self.join(tx, session, continuation);
        }
        let (open, waiting, taken): (u32, u32, bool) = tx.conn.row(
            "SELECT count(*) AS open, count(*) FILTER (WHERE state = 'pending') AS waiting,
                EXISTS (SELECT 1 FROM sessions s JOIN take_overs t
                    ON t.channel = s.channel AND t.conversation = s.conversation WHERE s.id = ?1) AS taken
             FROM continuations WHERE session_id = ?1 AND ended_at IS NULL",
            [session],
            columns!(open, waiting, taken),
        )?;
        if self.bounds.alone && open > 0 {
            return Err(StoreError::conflict(format!(
                "busy: a turn of session {session} is open; wait for its end, or cancel it"
            )));
        }
        // A person who answers by hand is told everything.
        if !self.unlimited_queue && !taken && waiting >= self.max_queue {
            let inbox_id = record(
                tx,
                &self.origin,
                Disposition::QueueFull,
                Some("the session's queue is full"),
                None,
            )?;
            save_cursor(tx, &self.origin)?;
            if let Some(notice) = &self.queue_full_notice {
                tx.queue_notice(notice)?;
            }
            crate::crash_point!("ingest.pre_commit");
            return Ok(IngestOutcome {
                session_id: Some(session),
                ..IngestOutcome::new(inbox_id, Disposition::QueueFull)
            });
        }
        let continuation = self.insert(tx, session)?;
        if let Some(call) = &self.options.call {
            let requester = &self.origin.requester;
            let by = ActorRef {
                label: requester.display.clone(),
                id: requester.id.clone(),
                surface: self.origin.surface,
            };
            tx.audit(
                "tool.called",
                &by,
                Some(&self.origin.channel),
                continuation,
                &json!({ "tool": call.tool }),
            )?;
        }
        let inbox_id = record(
            tx,
            &self.origin,
            Disposition::Turn,
            None,
            Some(continuation),
        )?;
        save_cursor(tx, &self.origin)?;
        tx.emit(
            Some(session),
            Some(continuation),
            EventBody::MessageReceived {
                channel: self.origin.channel.clone(),
                conversation: self.origin.conversation.clone(),
                sender: self.origin.requester.display.clone(),
                sender_id: Some(self.origin.requester.id.clone()),
                preview: preview(&self.text),
            },
        )?;
        if open > 0 {
            tx.emit(
                Some(session),
                Some(continuation),
                EventBody::ContinuationQueued { ahead: open },
            )?;
        }
        tx.tell_awaited_files(session, continuation)?;
        crate::crash_point!("ingest.pre_commit");
        Ok(IngestOutcome::of_turn(inbox_id, session, continuation))
    }

    fn committed(&self) {
        crate::crash_point!("ingest.post_commit");
    }
}
