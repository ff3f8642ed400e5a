//! Jobs of external agents, read from their sessions and turns.

use crate::protocol::agent_job::{AgentJob, AgentRun, JOBS};
use crate::protocol::enums::{AgentJobState, ContinuationState, ToolCallState};
use crate::protocol::gate::GATE;
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::protocol::options::TurnOptions;
use crate::protocol::session::{Continuation, Session};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;
use crate::store::queries::continuations::load_continuations;
use crate::store::queries::sessions::SessionFilter;
use crate::store::reader::Reader;
use crate::store::sql::{Statements, params};

/// The run that a turn makes; none = it makes another call.
fn run_of(options: Option<&TurnOptions>) -> Option<AgentRun> {
    let call = options?.call.as_ref()?;
    AgentRun::from_arguments(&call.arguments)
}

impl Reader<'_> {
    /// One job.
    pub fn agent_job(&self, id: SessionId) -> Result<AgentJob, StoreError> {
        let session = self.session(id)?;
        self.job(&session)?
            .ok_or_else(|| StoreError::not_found("job", id))
    }

    /// Jobs, newest change first.
    pub fn agent_jobs(&self, page: &PageRequest) -> Result<Page<AgentJob>, StoreError> {
        let filter = SessionFilter {
            state: None,
            channel: Some(GATE.to_owned()),
            prefix: Some(JOBS.to_owned()),
        };
        let sessions = self.sessions(&filter, page)?;
        let mut items = Vec::with_capacity(sessions.items.len());
        for session in &sessions.items {
            items.extend(self.job(session)?);
        }
        Ok(Page {
            items,
            next_cursor: sessions.next_cursor,
        })
    }

    /// The job of a session; none = it is of no job, or its turns were swept.
    fn job(&self, session: &Session) -> Result<Option<AgentJob>, StoreError> {
        if session.channel != GATE || !session.conversation.starts_with(JOBS) {
            return Ok(None);
        }
        let newest = load_continuations(
            self.conn,
            "WHERE c.session_id = ?1 ORDER BY c.position DESC LIMIT 1",
            [session.id],
        )?;
        let Some((_, newest)) = newest.into_iter().next() else {
            return Ok(None);
        };
        let Some(run) = run_of(newest.options.as_ref()) else {
            return Ok(None);
        };
        let runs = self.conn.value_opt(
            "SELECT count(*) FROM continuations WHERE session_id = ?1",
            [session.id],
        )?;
        let (state, detail, approval_id) = self.job_standing(&newest, &run)?;
        let answer = newest.response.map(|response| response.text);
        Ok(Some(AgentJob {
            id: session.id,
            agent: run.agent,
            session: run.session,
            directory: run.directory,
            task: run.task,
            state,
            detail,
            approval_id,
            answer: answer.filter(|_| state == AgentJobState::Completed),
            continuation_id: newest.id,
            runs: runs.unwrap_or_default(),
            created_at: session.created_at,
            updated_at: newest.updated_at,
        }))
    }

    /// Where a job stands, why, and the approval that it waits for.
    fn job_standing(
        &self,
        newest: &Continuation,
        run: &AgentRun,
    ) -> Result<(AgentJobState, Option<String>, Option<ApprovalId>), StoreError> {
        let why = newest.error.as_ref().map(|error| error.message.clone());
        let pending = |id: ContinuationId| {
            self.conn.value_opt::<ApprovalId>(
                "SELECT id FROM approvals WHERE continuation_id = ?1 AND state = 'pending' ORDER BY position LIMIT 1",
                [id],
            )
        };
        Ok(match newest.state {
            ContinuationState::Pending => {
                let asked = match &run.after {
                    Some(call) => self.gate_turn(&format!("{}/{call}", run.conversation()))?,
                    None => None,
                };
                let asked =
                    asked.filter(|asked| asked.state == ContinuationState::AwaitingApproval);
                match asked {
                    Some(asked) => (
                        AgentJobState::Waiting,
                        None,
                        pending(asked.continuation_id)?,
                    ),
                    None => (AgentJobState::Queued, None, None),
                }
            }
            ContinuationState::Running | ContinuationState::Streaming => {
                (AgentJobState::Running, None, None)
            }
            ContinuationState::AwaitingApproval => {
                (AgentJobState::Asking, None, pending(newest.id)?)
            }
            ContinuationState::Interrupted => (AgentJobState::Interrupted, why, None),
            ContinuationState::Cancelled => (AgentJobState::Cancelled, why, None),
            ContinuationState::Failed | ContinuationState::Expired => {
                (AgentJobState::Failed, why, None)
            }
            ContinuationState::Completed => {
                let call = newest.tool_calls.last();
                match call.filter(|call| call.state != ToolCallState::Succeeded) {
                    Some(call) => (AgentJobState::Failed, call.result.clone(), None),
                    None => (AgentJobState::Completed, None, None),
                }
            }
        })
    }

    /// The runs of jobs that have not ended, with their sessions, the oldest first.
    pub fn open_agent_runs(
        &self,
    ) -> Result<Vec<(ContinuationId, SessionId, AgentRun)>, StoreError> {
        let open = self.conn.rows(
            "SELECT c.id, c.session_id, c.options FROM continuations c JOIN sessions s ON s.id = c.session_id
             WHERE c.ended_at IS NULL AND s.channel = ?1 AND substr(s.conversation, 1, length(?2)) = ?2
             ORDER BY c.position",
            params![GATE, JOBS],
            |row| {
                let options: Option<TurnOptions> = row.json_opt("options")?;
                Ok((row.get("id")?, row.get("session_id")?, run_of(options.as_ref())))
            },
        )?;
        let runs = open.into_iter();
        Ok(runs
            .filter_map(|(id, session, run)| Some((id, session, run?)))
            .collect())
    }

    /// The turns of a session that have not ended, the oldest first.
    pub fn open_turns(&self, session: SessionId) -> Result<Vec<ContinuationId>, StoreError> {
        self.conn.values(
            "SELECT id FROM continuations WHERE session_id = ?1 AND ended_at IS NULL ORDER BY position",
            [session],
        )
    }
}
