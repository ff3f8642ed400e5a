//! Approvals, grants and the tokens of cards.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::clock::Timestamp;
use crate::protocol::approval::{Approval, Decision, PlanFacts, Requester, SimilarCall};
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId, ToolCallId};
use crate::protocol::policy::Verdict;
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::{
    Access, ApprovalKind, ApprovalState, DecisionWord, Effect, OutboxState, Risk, VerdictWord,
};
use crate::store::error::StoreError;
use crate::store::queries::page::{page_limit, page_of, page_start};
use crate::store::queries::unknown::tell_unknown;
use crate::store::reader::Reader;
use crate::store::rows::{json, json_opt, word};

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
    /// Tool name.
    pub tool: String,
    /// Lower-case hex SHA-256 of the canonical arguments.
    pub args_digest: String,
    /// Whose calls.
    pub requester_id: String,
    /// Label of who granted it.
    pub by: String,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// What the one-shot token of a button stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardToken {
    /// The approval.
    pub approval_id: ApprovalId,
    /// Revision the button showed.
    pub revision: u32,
    /// What the button says.
    pub decision: DecisionWord,
    /// Digest the button showed.
    pub digest: String,
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

/// Columns of [`approval_row`], with the call joined in.
const APPROVAL: &str = "SELECT a.id, a.short_code, a.kind, a.state, a.digest, a.revision, a.channel, a.conversation,
        a.session_id, a.continuation_id, a.tool_call_id, a.requester_id, a.requester_display, a.requester_person,
        a.taint, a.preview, a.model_reason, a.question, a.offered, a.notified, a.requested_at, a.expires_at,
        a.decision_body, a.position,
        c.name, c.args, c.access, c.effect, c.risk, c.risk_reasons, c.plan, c.verdict, c.rule, c.policy_version,
        a.waiting_for, a.once_only
     FROM approvals a LEFT JOIN tool_calls c ON c.id = a.tool_call_id";

/// What an approval without a call says about access, risk and rule.
fn without_call(kind: ApprovalKind) -> (Risk, &'static str) {
    match kind {
        ApprovalKind::PolicyRaise => (
            Risk::Critical,
            "the configuration raises this channel's policy",
        ),
        ApprovalKind::Pairing => (Risk::High, "an unknown sender asks to be let in"),
        ApprovalKind::ServerPin => (Risk::High, "a tool server changed"),
        ApprovalKind::Budget => (Risk::Medium, "a budget is used up"),
        ApprovalKind::Resend => (Risk::Medium, "nobody knows whether this was delivered"),
        ApprovalKind::Memory => (Risk::Medium, "a fact would be stored"),
        ApprovalKind::Execute | ApprovalKind::ResolveUnknown | ApprovalKind::Question => {
            (Risk::Medium, "a person is asked")
        }
    }
}

fn approval_row(row: &Row<'_>) -> rusqlite::Result<(i64, Approval)> {
    let kind: ApprovalKind = word(row, 2)?;
    let offered: String = row.get(18)?;
    let mut words = Vec::new();
    for text in offered.split(',').filter(|text| !text.is_empty()) {
        words.push(text.parse::<DecisionWord>().map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(
                18,
                rusqlite::types::Type::Text,
                Box::new(error),
            )
        })?);
    }
    let name: Option<String> = row.get(24)?;
    let (tool, args, access, effect, risk, risk_reasons, plan, verdict) = match name {
        Some(name) => (
            name,
            json(row, 25)?,
            word(row, 26)?,
            word(row, 27)?,
            word(row, 28)?,
            json(row, 29)?,
            json(row, 30)?,
            Verdict {
                decision: word(row, 31)?,
                rule: row.get(32)?,
                policy_version: row.get(33)?,
            },
        ),
        None => {
            let (risk, rule) = without_call(kind);
            (
                String::new(),
                serde_json::Value::Null,
                Access::Unknown,
                Effect::NonIdempotent,
                risk,
                Vec::new(),
                PlanFacts::default(),
                Verdict {
                    decision: VerdictWord::Ask,
                    rule: rule.to_owned(),
                    policy_version: 0,
                },
            )
        }
    };
    let state: ApprovalState = word(row, 3)?;
    let approval = Approval {
        id: ApprovalId::from_bytes(row.get(0)?),
        short_code: row.get(1)?,
        kind,
        state,
        digest: row.get(4)?,
        revision: row.get(5)?,
        tool,
        args,
        access,
        effect,
        risk,
        risk_reasons,
        taint: json(row, 14)?,
        preview: json(row, 15)?,
        plan,
        model_reason: row.get(16)?,
        channel: row.get(6)?,
        conversation: row.get(7)?,
        requester: Requester {
            id: row.get(11)?,
            display: row.get(12)?,
            person: row.get(13)?,
        },
        session_id: row
            .get::<_, Option<[u8; 16]>>(8)?
            .map(SessionId::from_bytes),
        continuation_id: row
            .get::<_, Option<[u8; 16]>>(9)?
            .map(ContinuationId::from_bytes),
        tool_call_id: row
            .get::<_, Option<[u8; 16]>>(10)?
            .map(ToolCallId::from_bytes),
        verdict,
        offered: words,
        requested_at: Timestamp(row.get(20)?),
        expires_at: row.get::<_, Option<i64>>(21)?.map(Timestamp),
        decision: json_opt(row, 22)?,
        similar: Vec::new(),
        question: row.get(17)?,
        notified: row.get(19)?,
        once_only: row.get(35)?,
        unknown: None,
        // Only what is pending waits.
        waiting_for: match state {
            ApprovalState::Pending => json_opt(row, 34)?,
            ApprovalState::Approved
            | ApprovalState::Denied
            | ApprovalState::Expired
            | ApprovalState::Revoked
            | ApprovalState::Consumed => None,
        },
        shortened: false,
    };
    Ok((row.get(23)?, approval))
}

