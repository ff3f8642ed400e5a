//! Model calls: settling an attempt and writing the step it gave.

use crate::protocol::enums::ContinuationState;
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ContinuationId, ModelAttemptId, SessionId, ToolCallId};
use crate::protocol::session::{CachedAnswer, StepBody, Usage};
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::{AnswerSource, ModelStep};
use crate::store::sql::{Statements, Value, columns, params};
use crate::store::tx::continuations::ContinuationRow;

/// A reserved model call.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) continuation_id: ContinuationId,
    pub(crate) step: u32,
    pub(crate) model: String,
    settled: bool,
    estimated_input_tokens: Option<u64>,
    /// Made for its turn, and not for the session around it.
    of_turn: bool,
}

const ADD_USAGE: &str = "input_tokens = input_tokens + ?2, output_tokens = output_tokens + ?3,
    cached_tokens = cached_tokens + ?4, cache_write_tokens = cache_write_tokens + ?5,
    cost_usd = CASE
        WHEN cost_usd IS NULL AND input_tokens + output_tokens = 0 THEN ?6
        WHEN ?6 IS NULL AND ?2 + ?3 = 0 THEN cost_usd
        ELSE cost_usd + ?6 END,
    spent_usd = spent_usd + coalesce(?6, 0.0)";

/// Weight of the newest sample in a session's ratio.
const NEWEST: f64 = 0.3;
/// Bounds of the ratio.
const BOUNDS: std::ops::RangeInclusive<f64> = 0.5..=3.0;
/// Samples outside are about something else: a prompt that the server cut, a count that is not one.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.2..=6.0;

/// The ratio of real to estimated input tokens after another call. None where the call teaches nothing.
pub fn learned_ratio(known: Option<f64>, estimated: u64, real: u64) -> Option<f64> {
    if estimated == 0 || real == 0 {
        return None;
    }
    let sample = real as f64 / estimated as f64;
    if !PLAUSIBLE.contains(&sample) {
        return None;
    }
    let ratio = known.map_or(sample, |known| known + NEWEST * (sample - known));
    Some(ratio.clamp(*BOUNDS.start(), *BOUNDS.end()))
}

