//! Takes in a message that queues a turn: inbox row, session, continuation and channel cursor in one transaction.

use crate::protocol::approval::{Requester, Speaker};
use crate::protocol::artifact::{ArtifactRef, Attachment};
use crate::protocol::budget::TurnLimits;
use crate::protocol::event::EventBody;
use crate::protocol::hex::hex;
use crate::protocol::ids::{ContinuationId, InboxId, SessionId};
use crate::protocol::options::TurnOptions;
use crate::protocol::words::{ContinuationState, Disposition};
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::taint_session::TaintSession;
use crate::store::error::StoreError;
use crate::store::input::{NewNotice, Origin, SessionChoice, TurnBounds, TurnCache};
use crate::store::meta;
use crate::store::rows::preview;
use crate::store::sql::{Connection, Json, Statements, params};
use crate::store::tx::sessions::NewSession;
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
    /// What bounds it.
    pub bounds: TurnBounds,
    /// Files that come with it, by a name that is one component of a path. No two have the same name.
    pub files: Vec<(String, ArtifactRef)>,
}

/// What became of an inbound item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestOutcome {
    /// Its row.
    pub inbox_id: InboxId,
    /// What became of it.
    pub disposition: Disposition,
    /// Its session.
    pub session_id: Option<SessionId>,
    /// The turn it queued.
    pub continuation_id: Option<ContinuationId>,
    /// State of that turn now.
    pub state: Option<ContinuationState>,
    /// Whether it had been taken in before; then nothing changed.
    pub repeated: bool,
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
            let outcome = IngestOutcome {
                inbox_id: row.get("id")?,
                disposition: row.get("disposition")?,
                continuation_id: row.get("continuation_id")?,
                session_id: row.get("session_id")?,
                state: row.get("state")?,
                repeated: true,
            };
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

    /// Writes the row of the turn.
    pub(crate) fn insert(
        &self,
        tx: &mut WriteTx<'_>,
        session: SessionId,
    ) -> Result<ContinuationId, StoreError> {
        let id = ContinuationId::generate();
        let attachments = attachments(id, &self.files);
        let text = named(&self.text, &attachments);
        let requester = &self.origin.requester;
        let speaker = Speaker {
            id: alias(tx.conn, requester)?,
            role: self.role.clone(),
            at: self.said_at.clone(),
        };
        let options = (self.options != TurnOptions::default()).then_some(Json(&self.options));
        tx.conn.run(
            "INSERT INTO continuations (id, session_id, state, requester_id, requester_display, requester_person,
                surface, text, model, message_ref, retry_of, max_steps, max_tool_calls, max_active_ms, max_tokens,
                created_at, updated_at, fresh, private, max_cost_usd, unattended, autonomy_ceiling, speaker, attachments,
                options)
             VALUES (?1, ?2, 'pending', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?15, ?16,
                ?17 OR EXISTS (SELECT 1 FROM continuations INDEXED BY continuations_private
                    WHERE session_id = ?2 AND private = 1), ?18, ?19, ?20, ?21, ?22, ?23)",
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
                options
            ],
        )?;
        if !attachments.is_empty() {
            for attachment in &attachments {
                tx.refer_to_artifact(id, None, &attachment.artifact)?;
            }
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
/// What a session has read that a file came to.
const TAINT: &str = "a file that came with a message";

/// The files with their places: a directory for each message, so that no file meets one of another message.
fn attachments(id: ContinuationId, files: &[(String, ArtifactRef)]) -> Vec<Attachment> {
    let place = |(name, artifact): &(String, ArtifactRef)| Attachment {
        path: format!("{FOLDER}/{id}/{name}"),
        artifact: artifact.clone(),
    };
    files.iter().map(place).collect()
}

/// The message with a line for each file: what a model, a transcript and a summary say of it.
fn named(text: &str, attachments: &[Attachment]) -> String {
    let mut named = text.to_owned();
    for attachment in attachments {
        if !named.is_empty() {
            named.push('\n');
        }
        let ArtifactRef {
            size, media_type, ..
        } = &attachment.artifact;
        named.push_str(&format!(
            "[attached file: {} ({media_type}, {size} bytes)]",
            attachment.path
        ));
    }
    named
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
    const DURABILITY: Durability = Durability::Durable;

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
        let (open, waiting, taken): (u32, u32, bool) = tx.conn.row(
            "SELECT count(*) AS open, count(*) FILTER (WHERE state = 'pending') AS waiting,
                EXISTS (SELECT 1 FROM sessions s JOIN take_overs t
                    ON t.channel = s.channel AND t.conversation = s.conversation WHERE s.id = ?1) AS taken
             FROM continuations WHERE session_id = ?1 AND ended_at IS NULL",
            [session],
            |row| Ok((row.get("open")?, row.get("waiting")?, row.get("taken")?)),
        )?;
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
                inbox_id,
                disposition: Disposition::QueueFull,
                session_id: Some(session),
                continuation_id: None,
                state: None,
                repeated: false,
            });
        }
        let continuation = self.insert(tx, session)?;
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
        crate::crash_point!("ingest.pre_commit");
        Ok(IngestOutcome {
            inbox_id,
            disposition: Disposition::Turn,
            session_id: Some(session),
            continuation_id: Some(continuation),
            state: Some(ContinuationState::Pending),
            repeated: false,
        })
    }

    fn committed(&self) {
        crate::crash_point!("ingest.post_commit");
    }
}
