//! Approvals: asking, moving the state, closing with their continuation.

use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::protocol::approval::{Approval, Decision, Requester};
use crate::protocol::enums::{ApprovalKind, ApprovalState, DecisionKind, PairingState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, SessionId, ToolCallId};
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::{BudgetKind, NewApproval, NewCard};
use crate::store::queries::approvals::load_approval;
use crate::store::queries::on_call::load_on_call;
use crate::store::sql::{Json, Statements, columns, params};
use crate::store::transitions;
use crate::store::tx::continuations::ContinuationRow;

/// What an approval is about, beside its continuation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    pub(crate) call: Option<ToolCallId>,
    pub(crate) outbox: Option<OutboxId>,
    pub(crate) budget: Option<BudgetKind>,
    pub(crate) budget_day: Option<i64>,
    pub(crate) budget_extra: Option<f64>,
    pub(crate) baseline: Option<String>,
}

impl Subject {
    pub(crate) fn call(id: ToolCallId) -> Self {
        Self {
            call: Some(id),
            ..Self::default()
        }
    }

    pub(crate) fn outbox(id: OutboxId) -> Self {
        Self {
            outbox: Some(id),
            ..Self::default()
        }
    }

    pub(crate) fn budget(kind: BudgetKind, day: Option<i64>, extra: Option<f64>) -> Self {
        Self {
            budget: Some(kind),
            budget_day: day,
            budget_extra: extra,
            ..Self::default()
        }
    }
}

/// Where an approval belongs.
#[derive(Debug, Clone)]
pub(crate) struct ApprovalSite<'a> {
    pub(crate) channel: &'a str,
    pub(crate) conversation: &'a str,
    pub(crate) session_id: Option<SessionId>,
    pub(crate) continuation_id: Option<ContinuationId>,
    pub(crate) requester: &'a Requester,
}

/// The fields of an approval that commands decide by.
#[derive(Debug, Clone)]
pub(crate) struct ApprovalRow {
    pub(crate) id: ApprovalId,
    pub(crate) kind: ApprovalKind,
    pub(crate) state: ApprovalState,
    pub(crate) digest: String,
    pub(crate) revision: u32,
    pub(crate) channel: String,
    pub(crate) session_id: Option<SessionId>,
    pub(crate) continuation_id: Option<ContinuationId>,
    /// Name of the tool of its call.
    pub(crate) tool: Option<String>,
    pub(crate) call_id: Option<ToolCallId>,
    pub(crate) outbox_id: Option<OutboxId>,
    pub(crate) budget: Option<BudgetKind>,
    pub(crate) budget_day: Option<i64>,
    pub(crate) budget_extra: Option<f64>,
    pub(crate) baseline: Option<String>,
    pub(crate) offered: String,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) decision: Option<Decision>,
    pub(crate) decided_at: Option<Timestamp>,
    pub(crate) requester_id: String,
}

impl ApprovalRow {
    pub(crate) fn offers(&self, word: DecisionKind) -> bool {
        self.offered
            .split(',')
            .any(|offered| offered == word.as_str())
    }
}

/// A code of six letters and digits (without I, L, O, U) for a revision of an approval. Only the code of a first
/// revision may come from somewhere else.
pub(crate) fn short_code(id: ApprovalId, revision: u32) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let hash = Sha256::new()
        .chain_update(id.to_bytes())
        .chain_update(revision.to_be_bytes())
        .finalize();
    hash[..6]
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte & 31)]))
        .collect()
}