impl WriteTx<'_> {
    /// A reserved model call.
    pub(crate) fn attempt(&self, id: ModelAttemptId) -> Result<Attempt, StoreError> {
        self.conn
            .row_opt(
                "SELECT continuation_id, step, model, settled_at IS NOT NULL AS settled,
                    estimated_input_tokens, purpose = 'turn' AS of_turn
                 FROM model_attempts WHERE id = ?1",
                [id],
                |row| {
                    Ok(columns!(row => Attempt {
                        continuation_id, step, model, settled, estimated_input_tokens, of_turn,
                    }))
                },
            )?
            .ok_or_else(|| StoreError::not_found("model attempt", id))
    }

    /// Replaces an attempt's estimate by what it used, and adds that to session and, where it was made for one,
    /// continuation.
    pub(crate) fn settle_attempt(
        &mut self,
        id: ModelAttemptId,
        session: SessionId,
        usage: Usage,
        error: Option<&str>,
    ) -> Result<Attempt, StoreError> {
        let attempt = self.attempt(id)?;
        if attempt.settled {
            return Err(StoreError::conflict(format!(
                "model attempt {id} is settled already"
            )));
        }
        self.conn.run(
            "UPDATE model_attempts SET input_tokens = ?2, output_tokens = ?3, cached_tokens = ?4,
                cache_write_tokens = ?5, cost_usd = ?6, error = ?7, settled_at = ?8
             WHERE id = ?1",
            params![
                id,
                usage.input_tokens,
                usage.output_tokens,
                usage.cached_input_tokens,
                usage.cache_write_tokens,
                usage.cost_usd,
                error,
                self.now
            ],
        )?;
        let turn = attempt.continuation_id;
        let turn = attempt
            .of_turn
            .then_some(("continuations", Value::from(turn)));
        for (table, row) in turn.into_iter().chain([("sessions", session.into())]) {
            self.conn.run(
                &format!("UPDATE {table} SET {ADD_USAGE} WHERE id = ?1"),
                params![
                    row,
                    usage.input_tokens,
                    usage.output_tokens,
                    usage.cached_input_tokens,
                    usage.cache_write_tokens,
                    usage.cost_usd
                ],
            )?;
        }
        self.count_spend(id)?;
        if let (None, Some(estimated)) = (error, attempt.estimated_input_tokens) {
            self.learn(session, estimated, usage.input_tokens)?;
        }
        Ok(attempt)
    }

    /// Settles every call of a continuation that is still open at its estimate: nobody listens to it any more, and it
    /// may have been billed in full. How many there were.
    pub(crate) fn settle_abandoned_calls(
        &mut self,
        head: &ContinuationRow,
        why: &str,
    ) -> Result<u64, StoreError> {
        let open = self.conn.rows(
            "SELECT id, estimated_tokens, estimated_cost_usd FROM model_attempts
             WHERE continuation_id = ?1 AND settled_at IS NULL",
            [head.id],
            |row| {
                Ok((
                    row.get("id")?,
                    columns!(row => Usage {
                        input_tokens = "estimated_tokens", cost_usd = "estimated_cost_usd";
                        ..Usage::default()
                    }),
                ))
            },
        )?;
        let count = open.len() as u64;
        for (id, usage) in open {
            self.settle_attempt(id, head.session_id, usage, Some(why))?;
        }
        Ok(count)
    }

    /// Counts open calls at their estimates whose continuation is gone, and removes them.
    pub(crate) fn settle_calls_without_continuation(&self) -> Result<(), StoreError> {
        let lost: Vec<(ModelAttemptId, bool)> = self.conn.rows(
            "SELECT id, channel IS NOT NULL AS counts FROM model_attempts WHERE settled_at IS NULL
                AND NOT EXISTS (SELECT 1 FROM continuations c WHERE c.id = model_attempts.continuation_id)",
            [],
            columns!(id, counts),
        )?;
        for (id, counts) in lost {
            self.conn.run(
                "UPDATE model_attempts SET input_tokens = estimated_tokens, output_tokens = 0, cached_tokens = 0,
                    cache_write_tokens = 0, cost_usd = estimated_cost_usd, error = 'its turn is gone', settled_at = ?2
                 WHERE id = ?1",
                params![id, self.now],
            )?;
            if counts {
                self.count_spend(id)?;
            }
            self.conn
                .run("DELETE FROM model_attempts WHERE id = ?1", [id])?;
        }
        Ok(())
    }

    /// Adds a settled call to what was spent on its day. A call of an earlier schema names neither day nor channel.
    fn count_spend(&self, id: ModelAttemptId) -> Result<(), StoreError> {
        self.conn.run(
            "UPDATE model_attempts SET day = started_at / 86400000, channel = (SELECT s.channel FROM continuations c
                JOIN sessions s ON s.id = c.session_id WHERE c.id = continuation_id)
             WHERE id = ?1 AND (day IS NULL OR channel IS NULL)",
            [id],
        )?;
        self.conn.run(
            "INSERT INTO spend
                SELECT day, channel, model, 1, error IS NOT NULL, input_tokens, output_tokens, cached_tokens,
                    cache_write_tokens, coalesce(cost_usd, 0.0),
                    CASE WHEN cost_usd IS NULL THEN input_tokens + output_tokens ELSE 0 END
                FROM model_attempts WHERE id = ?1
             ON CONFLICT (day, channel, model) DO UPDATE SET calls = calls + 1, failed = failed + excluded.failed,
                input_tokens = input_tokens + excluded.input_tokens,
                output_tokens = output_tokens + excluded.output_tokens,
                cached_tokens = cached_tokens + excluded.cached_tokens,
                cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
                cost_usd = cost_usd + excluded.cost_usd,
                unpriced_tokens = unpriced_tokens + excluded.unpriced_tokens",
            [id],
        )?;
        Ok(())
    }

    /// Takes a real number of input tokens into the ratio that corrects the session's estimates.
    fn learn(&self, session: SessionId, estimated: u64, real: u64) -> Result<(), StoreError> {
        let known: Option<f64> = self.conn.value(
            "SELECT estimate_ratio FROM sessions WHERE id = ?1",
            [session],
        )?;
        if let Some(ratio) = learned_ratio(known, estimated, real) {
            self.conn.run(
                "UPDATE sessions SET estimate_ratio = ?2 WHERE id = ?1",
                params![session, ratio],
            )?;
        }
        Ok(())
    }

    /// Refuses a model call that was made for another continuation.
    pub(crate) fn own_attempt(
        &self,
        id: ModelAttemptId,
        head: &ContinuationRow,
    ) -> Result<(), StoreError> {
        let owner = self.attempt(id)?.continuation_id;
        if owner == head.id {
            Ok(())
        } else {
            Err(StoreError::bug(format!(
                "model attempt {id} belongs to continuation {owner}, not {}",
                head.id
            )))
        }
    }

    /// The first call of a continuation that the model has no result of.
    pub(crate) fn call_without_result(
        &self,
        id: ContinuationId,
    ) -> Result<Option<ToolCallId>, StoreError> {
        self.conn.value_opt::<ToolCallId>(
            "SELECT id FROM tool_calls WHERE continuation_id = ?1 AND result_step IS NULL ORDER BY step, idx LIMIT 1",
            [id],
        )
    }

    /// Keeps what was shown of an answer that nobody waits for any more, and settles its attempt. Does nothing
    /// where the attempt is settled: its end came first.
    pub(crate) fn cut_answer(
        &mut self,
        head: &ContinuationRow,
        step: &ModelStep,
    ) -> Result<(), StoreError> {
        let AnswerSource::Attempt(id) = step.source else {
            return Ok(());
        };
        self.own_attempt(id, head)?;
        let attempt = self.attempt(id)?;
        if attempt.settled || head.state != ContinuationState::Running {
            return Ok(());
        }
        if !step.text.is_empty() {
            return self.model_step(head, step, Vec::new()).map(drop);
        }
        self.settle_attempt(id, head.session_id, step.usage, Some(&step.stop))?;
        self.emit_turn(
            head,
            EventBody::ModelFinished {
                model: attempt.model,
                step: attempt.step,
                usage: step.usage,
                latency_ms: step.latency_ms,
                error: Some(step.stop.clone()),
                stop: None,
                answered_by: None,
                notes: step.notes.clone(),
            },
        )
    }

    /// What used no model costs nothing, which is not the same as an unknown price.
    fn costs_nothing(&mut self, head: &ContinuationRow) -> Result<(), StoreError> {
        for (table, row) in [
            ("continuations", Value::from(head.id)),
            ("sessions", head.session_id.into()),
        ] {
            self.conn.run(
                &format!(
                    "UPDATE {table} SET cost_usd = 0.0
                     WHERE id = ?1 AND cost_usd IS NULL AND input_tokens + output_tokens = 0"
                ),
                [row],
            )?;
        }
        Ok(())
    }

    /// Announces a cached response.
    fn cache_hit(
        &mut self,
        head: &ContinuationRow,
        model: &str,
        cached: &CachedAnswer,
    ) -> Result<(), StoreError> {
        self.costs_nothing(head)?;
        self.emit_turn(
            head,
            EventBody::CacheHit {
                channel: head.channel.clone(),
                model: model.to_owned(),
                cached: cached.clone(),
            },
        )
    }

    /// Stores a model answer: settles its attempt, writes the step, announces it. The step's number.
    pub(crate) fn model_step(
        &mut self,
        head: &ContinuationRow,
        step: &ModelStep,
        calls: Vec<ToolCallId>,
    ) -> Result<u32, StoreError> {
        if let AnswerSource::Attempt(id) = step.source {
            self.own_attempt(id, head)?;
        }
        // Reserving asks the same, but two calls may have been reserved before either answered.
        if let Some(call) = self.call_without_result(head.id)? {
            return Err(StoreError::bug(format!(
                "continuation {} has a tool call without result ({call}): no model answer before it",
                head.id
            )));
        }
        match &step.source {
            AnswerSource::Attempt(id) => {
                self.settle_attempt(*id, head.session_id, step.usage, None)?;
            }
            AnswerSource::Cache(cached) => self.cache_hit(head, &step.model, cached)?,
            AnswerSource::Direct => self.costs_nothing(head)?,
        }
        let proposed = calls.len();
        let n = self.push_step(
            head,
            &StepBody::Model {
                model: step.model.clone(),
                text: step.text.clone(),
                tool_calls: calls,
                stop: step.stop.clone(),
                usage: step.usage,
                latency_ms: step.latency_ms,
                attempts: step.attempts,
                native: step.native.clone(),
                dropped: step.dropped.clone(),
                notes: step.notes.clone(),
                cached: match &step.source {
                    AnswerSource::Attempt(_) | AnswerSource::Direct => None,
                    AnswerSource::Cache(cached) => Some(cached.clone()),
                },
            },
        )?;
        self.conn.run(
            "UPDATE continuations SET used_steps = used_steps + 1, used_tool_calls = used_tool_calls + ?2,
                used_active_ms = used_active_ms + ?3, updated_at = ?4 WHERE id = ?1",
            params![head.id, proposed, step.active_ms, self.now],
        )?;
        if step.source == AnswerSource::Direct {
            return Ok(n);
        }
        self.emit_turn(
            head,
            EventBody::ModelFinished {
                model: step.model.clone(),
                step: n,
                usage: step.usage,
                latency_ms: step.latency_ms,
                error: None,
                stop: Some(step.stop.clone()).filter(|word| !word.is_empty()),
                answered_by: step.answered_by.clone(),
                notes: step.notes.clone(),
            },
        )?;
        Ok(n)
    }
}
