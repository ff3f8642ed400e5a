//! What somebody who takes over a shift must know, in one read.

use std::collections::HashMap;

use serde::Deserialize;

use crate::clock::Timestamp;
use crate::protocol::enums::Autonomy;
use crate::protocol::on_call::OnCallStatus;
use crate::protocol::session::TOO_MANY_WAIT;
use crate::protocol::summary::{
    ShiftSummary, SummaryAction, SummaryAssignment, SummaryChannel, SummaryHold, SummaryQuestion,
    SummaryRefusal, SummarySpent,
};
use crate::store::error::StoreError;
use crate::store::queries::channels::held;
use crate::store::queries::take_overs::take_over;
use crate::store::reader::Reader;
use crate::store::sql::{Statements, columns, params};

/// Questions that are listed.
const QUESTIONS: usize = 100;
/// What people did: beyond this many kinds of deeds the oldest are left out.
const DEEDS: usize = 200;
/// Assignments that are listed.
const ASSIGNMENTS: usize = 50;

/// What the audit says about an assignment beside who and when.
#[derive(Deserialize)]
struct Detail {
    to: Option<String>,
    from: Option<String>,
    note: Option<String>,
    code: Option<String>,
    until: Option<Timestamp>,
}

impl Reader<'_> {
    /// Everything since a time.
    pub fn shift(&self, since: Timestamp, now: Timestamp) -> Result<ShiftSummary, StoreError> {
        let mut pending = self.questions(now)?;
        let more_pending = pending.len().saturating_sub(QUESTIONS);
        pending.truncate(QUESTIONS);
        let rules = self.rules()?.into_iter().filter(|rule| {
            rule.enabled
                && (rule.expires_at.is_some() || rule.max_uses.is_some())
                && rule.expires_at.is_none_or(|at| at > now)
                && rule.max_uses.is_none_or(|most| rule.uses < most)
        });
        let (deeds, assignments) = self.deeds(since)?;
        let mut on_call_status = OnCallStatus {
            on_call: self.on_call()?,
            ..OnCallStatus::default()
        };
        on_call_status.settle(now);
        Ok(ShiftSummary {
            on_call: on_call_status.on_call,
            on_call_ended: on_call_status.ended,
            assignments,
            since,
            until: now,
            pending,
            more_pending: u32::try_from(more_pending).unwrap_or(u32::MAX),
            taken_over: self.holds()?,
            channels: self.unusual_channels()?,
            grants: self.all_grants(now)?,
            rules: rules.collect(),
            refused_calls: self.refused_since(since)?,
            held: held(self.conn)?,
            deeds,
            spent: self.spent_since(since)?,
        })
    }

    fn questions(&self, now: Timestamp) -> Result<Vec<SummaryQuestion>, StoreError> {
        let mut questions = self.conn.rows(
            "SELECT a.id, a.short_code, a.kind, c.name, a.channel, a.requester_display, a.requested_at, a.expires_at,
                a.waiting_for
             FROM approvals a LEFT JOIN tool_calls c ON c.id = a.tool_call_id
             WHERE a.state = 'pending' ORDER BY a.position",
            [],
            |row| Ok(columns!(row => SummaryQuestion {
                id, short_code, kind, tool = "name", channel, requester = "requester_display",
                requested_at, expires_at;
                snoozed: Vec::new(),
                assignment: row.json_opt("waiting_for")?,
            })),
        )?;
        for question in questions.iter_mut().take(QUESTIONS) {
            question.snoozed = self.conn.rows(
                "SELECT person_id, until FROM approval_snoozes WHERE approval_id = ?1 AND until > ?2 ORDER BY until",
                params![question.id, now],
                columns!(person_id, until),
            )?;
        }
        Ok(questions)
    }

    fn holds(&self) -> Result<Vec<SummaryHold>, StoreError> {
        self.conn.rows(
            "SELECT channel, conversation, id AS take_over_id, by_label, by_id, surface, at
             FROM take_overs ORDER BY at",
            [],
            |row| {
                Ok(columns!(row => SummaryHold {
                    channel, conversation;
                    held: take_over(row)?,
                }))
            },
        )
    }

    fn unusual_channels(&self) -> Result<Vec<SummaryChannel>, StoreError> {
        let all = self.conn.rows(
            "SELECT c.name, p.autonomy, c.baseline ->> 'autonomy' AS configured, p.expires_at, p.reverts_to, c.paused,
                c.draining_since
             FROM channel_accounts c JOIN policies p ON p.channel = c.name ORDER BY c.name",
            [],
            |row| Ok(columns!(row => SummaryChannel {
                name, autonomy, expires_at, reverts_to, paused, draining_since;
                configured: row
                    .get::<Option<Autonomy>>("configured")?
                    .unwrap_or(Autonomy::Supervised),
            })),
        )?;
        let unusual = |channel: &SummaryChannel| {
            channel.autonomy > channel.configured
                || channel.expires_at.is_some()
                || channel.paused
                || channel.draining_since.is_some()
        };
        Ok(all.into_iter().filter(unusual).collect())
    }

    /// What people did since a time, newest first, and what they assigned. What the engine or the configuration
    /// did is none of theirs. A login of a token is not a deed: it is there for the audit.
    fn deeds(
        &self,
        since: Timestamp,
    ) -> Result<(Vec<SummaryAction>, Vec<SummaryAssignment>), StoreError> {
        let mut deeds: Vec<SummaryAction> = Vec::new();
        let mut assignments = Vec::new();
        let mut places: HashMap<(String, String), usize> = HashMap::new();
        self.conn.each_while(
            "SELECT actor, action, at,
                CASE WHEN action = 'approval.decided' THEN detail ->> 'decision' END AS decision,
                CASE WHEN action IN ('approval.assigned', 'approval.handed_over', 'oncall.set') THEN detail END AS detail
             FROM audit WHERE actor_id NOT IN ('engine', 'configuration') AND action <> 'token.login' ORDER BY seq DESC",
            [],
            |row| {
                let at: Timestamp = row.get("at")?;
                // Rows are in the order of time: what is before the first one that is too old is older.
                if at < since {
                    return Ok(false);
                }
                let actor: String = row.get("actor")?;
                if assignments.len() < ASSIGNMENTS
                    && let Some(detail) = row.json_opt::<Detail>("detail")?
                {
                    assignments.push(SummaryAssignment {
                        at,
                        by: actor.clone(),
                        short_code: detail.code,
                        to: detail.to,
                        from: detail.from,
                        until: detail.until,
                        note: detail.note,
                    });
                }
                let mut action: String = row.get("action")?;
                if let Some(decision) = row.get::<Option<String>>("decision")? {
                    action = format!("{action} {decision}");
                }
                match places.get(&(actor.clone(), action.clone())) {
                    Some(place) => {
                        if let Some(deed) = deeds.get_mut(*place) {
                            deed.count += 1;
                        }
                    }
                    None if deeds.len() < DEEDS => {
                        places.insert((actor.clone(), action.clone()), deeds.len());
                        deeds.push(SummaryAction {
                            actor,
                            action,
                            count: 1,
                            last_at: at,
                        });
                    }
                    None => {}
                }
                Ok(true)
            },
        )?;
        Ok((deeds, assignments))
    }

    fn refused_since(&self, since: Timestamp) -> Result<Vec<SummaryRefusal>, StoreError> {
        self.conn.rows(
            "SELECT channel, count(*) AS calls, max(created_at) AS last_at FROM tool_calls
             WHERE created_at >= ?1 AND state = 'denied' AND substr(rule, 1, ?2) = ?3
             GROUP BY channel ORDER BY channel",
            params![since, TOO_MANY_WAIT.len(), TOO_MANY_WAIT],
            |row| Ok(columns!(row => SummaryRefusal { channel, calls, last_at })),
        )
    }

    fn spent_since(&self, since: Timestamp) -> Result<Vec<SummarySpent>, StoreError> {
        self.conn.rows(
            "SELECT channel, count(*) AS calls,
                coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0) AS tokens,
                total(cost_usd) AS cost_usd,
                coalesce(sum(CASE WHEN cost_usd IS NULL
                    THEN coalesce(input_tokens, 0) + coalesce(output_tokens, 0) END), 0) AS unpriced_tokens
             FROM model_attempts WHERE started_at >= ?1 AND channel IS NOT NULL GROUP BY channel ORDER BY channel",
            [since],
            |row| Ok(columns!(row => SummarySpent {
                channel, calls, tokens, cost_usd, unpriced_tokens,
            })),
        )
    }
}