impl WriteTx<'_> {
    /// Stores a question about a continuation, with its cards, and announces it.
    pub(crate) fn ask(
        &mut self,
        head: &ContinuationRow,
        new: &NewApproval,
        subject: &Subject,
    ) -> Result<(), StoreError> {
        let requester = head.requester.clone();
        self.ask_at(
            &ApprovalSite {
                channel: &head.channel,
                conversation: &head.conversation,
                session_id: Some(head.session_id),
                continuation_id: Some(head.id),
                requester: &requester,
            },
            new,
            subject,
        )
    }

    /// Stores a question, with its cards, and announces it.
    pub(crate) fn ask_at(
        &mut self,
        place: &ApprovalSite<'_>,
        new: &NewApproval,
        subject: &Subject,
    ) -> Result<(), StoreError> {
        let offered: Vec<&str> = new.offered.iter().map(|word| word.as_str()).collect();
        self.conn.run(
            "INSERT INTO approvals (id, short_code, kind, state, digest, revision, channel, conversation, session_id,
                continuation_id, tool_call_id, outbox_id, budget_kind, baseline, requester_id, requester_display,
                requester_person, taint, preview, model_reason, question, offered, requested_at, expires_at,
                updated_at, budget, budget_day, budget_extra, once_only)
             VALUES (?1, ?2, ?3, 'pending', ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                ?19, ?20, ?21, ?22, ?21, ?23, ?24, ?25, ?26)",
            params![
                new.id,
                new.short_code.to_uppercase(),
                new.kind,
                new.digest,
                place.channel,
                place.conversation,
                place.session_id,
                place.continuation_id,
                subject.call,
                subject.outbox,
                subject.budget.filter(|kind| kind.is_of_schema_1()),
                subject.baseline,
                place.requester.id,
                place.requester.display,
                place.requester.person,
                Json(&new.taint),
                Json(&new.preview),
                new.model_reason,
                new.question,
                offered.join(","),
                self.now,
                new.expires_at,
                subject.budget.filter(|kind| !kind.is_of_schema_1()),
                subject.budget_day,
                subject.budget_extra,
                new.once_only
            ],
        )?;
        if let Some(call) = subject.call {
            self.conn.run(
                "UPDATE tool_calls SET approval_id = ?2 WHERE id = ?1",
                params![call, new.id],
            )?;
        }
        let cards = self.first_cards(&new.cards)?;
        self.queue_cards(&self.gate(new.id)?, &cards)?;
        self.requested_event(new.id)
    }

    /// Who is asked first: whoever is on call, where this person is asked at all. The others follow with the first
    /// reminder.
    fn first_cards(&self, cards: &[NewCard]) -> Result<Vec<NewCard>, StoreError> {
        let on_call = load_on_call(self.conn)?
            .filter(|one| one.until.is_none_or(|until| until > self.now))
            .filter(|one| cards.iter().any(|card| card.person == one.name));
        let first = |card: &&NewCard| on_call.as_ref().is_none_or(|one| one.name == card.person);
        Ok(cards.iter().filter(first).cloned().collect())
    }

    /// Announces a change of an approval; the approval as it stands.
    pub(crate) fn approval_event(
        &mut self,
        id: ApprovalId,
        body: impl FnOnce(Box<Approval>) -> EventBody,
    ) -> Result<Approval, StoreError> {
        let approval = load_approval(self.conn, id)?;
        let mut told = approval.clone();
        told.shorten();
        self.emit(
            approval.session_id,
            approval.continuation_id,
            body(Box::new(told)),
        )?;
        Ok(approval)
    }

    /// Announces a question.
    pub(crate) fn requested_event(&mut self, id: ApprovalId) -> Result<(), StoreError> {
        self.approval_event(id, |approval| EventBody::ApprovalRequested { approval })
            .map(|_| ())
    }

    /// Announces an answer; the approval as it stands.
    pub(crate) fn decided_event(&mut self, id: ApprovalId) -> Result<Approval, StoreError> {
        self.approval_event(id, |approval| EventBody::ApprovalDecided { approval })
    }

    /// An approval.
    pub(crate) fn gate(&self, id: ApprovalId) -> Result<ApprovalRow, StoreError> {
        self.conn
            .row_opt(
                "SELECT kind, state, digest, revision, channel, session_id, continuation_id, tool_call_id, outbox_id,
                    coalesce(budget, budget_kind) AS budget, baseline, offered, expires_at, decision_body, decided_at,
                    requester_id, budget_day, budget_extra,
                    (SELECT name FROM tool_calls c WHERE c.id = tool_call_id) AS tool
                 FROM approvals WHERE id = ?1",
                [id],
                |row| Ok(columns!(row => ApprovalRow {
                    kind, state, digest, revision, channel, session_id, continuation_id, tool,
                    call_id = "tool_call_id", outbox_id, baseline, offered, expires_at,
                    decided_at, requester_id, budget_day, budget_extra;
                    id,
                    budget: row
                        .get::<Option<String>>("budget")?
                        .and_then(|text| BudgetKind::from_word(&text)),
                    decision: row.json_opt("decision_body")?,
                })),
            )?
            .ok_or_else(|| StoreError::not_found("approval", id))
    }

    /// Moves an approval.
    pub(crate) fn move_gate(
        &mut self,
        gate: &mut ApprovalRow,
        to: ApprovalState,
    ) -> Result<(), StoreError> {
        if !transitions::approval(gate.state, to) {
            return Err(StoreError::conflict(format!(
                "approval {} cannot go from {} to {to}",
                gate.id, gate.state
            )));
        }
        self.conn.run(
            "UPDATE approvals SET state = ?2, updated_at = ?3 WHERE id = ?1",
            params![gate.id, to, self.now],
        )?;
        gate.state = to;
        Ok(())
    }

    /// Moves an approval and records who said so.
    pub(crate) fn record_decision(
        &mut self,
        gate: &mut ApprovalRow,
        to: ApprovalState,
        decision: &Decision,
    ) -> Result<(), StoreError> {
        self.move_gate(gate, to)?;
        self.conn.run(
            "UPDATE approvals SET decision = ?2, decision_body = ?3, decided_at = ?4 WHERE id = ?1",
            params![gate.id, decision.decision, Json(decision), decision.at],
        )?;
        gate.decision = Some(decision.clone());
        gate.decided_at = Some(decision.at);
        Ok(())
    }

    /// Puts an approval back to (or keeps it) pending under a new revision with a new code. A decision that does not
    /// count any more leaves no permission behind either.
    pub(crate) fn next_revision(
        &mut self,
        gate: &mut ApprovalRow,
        digest: &str,
    ) -> Result<(), StoreError> {
        if gate.state != ApprovalState::Pending {
            self.move_gate(gate, ApprovalState::Pending)?;
            self.conn.run(
                "DELETE FROM session_grants WHERE approval_id = ?1",
                [gate.id],
            )?;
        }
        gate.revision += 1;
        digest.clone_into(&mut gate.digest);
        self.conn.run(
            "UPDATE approvals SET revision = ?2, digest = ?3, decision = NULL, decision_body = NULL, decided_at = NULL,
                updated_at = ?4, old_codes = coalesce(old_codes || ',', '') || short_code, short_code = ?5
             WHERE id = ?1",
            params![
                gate.id,
                gate.revision,
                digest,
                self.now,
                short_code(gate.id, gate.revision)
            ],
        )?;
        Ok(())
    }

    /// Closes an approval because its continuation ends (`revoked`) or its time is over (`expired`).
    pub(crate) fn close_gate(
        &mut self,
        id: ApprovalId,
        to: ApprovalState,
    ) -> Result<(), StoreError> {
        let mut gate = self.gate(id)?;
        // What was approved and not used cannot expire any more; it is taken back.
        let to = if gate.state == ApprovalState::Approved {
            ApprovalState::Revoked
        } else {
            to
        };
        self.move_gate(&mut gate, to)?;
        if gate.kind == ApprovalKind::Pairing {
            self.settle_pairing(id, PairingState::Expired, None)?;
        }
        self.disarm_cards(id, true)?;
        if to == ApprovalState::Expired {
            self.approval_event(id, |approval| EventBody::ApprovalExpired { approval })?;
        } else {
            self.decided_event(id)?;
        }
        Ok(())
    }
}
