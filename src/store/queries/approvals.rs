//! Approvals, grants and the tokens of cards.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::approval::{
    Approval, Decision, FirstApproval, PlanFacts, PriorMessage, SimilarCall,
};
use crate::protocol::enums::{
    Access, ApprovalKind, ApprovalState, DecisionKind, Effect, OutboxState, Risk, VerdictKind,
};
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::protocol::policy::Verdict;
use crate::protocol::session::StepBody;
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;
use crate::store::queries::page::read_page;
use crate::store::queries::unknown::tell_unknown;
use crate::store::reader::Reader;
use crate::store::rows::requester;
use crate::store::sql::{Connection, Params, Row, Statements, columns, params};

/// Which approvals.
#[derive(Debug, Clone, Default)]
pub struct ApprovalFilter {
    /// Only this state.
    pub state: Option<ApprovalState>,
}

/// A decision that lets calls of one shape run without asking, for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The approval it was given with.
    pub approval_id: ApprovalId,
    pub tool: String,
    /// Lower-case hex SHA-256 of the canonical arguments.
    pub args_digest: String,
    /// Whose calls.
    pub requester_id: String,
    /// Label of who granted it.
    pub by: String,
    /// The turn that it ends with; none = it ends with its session.
    pub continuation_id: Option<ContinuationId>,
    /// When it ends; none = with its turn or session.
    pub expires_at: Option<Timestamp>,
}

/// What the one-shot token of a button stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardToken {
    pub approval_id: ApprovalId,
    /// Revision the button showed.
    pub revision: u32,
    /// What the button says.
    pub decision: DecisionKind,
    /// Digest the button showed.
    pub digest: String,
    /// What is written on it.
    pub label: String,
}

/// What somebody was shown of an approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CardDelivery {
    /// Latest revision whose card was delivered.
    pub revision: Option<u32>,
    /// Whether such a card showed everything.
    pub whole: bool,
    /// Whether a card waits to be delivered.
    pub queued: bool,
    /// Whether a card is just being delivered.
    pub on_its_way: bool,
}

/// Messages before a call that an approval tells, and characters of each.
const MESSAGES: usize = 3;
const MESSAGE_CHARS: usize = 400;

/// Columns of [`approval_row`], with the call joined in.
const APPROVAL: &str = "SELECT a.id, a.short_code, a.kind, a.state, a.digest, a.revision, a.channel, a.conversation,
        a.session_id, a.continuation_id, a.tool_call_id, a.requester_id, a.requester_display, a.requester_person,
        a.taint, a.preview, a.model_reason, a.question, a.offered, a.notified, a.requested_at, a.expires_at,
        a.decision_body, a.position, a.baseline,
        c.name, c.args, c.access, c.effect, c.risk, c.risk_reasons, c.plan, c.verdict, c.rule, c.policy_version,
        a.waiting_for, a.once_only, a.allowed_by, a.escalation,
        coalesce((SELECT max(r.count) FROM reminders r WHERE r.approval_id = a.id), 0) AS reminders
     FROM approvals a LEFT JOIN tool_calls c ON c.id = a.tool_call_id";

/// A question that a call asks while it runs, as it is stored beside its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningQuestion {
    /// The tool of the call.
    pub tool: String,
    /// The answers it offers; empty = a person writes one.
    pub choices: Vec<String>,
}

/// What an approval without a call says about access, risk and rule.
fn without_call(kind: ApprovalKind) -> (Risk, &'static str) {
    match kind {
        ApprovalKind::PolicyRaise => (
            Risk::Critical,
            "the configuration raises this channel's policy",
        ),
        ApprovalKind::Pairing => (Risk::High, "an unknown sender asks for access"),
        ApprovalKind::ServerPin => (Risk::High, "a tool server changed"),
        ApprovalKind::Budget => (Risk::Medium, "a budget is used up"),
        ApprovalKind::Resend => (Risk::Medium, "nobody knows whether this was delivered"),
        ApprovalKind::Memory => (Risk::Medium, "a fact would be stored"),
        ApprovalKind::Execute | ApprovalKind::ResolveUnknown | ApprovalKind::Question => {
            (Risk::Medium, "a person is asked")
        }
    }
}

