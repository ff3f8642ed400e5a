//! Compactions: reserving their model calls, and ending them. One is under way in a session at most.

use crate::protocol::enums::{CompactionState, ContinuationState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{CompactionId, ModelAttemptId, SessionId};
use crate::protocol::memory::Compaction;
use crate::store::command::WriteTx;
use crate::store::commands::reserve_model::Reservation;
use crate::store::error::StoreError;
use crate::store::input::{CompactionCall, Purpose};
use crate::store::queries::compactions::load_compaction;
use crate::store::sql::{Statements, params};

impl WriteTx<'_> {
    /// A compaction of this boot that is under way.
    pub(crate) fn running_compaction(
        &self,
        id: CompactionId,
        epoch: u64,
    ) -> Result<Compaction, StoreError> {
        self.same_epoch(epoch)?;
        let compaction = load_compaction(self.conn, id)?;
        if compaction.state != CompactionState::Running {
            return Err(StoreError::conflict(format!(
                "compaction {id} is {}, not running",
                compaction.state
            )));
        }
        Ok(compaction)
    }

    /// Version of a session's summary; 0 = there is none.
    pub(crate) fn summary_version(&self, session: SessionId) -> Result<u64, StoreError> {
        Ok(self
            .conn
            .value_opt(
                "SELECT version FROM summaries WHERE session_id = ?1",
                [session],
            )?
            .unwrap_or(0))
    }

    /// Reserves a model call for a compaction. Its row hangs on the newest turn it covers, and counts for everything
    /// but that turn.
    pub(crate) fn reserve_for_compaction(
        &mut self,
        session: SessionId,
        call: &CompactionCall,
        attempt: u32,
    ) -> Result<Reservation, StoreError> {
        let head = self.head(call.newest)?;
        if head.session_id != session || head.state != ContinuationState::Completed {
            return Err(StoreError::conflict(format!(
                "continuation {} is no completed turn of session {session}",
                head.id
            )));
        }
        self.refuse_quarantined("session", session, "no model is called")?;
        let stop = self.judge_budgets(
            &head,
            Purpose::Session,
            &call.limits,
            call.estimated_tokens,
            call.estimated_cost_usd,
        )?;
        if let Some(stop) = stop {
            return Ok(Reservation::Exhausted(stop));
        }
        let id = ModelAttemptId::generate();
        self.conn.run(
            "INSERT INTO model_attempts (id, continuation_id, epoch, step, attempt, model, estimated_tokens,
                estimated_cost_usd, started_at, channel, day, purpose)
             VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'compaction')",
            params![
                id,
                head.id,
                self.epoch,
                attempt,
                call.model,
                call.estimated_tokens,
                call.estimated_cost_usd,
                self.now,
                head.channel,
                call.limits.day
            ],
        )?;
        Ok(Reservation::Granted(id))
    }

    /// Ends a compaction that changed nothing, and says so.
    pub(crate) fn fail_compaction(
        &mut self,
        id: CompactionId,
        error: &str,
    ) -> Result<Compaction, StoreError> {
        self.conn.run(
            "UPDATE compactions SET state = 'failed', error = ?2, ended_at = ?3 WHERE id = ?1 AND state = 'running'",
            params![id, error, self.now],
        )?;
        self.compaction_ended(id, "compaction_failed")
    }

    /// Tells how a compaction ended.
    pub(crate) fn compaction_ended(
        &mut self,
        id: CompactionId,
        change: &str,
    ) -> Result<Compaction, StoreError> {
        let compaction = load_compaction(self.conn, id)?;
        let channel: String = self.conn.value(
            "SELECT channel FROM sessions WHERE id = ?1",
            [compaction.session_id],
        )?;
        self.emit(
            Some(compaction.session_id),
            None,
            EventBody::MemoryChanged {
                change: change.to_owned(),
                channel: Some(channel),
                count: compaction.facts,
                compaction: Some(Box::new(compaction.clone())),
                by: compaction.model.clone(),
            },
        )?;
        Ok(compaction)
    }

    /// Compactions that were under way when the process ended have changed nothing.
    pub(crate) fn fail_all_compactions(&mut self, error: &str) -> Result<(), StoreError> {
        let running = self.conn.values::<CompactionId>(
            "SELECT id FROM compactions WHERE state = 'running' ORDER BY position",
            [],
        )?;
        for id in running {
            self.fail_compaction(id, error)?;
        }
        Ok(())
    }
}
