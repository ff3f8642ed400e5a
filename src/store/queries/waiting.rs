//! Questions that wait for people, and how those were asked so far.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::approval::{Requester, choices};
use crate::protocol::enums::{ApprovalKind, Risk};
use crate::protocol::escalation::Escalation;
use crate::protocol::ids::{ApprovalId, OutboxId};
use crate::protocol::on_call::Assignment;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::rows::requester;
use crate::store::sql::{Connection, Statements, columns, params};

/// A pending approval that people are asked about in chats.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingApproval {
    pub id: ApprovalId,
    /// Code that people type.
    pub short_code: String,
    /// What is asked.
    pub kind: ApprovalKind,
    /// Tool name; none = it is about no call.
    pub tool: Option<String>,
    /// The answers that a question offers.
    pub choices: Vec<String>,
    /// Risk of its call; medium where it is about none.
    pub risk: Risk,
    pub revision: u32,
    /// Channel that it is about.
    pub channel: String,
    /// Conversation that it is about.
    pub conversation: String,
    /// Who asked for what it is about.
    pub requester: Requester,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// Whom it is assigned to.
    pub assigned_to: Option<String>,
    /// When it was assigned to them.
    pub assigned_at: Option<Timestamp>,
    /// How it escalated so far.
    pub escalation: Option<Escalation>,
    /// Channels and conversations that have a card of this revision, or where one could not be sent.
    pub carded: BTreeSet<(String, String)>,
    /// How often each person was reminded.
    pub reminders: BTreeMap<String, u32>,
    /// Who put it off until later: ids of actors.
    pub snoozed: BTreeSet<String>,
    /// When the last of them is asked again.
    pub snoozed_until: Option<Timestamp>,
}

/// Cards of approval `p` that show its revision, whatever became of them.
const CARD: &str = "o.class = 'approval_card' AND o.state <> 'superseded'
    AND (o.buttons IS NULL OR o.buttons = '[]' OR EXISTS (SELECT 1 FROM card_tokens t
        WHERE t.outbox_id = o.id AND t.revision = p.revision AND t.spent_at IS NULL))";

/// Whether a card of this revision is in a conversation, or could not be sent there.
pub(crate) fn has_card(
    conn: &Connection,
    approval: ApprovalId,
    channel: &str,
    conversation: &str,
) -> Result<bool, StoreError> {
    conn.value(
        &format!(
            "SELECT EXISTS (SELECT 1 FROM outbox o JOIN approvals p ON p.id = o.approval_id
             WHERE o.approval_id = ?1 AND o.channel = ?2 AND o.conversation = ?3 AND {CARD})"
        ),
        params![approval, channel, conversation],
    )
}

/// Messages that show cards of this revision: the part, its place, and the platform's ids.
#[allow(clippy::type_complexity, reason = "one row, read once")]
pub(crate) fn shown_cards(
    conn: &Connection,
    approval: ApprovalId,
) -> Result<Vec<(OutboxId, (String, String), Vec<String>)>, StoreError> {
    conn.rows(
        &format!(
            "SELECT o.id, o.channel, o.conversation, o.external_refs FROM outbox o
             JOIN approvals p ON p.id = o.approval_id
             WHERE o.approval_id = ?1 AND o.state = 'sent' AND {CARD} ORDER BY o.position"
        ),
        [approval],
        |row| {
            let place = (row.get("channel")?, row.get("conversation")?);
            let refs = row.json_opt("external_refs")?.unwrap_or_default();
            Ok((row.get("id")?, place, refs))
        },
    )
}

/// The message that shows a card there, by the platform's id.
pub(crate) fn card_message(
    conn: &Connection,
    approval: ApprovalId,
    channel: &str,
    conversation: &str,
) -> Result<Option<String>, StoreError> {
    let refs = conn.row_opt(
        &format!(
            "SELECT o.external_refs FROM outbox o JOIN approvals p ON p.id = o.approval_id
             WHERE o.approval_id = ?1 AND o.channel = ?2 AND o.conversation = ?3 AND o.state = 'sent' AND {CARD}
             ORDER BY o.position DESC LIMIT 1"
        ),
        params![approval, channel, conversation],
        |row| row.json_opt::<Vec<String>>("external_refs"),
    )?;
    Ok(refs.flatten().and_then(|refs| refs.into_iter().next()))
}

impl Reader<'_> {
    /// Approvals about turns that wait for people, oldest first. `now` = when, for what is snoozed.
    pub fn waiting_approvals(&self, now: Timestamp) -> Result<Vec<WaitingApproval>, StoreError> {
        let mut waiting = self.conn.rows(
            "SELECT p.id, p.short_code, p.kind, c.name, c.args, c.risk, p.revision, p.channel, p.conversation, p.requester_id,
                p.requester_display, p.requester_person, p.requested_at, p.expires_at, p.waiting_for,
                p.escalation
             FROM approvals p LEFT JOIN tool_calls c ON c.id = p.tool_call_id
             WHERE p.state = 'pending' AND p.kind IN ('execute', 'resolve_unknown', 'budget', 'question', 'memory')
             ORDER BY p.position",
            [],
            |row| {
                let kind = row.get("kind")?;
                let assignment: Option<Assignment> = row.json_opt("waiting_for")?;
                let args: Option<Value> = row.json_opt("args")?;
                Ok(columns!(row => WaitingApproval {
                    id, short_code, tool = "name", revision, channel, conversation, requested_at,
                    expires_at;
                    kind,
                    choices: choices(kind, &args.unwrap_or_default())
                        .into_iter()
                        .map(str::to_owned)
                        .collect(),
                    risk: row.get::<Option<Risk>>("risk")?.unwrap_or(Risk::Medium),
                    requester: requester(row)?,
                    assigned_at: assignment.as_ref().map(|assignment| assignment.at),
                    assigned_to: assignment.map(|assignment| assignment.to),
                    escalation: row.json_opt("escalation")?,
                    carded: BTreeSet::new(),
                    reminders: BTreeMap::new(),
                    snoozed: BTreeSet::new(),
                    snoozed_until: None,
                }))
            },
        )?;
        for approval in &mut waiting {
            approval.carded = self
                .conn
                .rows(
                    &format!(
                        "SELECT o.channel, o.conversation FROM outbox o JOIN approvals p ON p.id = o.approval_id
                         WHERE o.approval_id = ?1 AND {CARD}"
                    ),
                    [approval.id],
                    columns!(channel, conversation),
                )?
                .into_iter()
                .collect();
            approval.reminders = self
                .conn
                .rows(
                    "SELECT person, count FROM reminders WHERE approval_id = ?1",
                    [approval.id],
                    columns!(person, count),
                )?
                .into_iter()
                .collect();
            approval.snoozed = self
                .conn
                .values(
                    "SELECT person_id FROM approval_snoozes WHERE approval_id = ?1 AND until > ?2",
                    params![approval.id, now],
                )?
                .into_iter()
                .collect();
            approval.snoozed_until = self.conn.value(
                "SELECT max(until) FROM approval_snoozes WHERE approval_id = ?1 AND until > ?2",
                params![approval.id, now],
            )?;
        }
        Ok(waiting)
    }
}
