//! Begins a run of a routine, or notes that it did not begin: run, turn and the next due time in one transaction.
//!
//! A due time has one run however often this is tried: the row of the run, the turn and the step to the next due time
//! are committed together, and the next due time is always a later one.

use crate::protocol::enums::{ContinuationState, Disposition, RoutineRunState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ContinuationId, RoutineId, RoutineRunId};
use crate::protocol::routine::{Routine, RoutineRun};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::ingest_turn::{IngestOutcome, IngestTurn};
use crate::store::commands::put_routine::Due;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::routines::{load_routine, run_of_turn};
use crate::store::rows::preview;
use crate::store::sql::{Statements, params};

/// Runs kept of each routine.
pub const KEPT_RUNS: u32 = 500;

/// Why a run takes place.
#[derive(Debug, Clone)]
pub enum Occasion {
    /// It was due.
    Due {
        /// The time by the schedule, as it was read.
        due_at: crate::clock::Timestamp,
        /// When it is due next; none = never again.
        next: Option<Due>,
    },
    /// A person asked for it.
    Asked(ActorRef),
}

/// What is to become of it.
#[derive(Debug, Clone)]
pub enum RunAction {
    /// A turn, unless the run before is still open.
    Turn(Box<IngestTurn>),
    /// Nothing, for a reason.
    Not {
        /// Skipped or failed.
        state: RoutineRunState,
        /// Why.
        detail: String,
    },
}

/// A run. Durable.
#[derive(Debug, Clone)]
pub struct BeginRoutine {
    pub id: RoutineId,
    /// Why now.
    pub occasion: Occasion,
    /// What with.
    pub deed: RunAction,
    /// What is noted with a run that begins: whom it makes up for, who asked.
    pub note: Option<String>,
}

/// What a try found.
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// The run as it is stored, and what became of its message.
    Run(RoutineRun, Option<IngestOutcome>),
    /// The run before is still open: nothing was stored, because a person asked.
    Open(ContinuationId),
    /// Somebody changed, disabled or removed it, or this due time has its run: nothing was stored.
    NotDue,
}

impl BeginRoutine {
    fn last_open(&self, tx: &WriteTx<'_>) -> Result<Option<ContinuationId>, StoreError> {
        // An interrupted one waits for a person, which may be never: it keeps nobody from running.
        tx.conn.value_opt::<ContinuationId>(
            "SELECT c.id FROM routine_runs r JOIN continuations c ON c.id = r.continuation_id
             WHERE r.routine_id = ?1 AND c.ended_at IS NULL AND c.state <> 'interrupted'
             ORDER BY r.position DESC LIMIT 1",
            [self.id],
        )
    }

    /// Why it did not begin, with whom it would have made up for.
    fn not(&self, why: &str) -> String {
        match &self.note {
            Some(note) => format!("{note}; it did not run: {why}"),
            None => why.to_owned(),
        }
    }

    fn step_on(&self, tx: &WriteTx<'_>, next: Option<Due>) -> Result<(), StoreError> {
        tx.conn.run(
            "UPDATE routines SET due_at = ?2, begin_at = ?3 WHERE id = ?1",
            params![
                self.id,
                next.map(|(due, _)| due),
                next.map(|(_, begin)| begin)
            ],
        )?;
        Ok(())
    }

