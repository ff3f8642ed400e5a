//! Takes the database over after a start: new epoch, and a truthful state for everything that was in flight.

use crate::clock::Timestamp;
use crate::protocol::enums::{ApprovalKind, ApprovalState};
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, ToolCallId};
use crate::store::command::{WriteCommand as _, WriteTx};
use crate::store::commands::ask_in_call::WithdrawQuestion;
use crate::store::commands::end_send::{ask_old, settle_lost};
use crate::store::commands::quarantine::{COPY_MARK, doubt_open_work};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::meta;
use crate::store::queries::channels::held;
use crate::store::sql::Statements;
use serde_json::json;

/// What opening found and settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// The epoch of this process.
    pub epoch: u64,
    /// Whether the process before closed the store.
    pub clean: bool,
    /// Continuations that were running and had more than their questions open.
    pub interrupted: Vec<ContinuationId>,
    /// Calls whose outcome nobody knows; each has a pending `resolve_unknown` approval.
    pub resolve: Vec<ToolCallId>,
    /// Calls that were in flight and may simply run again.
    pub ready_again: u32,
    /// Parts whose delivery nobody knows; each has a pending `resend` approval.
    pub unknown_sends: Vec<OutboxId>,
    /// Parts of answers older than six hours that are not delivered late by themselves; each has a pending `resend`
    /// approval.
    pub old_answers: Vec<OutboxId>,
    /// Whether the database is a restored copy that waits for release.
    pub quarantine: bool,
    /// Since when, and why, an emergency stop holds the engine.
    pub held: Option<(Timestamp, String)>,
    /// Starts after a crash within the last ten minutes, this one included.
    pub crashes_in_10_min: u32,
}

/// Starts after a crash are counted within this many milliseconds.
const CRASH_WINDOW_MS: u64 = 10 * 60 * 1000;
/// An answer that was not delivered for so many milliseconds is asked about.
pub(crate) const OLD_ANSWER_MS: i64 = 6 * 3600 * 1000;
/// Why everything in flight stopped.
const DIED: &str = "the process ended while it ran";

/// Runs inside `open`, in one durable transaction. Running it again changes nothing more.
#[derive(Debug, Clone)]
pub(crate) struct Recover {
    /// The database is older than what this directory has seen.
    pub(crate) quarantine: bool,
}

impl Recover {
    /// Whether the process before ended cleanly, and how many starts after a crash lie close together.
    fn count_start(tx: &WriteTx<'_>) -> Result<(bool, u32), StoreError> {
        let first = meta::get(tx.conn, "epoch")?.is_none();
        let clean = first || meta::get(tx.conn, "clean")?.is_some();
        meta::clear(tx.conn, "clean")?;
        let mut starts: Vec<i64> = if clean {
            Vec::new()
        } else {
            meta::get(tx.conn, "starts")?
                .and_then(|text| serde_json::from_str(&text).ok())
                .unwrap_or_default()
        };
        if !clean {
            starts.push(tx.now.as_millis());
            starts.retain(|at| tx.now.millis_since(Timestamp(*at)) <= CRASH_WINDOW_MS);
        }
        meta::set(tx.conn, "starts", &json!(starts).to_string())?;
        Ok((clean, u32::try_from(starts.len()).unwrap_or(u32::MAX)))
    }

    /// A call to a model that was under way is settled at its estimate: it may have been billed in full.
    fn settle_models(tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        // An earlier version could remove a turn during its call.
        tx.settle_calls_without_continuation()?;
        let open = tx.conn.values::<ContinuationId>(
            "SELECT DISTINCT continuation_id FROM model_attempts WHERE settled_at IS NULL",
            [],
        )?;
        for id in open {
            let head = tx.head(id)?;
            tx.settle_abandoned_calls(&head, DIED)?;
        }
        Ok(())
    }

    /// Puts turns back in line that had only their questions open: the process died before it parked them. Nothing of
    /// them was in flight, so no policy has to say whether they go on. Whoever claims one parks it and tells its chat.
    /// An interrupted turn would need a resume besides the approval, and whoever approves does not know that.
    ///
    /// The calls of other people's agents are left out: `engine::handle::gate` resumes them itself.
    fn requeue_unparked(tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let waiting = tx.conn.values::<ContinuationId>(
            "SELECT c.id FROM continuations c
             WHERE c.ended_at IS NULL AND c.state = 'running' AND json_extract(c.options, '$.call.external') IS NULL
                AND EXISTS (SELECT 1 FROM approvals a
                    WHERE a.continuation_id = c.id AND +a.state = 'pending' AND a.kind <> 'resend')
                AND NOT EXISTS (SELECT 1 FROM tool_calls t WHERE t.continuation_id = c.id
                    AND t.state IN ('proposed', 'ready', 'approved', 'started', 'indeterminate'))
                AND NOT EXISTS (SELECT 1 FROM model_attempts m
                    WHERE m.continuation_id = c.id AND m.settled_at IS NULL)
             ORDER BY +c.position",
            [],
        )?;
        for id in waiting {
            let mut head = tx.head(id)?;
            tx.requeue(&mut head, &ActorRef::engine().label)?;
        }
        Ok(())
    }