fn approval_row(row: &Row<'_>) -> Result<(i64, Approval), StoreError> {
    let kind: ApprovalKind = row.get("kind")?;
    let offered: String = row.get("offered")?;
    let mut words = Vec::new();
    for text in offered.split(',').filter(|text| !text.is_empty()) {
        words.push(
            text.parse::<DecisionKind>()
                .map_err(|error| StoreError::Corrupt(format!("column `offered`: {error}")))?,
        );
    }
    let name: Option<String> = row.get("name")?;
    let (tool, args, access, effect, risk, risk_reasons, plan, verdict) = match name {
        Some(name) => (
            name,
            row.json("args")?,
            row.get("access")?,
            row.get("effect")?,
            row.get("risk")?,
            row.json("risk_reasons")?,
            row.json("plan")?,
            columns!(row => Verdict { decision = "verdict", rule, policy_version }),
        ),
        None => {
            let (risk, rule) = without_call(kind);
            let asked: Option<RunningQuestion> = match kind {
                ApprovalKind::Question => row.json_opt("baseline")?,
                ApprovalKind::Execute
                | ApprovalKind::ResolveUnknown
                | ApprovalKind::Resend
                | ApprovalKind::Budget
                | ApprovalKind::Pairing
                | ApprovalKind::Memory
                | ApprovalKind::ServerPin
                | ApprovalKind::PolicyRaise => None,
            };
            let (tool, args) = asked.map_or((String::new(), serde_json::Value::Null), |asked| {
                (asked.tool, serde_json::json!({ "choices": asked.choices }))
            });
            (
                tool,
                args,
                Access::Unknown,
                Effect::NonIdempotent,
                risk,
                Vec::new(),
                PlanFacts::default(),
                Verdict {
                    decision: VerdictKind::Ask,
                    rule: rule.to_owned(),
                    policy_version: 0,
                },
            )
        }
    };
    let state: ApprovalState = row.get("state")?;
    let revision: u32 = row.get("revision")?;
    let allowed_by: Option<Box<FirstApproval>> = row.json_opt("allowed_by")?;
    let approval = columns!(row => Approval {
        id, short_code, digest, model_reason, channel, conversation, session_id, continuation_id,
        tool_call_id, requested_at, expires_at, question, notified, reminders, once_only;
        kind, state, revision, tool, args, access, effect, risk, risk_reasons, plan, verdict,
        taint: row.json("taint")?,
        preview: row.json("preview")?,
        requester: requester(row)?,
        offered: words,
        decision: row.json_opt("decision_body")?,
        similar: Vec::new(),
        messages: Vec::new(),
        unknown: None,
        // Only what is pending waits.
        assignment: match state {
            ApprovalState::Pending => row.json_opt("waiting_for")?,
            ApprovalState::Approved
            | ApprovalState::Denied
            | ApprovalState::Expired
            | ApprovalState::Revoked
            | ApprovalState::Consumed => None,
        },
        allowed_by: allowed_by.filter(|first| first.revision == revision),
        escalation: row.json_opt("escalation")?,
        shortened: false,
    });
    Ok((row.get("position")?, approval))
}

/// One approval.
pub(crate) fn load_approval(conn: &Connection, id: ApprovalId) -> Result<Approval, StoreError> {
    let mut approval = conn
        .row_opt(&format!("{APPROVAL} WHERE a.id = ?1"), [id], approval_row)?
        .map(|(_, approval)| approval)
        .ok_or_else(|| StoreError::not_found("approval", id))?;
    tell_unknown(conn, &mut approval)?;
    tell_past(conn, &mut approval)?;
    Ok(approval)
}