    fn store(&self, tx: &mut WriteTx<'_>, run: &RoutineRun) -> Result<(), StoreError> {
        tx.conn.run(
            "INSERT INTO routine_runs (id, routine_id, state, detail, continuation_id, due_at, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                run.id,
                self.id,
                run.state,
                run.detail,
                run.continuation_id,
                run.due_at,
                run.at
            ],
        )?;
        tx.conn.run(
            "DELETE FROM routine_runs WHERE routine_id = ?1 AND position <=
                (SELECT position FROM routine_runs WHERE routine_id = ?1 ORDER BY position DESC LIMIT 1 OFFSET ?2)",
            params![self.id, KEPT_RUNS],
        )?;
        Ok(())
    }

    fn carry_out(&self, tx: &mut WriteTx<'_>) -> Result<Begun, StoreError> {
        let routine = load_routine(tx.conn, self.id)?;
        let due_at = match &self.occasion {
            Occasion::Due { due_at, next } => {
                if routine.due_at != Some(*due_at) {
                    return Ok(Begun::NotDue);
                }
                self.step_on(tx, *next)?;
                // The index would refuse it too; then everything else of this transaction would be lost.
                let ran: bool = tx.conn.value(
                    "SELECT EXISTS (SELECT 1 FROM routine_runs WHERE routine_id = ?1 AND due_at = ?2)",
                    params![self.id, due_at],
                )?;
                if ran {
                    return Ok(Begun::NotDue);
                }
                Some(*due_at)
            }
            Occasion::Asked(_) => None,
        };
        let mut run = RoutineRun {
            id: RoutineRunId::generate(),
            routine_id: self.id,
            state: RoutineRunState::Started,
            detail: self.note.clone(),
            continuation_id: None,
            continuation_state: None,
            due_at,
            at: tx.now,
        };
        let mut ingested = None;
        match (&self.deed, self.last_open(tx)?) {
            (RunAction::Not { state, detail }, _) => {
                run.state = *state;
                run.detail = Some(detail.clone());
            }
            (RunAction::Turn(turn), open) => {
                // A repeated request finds the run it began the first time.
                let seen = crate::store::commands::ingest_turn::seen_before(tx, &turn.origin)?;
                match (open, &self.occasion) {
                    (Some(open), Occasion::Asked(_)) if seen.is_none() => {
                        return Ok(Begun::Open(open));
                    }
                    (Some(open), Occasion::Due { .. }) => {
                        run.state = RoutineRunState::Skipped;
                        run.detail =
                            Some(self.not(&format!("the run before is still open ({open})")));
                    }
                    (Some(_) | None, _) => {
                        let outcome = turn.apply(tx)?;
                        if outcome.repeated
                            && let Some(continuation) = outcome.continuation_id
                            && let Some(run) = run_of_turn(tx.conn, continuation)?
                        {
                            return Ok(Begun::Run(run, Some(outcome)));
                        }
                        if outcome.disposition == Disposition::QueueFull {
                            run.state = RoutineRunState::Skipped;
                            run.detail = Some(self.not("the conversation's queue is full"));
                        }
                        run.continuation_id = outcome.continuation_id;
                        run.continuation_state =
                            outcome.continuation_id.map(|_| ContinuationState::Pending);
                        ingested = Some(outcome);
                    }
                }
            }
        }
        self.store(tx, &run)?;
        if let Occasion::Asked(by) = &self.occasion {
            tx.audit(
                "routine.run",
                by,
                Some(&routine.channel),
                &routine.name,
                &serde_json::json!({ "continuation_id": run.continuation_id, "state": run.state }),
            )?;
        }
        let change = match run.state {
            RoutineRunState::Started => "ran",
            RoutineRunState::Skipped => "skipped",
            RoutineRunState::Failed => "failed",
        };
        let routine = load_routine(tx.conn, self.id)?;
        tx.routine_changed(change, routine)?;
        Ok(Begun::Run(run, ingested))
    }
}

impl WriteCommand for BeginRoutine {
    type Output = Begun;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Begun, StoreError> {
        let begun = match self.carry_out(tx) {
            // Removed meanwhile.
            Err(StoreError::NotFound {
                what: "routine", ..
            }) => Begun::NotDue,
            done => done?,
        };
        crate::crash_point!("routine.begin_pre_commit");
        Ok(begun)
    }

    fn committed(&self) {
        crate::crash_point!("routine.begin_post_commit");
    }
}

impl WriteTx<'_> {
    /// Tells that a routine changed, with the beginning of its prompt.
    pub(crate) fn routine_changed(
        &mut self,
        change: &str,
        mut routine: Routine,
    ) -> Result<(), StoreError> {
        routine.prompt = preview(&routine.prompt);
        self.emit(
            None,
            None,
            EventBody::RoutineChanged {
                change: change.to_owned(),
                routine: Box::new(routine),
            },
        )
    }
}