    fn interrupt(tx: &mut WriteTx<'_>) -> Result<Vec<ContinuationId>, StoreError> {
        let running = tx.conn.values::<ContinuationId>(
            "SELECT id FROM continuations WHERE ended_at IS NULL AND state = 'running' ORDER BY +position",
            [],
        )?;
        let mut interrupted = Vec::with_capacity(running.len());
        for id in running {
            if tx.interrupt_continuation(id, DIED)? {
                interrupted.push(id);
            }
        }
        Ok(interrupted)
    }

    /// Nobody hears the answers to what calls asked that ended with the process.
    fn withdraw_questions(tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let open = tx.conn.values::<ApprovalId>(
            "SELECT id FROM approvals WHERE state = 'pending' AND kind = 'question' AND tool_call_id IS NULL
             ORDER BY position",
            [],
        )?;
        for approval_id in open {
            let withdraw = WithdrawQuestion {
                approval_id,
                to: ApprovalState::Revoked,
            };
            withdraw.apply(tx)?;
        }
        Ok(())
    }

    /// An answer that nobody delivered for so long is not delivered late by itself: a person is asked first.
    fn old_answers(tx: &mut WriteTx<'_>) -> Result<Vec<OutboxId>, StoreError> {
        let oldest = tx.now.plus_millis(-OLD_ANSWER_MS);
        // Counted from a person's word, where one said: send it.
        let old = tx.conn.values::<OutboxId>(
            "SELECT o.id FROM outbox o WHERE o.state = 'pending' AND o.class = 'final' AND o.created_at < ?1
                AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.outbox_id = o.id AND a.decided_at >= ?1)
             ORDER BY o.position",
            [oldest],
        )?;
        for id in &old {
            let mut part = tx.part(*id)?;
            ask_old(tx, &mut part)?;
        }
        Ok(old)
    }

    /// Does it.
    pub(crate) fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Recovery, StoreError> {
        let (clean, mut crashes_in_10_min) = Self::count_start(tx)?;
        meta::set(tx.conn, "epoch", &tx.epoch.to_string())?;
        if self.quarantine {
            meta::set(tx.conn, "quarantine", "1")?;
            meta::clear(tx.conn, COPY_MARK)?;
            // What a copy remembers of crashes is not of this directory.
            meta::set(tx.conn, "starts", "[]")?;
            crashes_in_10_min = 0;
        }
        Self::requeue_unparked(tx)?;
        Self::settle_models(tx)?;
        tx.fail_all_compactions(DIED)?;
        let interrupted = Self::interrupt(tx)?;
        Self::withdraw_questions(tx)?;
        let started = tx.conn.values::<ToolCallId>(
            "SELECT id FROM tool_calls WHERE state = 'started' ORDER BY +position",
            [],
        )?;
        let mut resolve = Vec::new();
        let mut ready_again = 0;
        for id in started {
            if tx.settle_started(id, DIED)? {
                ready_again += 1;
            } else if tx.call(id)?.approval_id.is_some_and(|approval| {
                tx.gate(approval)
                    .is_ok_and(|gate| gate.kind == ApprovalKind::ResolveUnknown)
            }) {
                resolve.push(id);
            }
        }
        crate::crash_point!("recover.mid");
        let sending = tx.conn.values::<OutboxId>(
            "SELECT id FROM outbox WHERE state = 'sending' ORDER BY position",
            [],
        )?;
        let mut unknown_sends = Vec::new();
        for id in sending {
            let mut part = tx.part(id)?;
            if settle_lost(tx, &mut part, "the process ended while it was being sent")? {
                unknown_sends.push(id);
            }
        }
        if self.quarantine {
            unknown_sends.extend(doubt_open_work(tx)?);
        }
        let old_answers = Self::old_answers(tx)?;
        let quarantine = meta::quarantined(tx.conn)?;
        tx.audit(
            "engine.started",
            &ActorRef::engine(),
            None,
            "engine",
            &json!({
                "epoch": tx.epoch, "clean": clean, "quarantine": quarantine, "interrupted": interrupted.len(),
                "unknown_calls": resolve.len(), "ready_again": ready_again, "unknown_sends": unknown_sends.len(),
                "old_answers": old_answers.len(),
            }),
        )?;
        Ok(Recovery {
            epoch: tx.epoch,
            clean,
            interrupted,
            resolve,
            ready_again,
            unknown_sends,
            old_answers,
            quarantine,
            held: held(tx.conn)?,
            crashes_in_10_min,
        })
    }
}