/// One approval without `similar`.
pub(crate) fn load_approval(conn: &Connection, id: ApprovalId) -> Result<Approval, StoreError> {
    let mut approval = conn
        .prepare_cached(&format!("{APPROVAL} WHERE a.id = ?1"))?
        .query_row([id.to_bytes()], approval_row)
        .optional()?
        .map(|(_, approval)| approval)
        .ok_or_else(|| StoreError::not_found("approval", id))?;
    tell_unknown(conn, &mut approval)?;
    Ok(approval)
}

/// Approvals with a condition of ours, in order.
pub(crate) fn load_approvals(
    conn: &Connection,
    tail: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<(i64, Approval)>, StoreError> {
    let mut approvals = conn
        .prepare_cached(&format!("{APPROVAL} {tail}"))?
        .query_map(params, approval_row)?
        .collect::<rusqlite::Result<Vec<(i64, Approval)>>>()?;
    for (_, approval) in &mut approvals {
        tell_unknown(conn, approval)?;
    }
    Ok(approvals)
}

/// What happened to the last five other calls of this tool on this channel, newest first.
fn similar_calls(conn: &Connection, approval: &Approval) -> Result<Vec<SimilarCall>, StoreError> {
    let Some(call) = approval.tool_call_id else {
        return Ok(Vec::new());
    };
    let mut statement = conn.prepare_cached(
        "SELECT c.preview, c.verdict, a.decision_body, c.created_at
         FROM tool_calls c LEFT JOIN approvals a ON a.id = c.approval_id
         WHERE c.channel = ?1 AND c.name = ?2 AND c.id <> ?3
         ORDER BY c.position DESC LIMIT 5",
    )?;
    let rows = statement.query_map(
        params![approval.channel, approval.tool, call.to_bytes()],
        |row| {
            let decision: Option<Decision> = json_opt(row, 2)?;
            Ok(SimilarCall {
                preview: row.get(0)?,
                verdict: word(row, 1)?,
                decision: decision.as_ref().map(|decision| decision.decision),
                by: decision.map(|decision| decision.by),
                at: Timestamp(row.get(3)?),
            })
        },
    )?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl Reader<'_> {
    /// Approvals, shortened: oldest first when only pending ones are asked for, else newest first.
    pub fn approvals(
        &self,
        filter: &ApprovalFilter,
        page: &PageRequest,
    ) -> Result<Page<Approval>, StoreError> {
        let oldest_first = filter.state == Some(ApprovalState::Pending);
        let limit = page_limit(page);
        let rows = match (filter.state, oldest_first) {
            (Some(state), true) => load_approvals(
                self.conn,
                "WHERE a.state = ?1 AND a.position > ?2 ORDER BY a.position LIMIT ?3",
                params![state.as_str(), page_start(page, 0)?, limit + 1],
            )?,
            (Some(state), false) => load_approvals(
                self.conn,
                "WHERE a.state = ?1 AND a.position < ?2 ORDER BY a.position DESC LIMIT ?3",
                params![state.as_str(), page_start(page, i64::MAX)?, limit + 1],
            )?,
            (None, _) => load_approvals(
                self.conn,
                "WHERE a.position < ?1 ORDER BY a.position DESC LIMIT ?2",
                params![page_start(page, i64::MAX)?, limit + 1],
            )?,
        };
        let mut page = page_of(rows, limit);
        page.items.iter_mut().for_each(Approval::shorten);
        Ok(page)
    }

    /// One approval, with what happened to the last five calls of its tool on its channel.
    pub fn approval(&self, id: ApprovalId) -> Result<Approval, StoreError> {
        let mut approval = load_approval(self.conn, id)?;
        approval.similar = similar_calls(self.conn, &approval)?;
        Ok(approval)
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
        let mut statement = self.conn.prepare_cached(
            "SELECT channel, conversation, state, revision, coalesce(whole, 0) FROM outbox
             WHERE approval_id = ?1 AND class = 'approval_card' AND state IN ('pending', 'sending', 'sent')",
        )?;
        let mut rows = statement.query([approval.to_bytes()])?;
        let mut shown = CardDelivery::default();
        while let Some(row) = rows.next()? {
            let place = (row.get(0)?, row.get(1)?);
            if !conversations.contains(&place) {
                continue;
            }
            let revision: Option<u32> = row.get(3)?;
            let state = word::<OutboxState>(row, 2)?;
            shown.queued |= state == OutboxState::Pending;
            shown.on_its_way |= state == OutboxState::Sending;
            if state != OutboxState::Sent {
                continue;
            }
            if revision > shown.revision {
                shown.revision = revision;
                shown.whole = row.get(4)?;
            } else if revision == shown.revision {
                shown.whole |= row.get::<_, bool>(4)?;
            }
        }
        Ok(shown)
    }

    /// What a button's token stands for; none = unknown or spent.
    pub fn card_token(&self, token: &str) -> Result<Option<CardToken>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT approval_id, revision, decision, digest FROM card_tokens WHERE token = ?1 AND spent_at IS NULL",
            )?
            .query_row([token], |row| {
                Ok(CardToken {
                    approval_id: ApprovalId::from_bytes(row.get(0)?),
                    revision: row.get(1)?,
                    decision: word(row, 2)?,
                    digest: row.get(3)?,
                })
            })
            .optional()?)
    }

    /// Pending approvals (of the session, of the channel).
    pub fn pending_counts(
        &self,
        session: SessionId,
        channel: &str,
    ) -> Result<(u32, u32), StoreError> {
        let of_session = self
            .conn
            .prepare_cached(
                "SELECT count(*) FROM approvals WHERE session_id = ?1 AND state = 'pending'",
            )?
            .query_row([session.to_bytes()], |row| row.get(0))?;
        let of_channel = self
            .conn
            .prepare_cached(
                "SELECT count(*) FROM approvals WHERE channel = ?1 AND state = 'pending'",
            )?
            .query_row([channel], |row| row.get(0))?;
        Ok((of_session, of_channel))
    }

    /// Grants of a session that hold at `now`.
    pub fn grants(&self, session: SessionId, now: Timestamp) -> Result<Vec<Grant>, StoreError> {
        let mut statement = self.conn.prepare_cached(
            "SELECT tool, args_digest, requester_id, by_label, expires_at, approval_id FROM session_grants
             WHERE session_id = ?1 AND (expires_at IS NULL OR expires_at > ?2)",
        )?;
        let rows = statement.query_map(params![session.to_bytes(), now.as_millis()], |row| {
            Ok(Grant {
                approval_id: ApprovalId::from_bytes(row.get(5)?),
                tool: row.get(0)?,
                args_digest: row.get(1)?,
                requester_id: row.get(2)?,
                by: row.get(3)?,
                expires_at: row.get::<_, Option<i64>>(4)?.map(Timestamp),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Until when this person hid the approval.
    pub fn snoozed_until(
        &self,
        id: ApprovalId,
        person_id: &str,
    ) -> Result<Option<Timestamp>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT until FROM approval_snoozes WHERE approval_id = ?1 AND person_id = ?2",
            )?
            .query_row(params![id.to_bytes(), person_id], |row| {
                row.get(0).map(Timestamp)
            })
            .optional()?)
    }

    /// The earliest time at which something expires (approval or temporary level).
    pub fn next_expiry(&self) -> Result<Option<Timestamp>, StoreError> {
        let approval: Option<i64> = self
            .conn
            .prepare_cached(
                "SELECT min(expires_at) FROM approvals WHERE state = 'pending' AND expires_at IS NOT NULL",
            )?
            .query_row([], |row| row.get(0))?;
        let policy: Option<i64> = self
            .conn
            .prepare_cached("SELECT min(expires_at) FROM policies WHERE expires_at IS NOT NULL")?
            .query_row([], |row| row.get(0))?;
        Ok(approval.into_iter().chain(policy).min().map(Timestamp))
    }
}
