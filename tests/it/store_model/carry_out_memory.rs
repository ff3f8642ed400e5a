//! The steps of compactions as the store's commands.

use leverframe::protocol::ids::{CompactionId, ContinuationId, ModelAttemptId};
use leverframe::store::commands::begin_compaction::BeginCompaction;
use leverframe::store::commands::commit_compaction::CommitCompaction;
use leverframe::store::commands::fail_compaction::FailCompaction;
use leverframe::store::commands::reserve_model::Reservation;
use leverframe::store::commands::retry_compaction::RetryCompaction;
use leverframe::store::input::CompactionCall;

use crate::store_model::carry_out::shared_limits;
use crate::store_model::model::{Model, No, Outcome};
use crate::store_model::step::Step;
use crate::store_model::system::{System, usage};

/// What the store holds of a session before a step.
struct Found {
    id: CompactionId,
    version: u64,
    attempt: ModelAttemptId,
    open: bool,
    turns: Vec<ContinuationId>,
}

impl System {
    /// A reservation in the model's words.
    pub(crate) fn reserved(&mut self, reservation: Reservation) -> Outcome {
        match reservation {
            Reservation::Granted(id) => {
                self.ids.tries.push(id.to_bytes());
                Outcome::Done
            }
            Reservation::Exhausted(stop) => Outcome::Exhausted(stop.budget),
        }
    }

    fn compaction_call(&self, turn: usize, tokens: u32) -> CompactionCall {
        CompactionCall {
            model: "scripted/demo".to_owned(),
            newest: self.turn(turn),
            estimated_tokens: u64::from(tokens),
            estimated_cost_usd: None,
            limits: shared_limits(),
        }
    }

    fn version(&self, session: usize) -> u64 {
        let session = self.session(session).to_bytes();
        self.hook(move |conn| {
            conn.query_row(
                "SELECT coalesce((SELECT version FROM summaries WHERE session_id = ?1), 0)",
                [session],
                |row| row.get(0),
            )
            .unwrap()
        })
    }

    /// The newest compaction of a session, and what it would cover of turns up to `newest`.
    fn found(&self, session: usize, newest: usize) -> Found {
        let version = self.version(session);
        let (of, newest) = (
            self.session(session).to_bytes(),
            self.turn(newest).to_bytes(),
        );
        let (id, calls, turns) = self.hook(move |conn| {
            let id: [u8; 16] = conn
                .query_row(
                    "SELECT id FROM compactions WHERE session_id = ?1 ORDER BY position DESC LIMIT 1",
                    [of],
                    |row| row.get(0),
                )
                .unwrap();
            let calls: Vec<([u8; 16], bool)> = conn
                .prepare(
                    "SELECT m.id, m.settled_at IS NULL FROM model_attempts m
                     JOIN continuations c ON c.id = m.continuation_id
                     WHERE m.purpose = 'compaction' AND c.session_id = ?1",
                )
                .unwrap()
                .query_map([of], |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            let turns: Vec<[u8; 16]> = conn
                .prepare(
                    "SELECT id FROM continuations WHERE session_id = ?1 AND state = 'completed' AND archived_at IS NULL
                        AND position <= (SELECT position FROM continuations WHERE id = ?2) ORDER BY position",
                )
                .unwrap()
                .query_map([of, newest], |row| row.get(0))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            (id, calls, turns)
        });
        // Calls to models have no position: the last one is the one that was made last here.
        let (attempt, open) = self
            .ids
            .tries
            .iter()
            .rev()
            .find_map(|try_| calls.iter().find(|(id, _)| id == try_))
            .copied()
            .unwrap();
        Found {
            id: CompactionId::from_bytes(id),
            version,
            attempt: ModelAttemptId::from_bytes(attempt),
            open,
            turns: turns.into_iter().map(ContinuationId::from_bytes).collect(),
        }
    }

    /// Carries out a step of a compaction.
    pub(crate) fn with_memory(
        &mut self,
        model: &Model,
        step: &Step,
        epoch: u64,
    ) -> Result<Outcome, Outcome> {
        let (session, tokens) = match step {
            Step::BeginCompaction { turn, tokens } => {
                let session = model.turns[*turn].session;
                let begin = BeginCompaction {
                    id: CompactionId::generate(),
                    session_id: self.session(session),
                    epoch,
                    version: self.version(session),
                    turns: 1,
                    tokens_before: 1,
                    call: self.compaction_call(*turn, *tokens),
                };
                return self.write(begin).map(|made| self.reserved(made));
            }
            Step::CommitCompaction { session, tokens }
            | Step::FailCompaction { session, tokens }
            | Step::RetryCompaction { session, tokens } => (*session, *tokens),
            other => panic!("{other:?}"),
        };
        let Some(at) = model.compaction_of(session) else {
            return Err(Outcome::Refused(No::Illegal));
        };
        let newest = model.compactions[at].newest;
        let found = self.found(session, newest);
        match step {
            Step::CommitCompaction { .. } => self
                .write(CommitCompaction {
                    id: found.id,
                    epoch,
                    attempt_id: found.attempt,
                    usage: usage(tokens),
                    version: found.version,
                    summary: "what was said".to_owned(),
                    turns: found.turns,
                    taint: Vec::new(),
                    facts: Vec::new(),
                    tokens_after: 1,
                })
                .map(|_| Outcome::Done),
            Step::FailCompaction { .. } => self
                .write(FailCompaction {
                    id: found.id,
                    epoch,
                    call: found.open.then(|| (found.attempt, usage(tokens))),
                    error: "not now".to_owned(),
                })
                .map(|_| Outcome::Done),
            _ => {
                let again = RetryCompaction {
                    id: found.id,
                    epoch,
                    attempt_id: found.attempt,
                    usage: usage(tokens),
                    error: "not JSON".to_owned(),
                    call: self.compaction_call(newest, tokens),
                };
                self.write(again).map(|made| self.reserved(made))
            }
        }
    }
}