/// Approvals with a condition of ours, in order. Those that wait say what led to them, and what happened to calls like
/// them.
pub(crate) fn load_approvals(
    conn: &Connection,
    tail: &str,
    params: impl Params,
) -> Result<Vec<(i64, Approval)>, StoreError> {
    let mut approvals = conn.rows(&format!("{APPROVAL} {tail}"), params, approval_row)?;
    for (_, approval) in &mut approvals {
        tell_unknown(conn, approval)?;
        if approval.state == ApprovalState::Pending {
            tell_past(conn, approval)?;
        }
    }
    Ok(approvals)
}

/// Adds what led to the call of an approval, and what happened to calls of its tool before.
fn tell_past(conn: &Connection, approval: &mut Approval) -> Result<(), StoreError> {
    approval.similar = similar_calls(conn, approval)?;
    approval.messages = messages_before(conn, approval)?;
    Ok(())
}

/// The last messages of the conversation before a call, oldest first. What the model said beside the call is its reason.
fn messages_before(
    conn: &Connection,
    approval: &Approval,
) -> Result<Vec<PriorMessage>, StoreError> {
    let (Some(turn), Some(call)) = (approval.continuation_id, approval.tool_call_id) else {
        return Ok(Vec::new());
    };
    let of_bot = |row: &Row<'_>| -> Result<Option<StepBody>, StoreError> { row.json_opt("body") };
    // Newest first: what the model said in this turn, then the message, then the turns before.
    let mut messages: Vec<PriorMessage> = conn
        .rows(
            "SELECT s.body FROM steps s
             WHERE s.continuation_id = ?1 AND s.kind = 'model'
                AND s.n < (SELECT step FROM tool_calls WHERE id = ?2)
             ORDER BY s.n DESC LIMIT 3",
            params![turn, call],
            of_bot,
        )?
        .into_iter()
        .filter_map(said)
        .collect();
    let turns = conn.rows(
        "SELECT t.requester_display, t.text, f.body FROM continuations t
         LEFT JOIN steps f ON f.continuation_id = t.id AND f.kind = 'final' AND t.id <> ?1
         WHERE t.session_id = (SELECT session_id FROM continuations WHERE id = ?1)
            AND t.position <= (SELECT position FROM continuations WHERE id = ?1)
         ORDER BY t.position DESC LIMIT 3",
        params![turn],
        |row| {
            let sender: String = row.get("requester_display")?;
            let text: String = row.get("text")?;
            Ok((of_bot(row)?, sender, text))
        },
    )?;
    for (answer, sender, text) in turns {
        messages.extend(said(answer));
        messages.extend(prior_message(Some(sender), &text));
    }
    messages.truncate(MESSAGES);
    messages.reverse();
    Ok(messages)
}

/// What the bot said in a step; none = nothing.
fn said(body: Option<StepBody>) -> Option<PriorMessage> {
    match body? {
        StepBody::Model { text, .. } | StepBody::Final { text, .. } => prior_message(None, &text),
        StepBody::ToolResult { .. } | StepBody::OperatorNote { .. } | StepBody::Error { .. } => {
            None
        }
    }
}

fn prior_message(sender: Option<String>, text: &str) -> Option<PriorMessage> {
    let text = text.trim();
    let mut kept: String = text.chars().take(MESSAGE_CHARS).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    (!kept.is_empty()).then_some(PriorMessage { sender, text: kept })
}

