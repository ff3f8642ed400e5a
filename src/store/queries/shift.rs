//! What somebody who takes over a shift must know, in one read.

use std::collections::HashMap;

use rusqlite::params;
use serde::Deserialize;

use crate::clock::Timestamp;
use crate::protocol::duty::Duty;
use crate::protocol::ids::ApprovalId;
use crate::protocol::summary::{
    ShiftSummary, SummaryChannel, SummaryDeed, SummaryHandOver, SummaryHold, SummaryQuestion,
    SummarySpent,
};
use crate::protocol::words::Autonomy;
use crate::store::error::StoreError;
use crate::store::queries::channels::held;
use crate::store::queries::take_overs::take_over;
use crate::store::reader::Reader;
use crate::store::rows::{json_opt, word, word_opt};

/// Questions that are listed.
const QUESTIONS: usize = 100;
/// What people did: beyond this many kinds of deeds the oldest are left out.
const DEEDS: usize = 200;
/// Hand-overs that are listed.
const HAND_OVERS: usize = 50;

/// What the audit says about a hand-over beside who and when.
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
        let (deeds, hand_overs) = self.deeds(since)?;
        let mut duty = Duty {
            on_call: self.on_call()?,
            ..Duty::default()
        };
        duty.settle(now);
        Ok(ShiftSummary {
            on_call: duty.on_call,
            on_call_ended: duty.ended,
            hand_overs,
            since,
            until: now,
            pending,
            more_pending: u32::try_from(more_pending).unwrap_or(u32::MAX),
            taken_over: self.holds()?,
            channels: self.unusual_channels()?,
            grants: self.all_grants(now)?,
            rules: rules.collect(),
            held: held(self.conn)?,
            deeds,
            spent: self.spent_since(since)?,
        })
    }

    fn questions(&self, now: Timestamp) -> Result<Vec<SummaryQuestion>, StoreError> {
        let mut questions = self
            .conn
            .prepare_cached(
                "SELECT a.id, a.short_code, a.kind, c.name, a.channel, a.requester_display, a.requested_at, a.expires_at,
                    a.waiting_for
                 FROM approvals a LEFT JOIN tool_calls c ON c.id = a.tool_call_id
                 WHERE a.state = 'pending' ORDER BY a.position",
            )?
            .query_map([], |row| {
                Ok(SummaryQuestion {
                    id: ApprovalId::from_bytes(row.get(0)?),
                    short_code: row.get(1)?,
                    kind: word(row, 2)?,
                    tool: row.get(3)?,
                    channel: row.get(4)?,
                    requester: row.get(5)?,
                    requested_at: Timestamp(row.get(6)?),
                    expires_at: row.get::<_, Option<i64>>(7)?.map(Timestamp),
                    snoozed: Vec::new(),
                    waiting_for: json_opt(row, 8)?,
                })
            })?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let mut statement = self.conn.prepare_cached(
            "SELECT person_id, until FROM approval_snoozes WHERE approval_id = ?1 AND until > ?2 ORDER BY until",
        )?;
        for question in questions.iter_mut().take(QUESTIONS) {
            question.snoozed = statement
                .query_map(params![question.id.to_bytes(), now.as_millis()], |row| {
                    Ok((row.get(0)?, Timestamp(row.get(1)?)))
                })?
                .collect::<rusqlite::Result<_>>()?;
        }
        Ok(questions)
    }

    fn holds(&self) -> Result<Vec<SummaryHold>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT channel, conversation, id, by_label, by_id, surface, at FROM take_overs ORDER BY at",
            )?
            .query_map([], |row| {
                Ok(SummaryHold {
                    channel: row.get(0)?,
                    conversation: row.get(1)?,
                    held: take_over(row, 2)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn unusual_channels(&self) -> Result<Vec<SummaryChannel>, StoreError> {
        let all = self
            .conn
            .prepare_cached(
                "SELECT c.name, p.autonomy, c.baseline ->> 'autonomy', p.expires_at, p.reverts_to, c.paused,
                    c.draining_since
                 FROM channel_accounts c JOIN policies p ON p.channel = c.name ORDER BY c.name",
            )?
            .query_map([], |row| {
                Ok(SummaryChannel {
                    name: row.get(0)?,
                    autonomy: word(row, 1)?,
                    configured: word_opt(row, 2)?.unwrap_or(Autonomy::Supervised),
                    expires_at: row.get::<_, Option<i64>>(3)?.map(Timestamp),
                    reverts_to: word_opt(row, 4)?,
                    paused: row.get(5)?,
                    draining_since: row.get::<_, Option<i64>>(6)?.map(Timestamp),
                })
            })?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let unusual = |channel: &SummaryChannel| {
            channel.autonomy > channel.configured
                || channel.expires_at.is_some()
                || channel.paused
                || channel.draining_since.is_some()
        };
        Ok(all.into_iter().filter(unusual).collect())
    }

    /// What people did since a time, newest first, and what they handed over. What the engine or the configuration
    /// did is none of theirs.
    fn deeds(
        &self,
        since: Timestamp,
    ) -> Result<(Vec<SummaryDeed>, Vec<SummaryHandOver>), StoreError> {
        let mut statement = self.conn.prepare_cached(
            "SELECT actor, action, at, CASE WHEN action = 'approval.decided' THEN detail ->> 'decision' END,
                CASE WHEN action IN ('approval.handed_over', 'oncall.set') THEN detail END
             FROM audit WHERE actor_id NOT IN ('engine', 'configuration') ORDER BY seq DESC",
        )?;
        let mut rows = statement.query([])?;
        let mut deeds: Vec<SummaryDeed> = Vec::new();
        let mut hand_overs = Vec::new();
        let mut places: HashMap<(String, String), usize> = HashMap::new();
        while let Some(row) = rows.next()? {
            let at = Timestamp(row.get(2)?);
            // Rows are in the order of time: what is before the first one that is too old is older.
            if at < since {
                break;
            }
            let actor: String = row.get(0)?;
            if hand_overs.len() < HAND_OVERS
                && let Some(detail) = json_opt::<Detail>(row, 4)?
            {
                hand_overs.push(SummaryHandOver {
                    at,
                    by: actor.clone(),
                    short_code: detail.code,
                    to: detail.to,
                    from: detail.from,
                    until: detail.until,
                    note: detail.note,
                });
            }
            let mut action: String = row.get(1)?;
            if let Some(decision) = row.get::<_, Option<String>>(3)? {
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
                    deeds.push(SummaryDeed {
                        actor,
                        action,
                        count: 1,
                        last_at: at,
                    });
                }
                None => {}
            }
        }
        Ok((deeds, hand_overs))
    }

    fn spent_since(&self, since: Timestamp) -> Result<Vec<SummarySpent>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT channel, count(*), coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0),
                    total(cost_usd),
                    coalesce(sum(CASE WHEN cost_usd IS NULL
                        THEN coalesce(input_tokens, 0) + coalesce(output_tokens, 0) END), 0)
                 FROM model_attempts WHERE started_at >= ?1 AND channel IS NOT NULL GROUP BY channel ORDER BY channel",
            )?
            .query_map([since.as_millis()], |row| {
                Ok(SummarySpent {
                    channel: row.get(0)?,
                    calls: row.get(1)?,
                    tokens: row.get(2)?,
                    cost_usd: row.get(3)?,
                    unpriced_tokens: row.get(4)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?)
    }
}