/// What happened to the last five calls of this tool on this channel before this one, newest first.
fn similar_calls(conn: &Connection, approval: &Approval) -> Result<Vec<SimilarCall>, StoreError> {
    let Some(call) = approval.tool_call_id else {
        return Ok(Vec::new());
    };
    conn.rows(
        "SELECT c.preview, c.verdict, a.decision_body, c.created_at
         FROM tool_calls c LEFT JOIN approvals a ON a.id = c.approval_id
         WHERE c.channel = ?1 AND c.name = ?2
            AND c.position < (SELECT position FROM tool_calls WHERE id = ?3)
         ORDER BY c.position DESC LIMIT 5",
        params![approval.channel, approval.tool, call],
        |row| {
            let decision: Option<Decision> = row.json_opt("decision_body")?;
            Ok(columns!(row => SimilarCall {
                preview, verdict, at = "created_at";
                decision: decision.as_ref().map(|decision| decision.decision),
                by: decision.map(|decision| decision.by),
            }))
        },
    )
}

/// A question that waits. Equal calls of a session are one question.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// A call may run.
    Call {
        tool: String,
        /// Digest of what it does.
        args_digest: String,
    },
    /// Anything else.
    Other(ApprovalId),
}

/// What waits for a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingApprovals {
    /// The questions of the session.
    pub questions: BTreeSet<Question>,
    /// Approvals on the channel, equal ones counted each.
    pub on_channel: u32,
}

impl Reader<'_> {
    /// Approvals, shortened: oldest first when only pending ones are asked for, else newest first.
    pub fn approvals(
        &self,
        filter: &ApprovalFilter,
        page: &PageRequest,
    ) -> Result<Page<Approval>, StoreError> {
        let oldest_first = filter.state == Some(ApprovalState::Pending);
        let first = if oldest_first { 0 } else { i64::MAX };
        let mut page = read_page(page, first, |from, most| {
            match (filter.state, oldest_first) {
                (Some(state), true) => load_approvals(
                    self.conn,
                    "WHERE a.state = ?1 AND a.position > ?2 ORDER BY a.position LIMIT ?3",
                    params![state, from, most],
                ),
                (Some(state), false) => load_approvals(
                    self.conn,
                    "WHERE a.state = ?1 AND a.position < ?2 ORDER BY a.position DESC LIMIT ?3",
                    params![state, from, most],
                ),
                (None, _) => load_approvals(
                    self.conn,
                    "WHERE a.position < ?1 ORDER BY a.position DESC LIMIT ?2",
                    params![from, most],
                ),
            }
        })?;
        page.items.iter_mut().for_each(Approval::shorten);
        Ok(page)
    }

    /// One approval.
    pub fn approval(&self, id: ApprovalId) -> Result<Approval, StoreError> {
        load_approval(self.conn, id)
    }

    /// The newest approval with this short code (any case), pending ones first; else one that had it at an earlier
    /// revision.
    pub fn approval_by_code(&self, short_code: &str) -> Result<Option<Approval>, StoreError> {
        let code = short_code.to_uppercase();
        let mut rows = load_approvals(
            self.conn,
            "WHERE a.short_code = ?1 ORDER BY a.state = 'pending' DESC, a.position DESC LIMIT 1",
            [&code],
        )?;
        if rows.is_empty() {
            rows = load_approvals(
                self.conn,
                "WHERE a.old_codes IS NOT NULL AND instr(',' || a.old_codes || ',', ',' || ?1 || ',') > 0
                 ORDER BY a.state = 'pending' DESC, a.position DESC LIMIT 1",
                [&code],
            )?;
        }
        Ok(rows.into_iter().next().map(|(_, approval)| approval))
    }

    /// What cards showed of an approval in these conversations, each a channel and a conversation key.
    pub fn shown_of(
        &self,
        approval: ApprovalId,
        conversations: &[(String, String)],
    ) -> Result<CardDelivery, StoreError> {
        let mut shown = CardDelivery::default();
        self.conn.each(
            "SELECT channel, conversation, state, revision, coalesce(whole, 0) AS whole FROM outbox
             WHERE approval_id = ?1 AND class = 'approval_card' AND state IN ('pending', 'sending', 'sent')",
            [approval],
            |row| {
                let place = (row.get("channel")?, row.get("conversation")?);
                if !conversations.contains(&place) {
                    return Ok(());
                }
                let revision: Option<u32> = row.get("revision")?;
                let state = row.get::<OutboxState>("state")?;
                shown.queued |= state == OutboxState::Pending;
                shown.on_its_way |= state == OutboxState::Sending;
                if state != OutboxState::Sent {
                    return Ok(());
                }
                if revision > shown.revision {
                    shown.revision = revision;
                    shown.whole = row.get("whole")?;
                } else if revision == shown.revision {
                    shown.whole |= row.get::<bool>("whole")?;
                }
                Ok(())
            },
        )?;
        Ok(shown)
    }

    /// What a button's token stands for; none = unknown or spent.
    pub fn card_token(&self, token: &str) -> Result<Option<CardToken>, StoreError> {
        self.conn.row_opt(
            "SELECT t.approval_id, t.revision, t.decision, t.digest, o.buttons
             FROM card_tokens t JOIN outbox o ON o.id = t.outbox_id WHERE t.token = ?1 AND t.spent_at IS NULL",
            [token],
            |row| {
                let buttons: Vec<(String, String)> = row.json("buttons")?;
                let pressed = buttons.into_iter().find(|(_, one)| one == token);
                Ok(columns!(row => CardToken {
                    approval_id, revision, decision, digest;
                    label: pressed.map(|(label, _)| label).unwrap_or_default(),
                }))
            },
        )
    }

    /// What waits in a session and on a channel.
    pub fn pending_approvals(
        &self,
        session: SessionId,
        channel: &str,
    ) -> Result<PendingApprovals, StoreError> {
        let questions = self.conn.rows(
            "SELECT a.id, t.name, t.args_digest FROM approvals a LEFT JOIN tool_calls t ON t.id = a.tool_call_id
             WHERE a.session_id = ?1 AND a.state = 'pending'",
            [session],
            |row| {
                Ok(match row.get::<Option<String>>("name")? {
                    Some(tool) => Question::Call {
                        tool,
                        args_digest: row.get("args_digest")?,
                    },
                    None => Question::Other(row.get("id")?),
                })
            },
        )?;
        let on_channel = self.conn.value(
            "SELECT count(*) FROM approvals WHERE channel = ?1 AND state = 'pending'",
            [channel],
        )?;
        Ok(PendingApprovals {
            questions: questions.into_iter().collect(),
            on_channel,
        })
    }

    /// Grants of a session that hold at `now`.
    pub fn grants(&self, session: SessionId, now: Timestamp) -> Result<Vec<Grant>, StoreError> {
        self.conn.rows(
            "SELECT tool, args_digest, requester_id, by_label, expires_at, approval_id, continuation_id FROM session_grants
             WHERE session_id = ?1 AND (expires_at IS NULL OR expires_at > ?2)",
            params![session, now],
            |row| Ok(columns!(row => Grant {
                approval_id, tool, args_digest, requester_id, by = "by_label", continuation_id,
                expires_at,
            })),
        )
    }

    /// Until when this person hid the approval.
    pub fn snoozed_until(
        &self,
        id: ApprovalId,
        person_id: &str,
    ) -> Result<Option<Timestamp>, StoreError> {
        self.conn.value_opt::<Timestamp>(
            "SELECT until FROM approval_snoozes WHERE approval_id = ?1 AND person_id = ?2",
            params![id, person_id],
        )
    }

    /// The earliest time at which something expires (approval or temporary level).
    pub fn next_expiry(&self) -> Result<Option<Timestamp>, StoreError> {
        let approval: Option<Timestamp> = self.conn.value(
            "SELECT min(expires_at) FROM approvals WHERE state = 'pending' AND expires_at IS NOT NULL",
            [],
        )?;
        let policy: Option<Timestamp> = self.conn.value(
            "SELECT min(expires_at) FROM policies WHERE expires_at IS NOT NULL",
            [],
        )?;
        Ok(approval.into_iter().chain(policy).min())
    }
}
