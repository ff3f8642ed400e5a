//! Makes, changes and removes routines. Only a person's word leads here.

use crate::clock::Timestamp;
use crate::protocol::command::BudgetRequest;
use crate::protocol::enums::{Autonomy, MissedRuns};
use crate::protocol::ids::RoutineId;
use crate::protocol::routine::Routine;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::routines::{find_routine, load_routine};
use crate::store::sql::{Json, Statements, params};

/// Routines there may be.
pub const MAX_ROUTINES: u32 = 200;

/// When a routine is due, and when that run begins.
pub type Due = (Timestamp, Timestamp);

/// When a changed routine is due next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextDue {
    /// As it was.
    AsBefore,
    /// Then; none = never.
    At(Option<Due>),
}

/// What a person sets of a routine, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineFields {
    /// Name; unique.
    pub name: String,
    /// Cron or interval.
    pub schedule: String,
    /// IANA name; none = of the machine.
    pub time_zone: Option<String>,
    /// What the bot is told.
    pub prompt: String,
    pub channel: String,
    pub conversation: String,
    /// Model; none = of the session.
    pub model: Option<String>,
    /// Limits of a run.
    pub budgets: BudgetRequest,
    /// The most it may do by itself.
    pub autonomy_ceiling: Autonomy,
    /// Whether gated calls wait for a person.
    pub park: bool,
    /// What happens to missed runs.
    pub missed: MissedRuns,
    /// Delay at most, in seconds.
    pub jitter_seconds: u32,
    /// Whether it runs by itself.
    pub enabled: bool,
}

/// Makes a routine, or changes one that has not changed since it was read. Durable; answers it as it is now.
#[derive(Debug, Clone)]
pub struct PutRoutine {
    pub id: RoutineId,
    /// Version that was read; 0 = it is new.
    pub version: u64,
    /// What it is now.
    pub fields: RoutineFields,
    /// When it is due next. A routine that does not run by itself is never due.
    pub due: NextDue,
    pub by: ActorRef,
}

impl PutRoutine {
    fn insert(&self, tx: &WriteTx<'_>) -> Result<(), StoreError> {
        let count: u32 = tx.conn.value("SELECT count(*) FROM routines", [])?;
        if count >= MAX_ROUTINES {
            return Err(StoreError::rejected(format!(
                "there are {count} routines; at most {MAX_ROUTINES} are kept: remove one first"
            )));
        }
        // The fields follow in the same transaction.
        tx.conn.run(
            "INSERT INTO routines (id, name, schedule, prompt, channel, conversation, budgets, autonomy_ceiling,
                missed, by_label, version, created_at, updated_at)
             VALUES (?1, ?2, '', '', '', '', '{}', 'supervised', 'skip', '', 0, ?3, ?3)",
            params![self.id, self.fields.name, tx.now],
        )?;
        Ok(())
    }
}

impl WriteCommand for PutRoutine {
    type Output = Routine;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Routine, StoreError> {
        let fields = &self.fields;
        if let Some(other) = find_routine(tx.conn, &fields.name)?
            && other != self.id
        {
            return Err(StoreError::rejected(format!(
                "there is a routine `{}` already",
                fields.name
            )));
        }
        if self.version == 0 {
            self.insert(tx)?;
        }
        let due = match self.due {
            NextDue::At(due) => due.filter(|_| fields.enabled),
            NextDue::AsBefore => {
                let before = load_routine(tx.conn, self.id)?;
                before.due_at.zip(before.begin_at)
            }
        };
        let changed = tx.conn.run(
            "UPDATE routines SET name = ?3, schedule = ?4, time_zone = ?5, prompt = ?6, channel = ?7,
                conversation = ?8, model = ?9, budgets = ?10, autonomy_ceiling = ?11, park = ?12, missed = ?13,
                jitter_seconds = ?14, enabled = ?15, by_label = ?16, version = version + 1, due_at = ?17,
                begin_at = ?18, updated_at = ?19
             WHERE id = ?1 AND version = ?2",
            params![
                self.id,
                self.version,
                fields.name,
                fields.schedule,
                fields.time_zone,
                fields.prompt,
                fields.channel,
                fields.conversation,
                fields.model,
                Json(&fields.budgets),
                fields.autonomy_ceiling,
                fields.park,
                fields.missed,
                fields.jitter_seconds,
                fields.enabled,
                self.by.label,
                due.map(|(due, _)| due),
                due.map(|(_, begin)| begin),
                tx.now
            ],
        )?;
        let routine = load_routine(tx.conn, self.id)?;
        if changed == 0 {
            return Err(StoreError::conflict(format!(
                "the routine `{}` was changed by {} meanwhile: look at it and try again",
                routine.name, routine.by
            )));
        }
        let change = if self.version == 0 {
            "added"
        } else {
            "changed"
        };
        let detail = serde_json::json!({
            "schedule": routine.schedule,
            "time_zone": routine.time_zone,
            "prompt": routine.prompt,
            "conversation": routine.conversation,
            "model": routine.model,
            "budgets": routine.budgets,
            "autonomy_ceiling": routine.autonomy_ceiling,
            "park": routine.park,
            "missed": routine.missed,
            "jitter_seconds": routine.jitter_seconds,
            "enabled": routine.enabled,
            "version": routine.version,
        });
        tx.audit(
            &format!("routine.{change}"),
            &self.by,
            Some(&routine.channel),
            &routine.name,
            &detail,
        )?;
        tx.routine_changed(change, routine.clone())?;
        Ok(routine)
    }
}

/// Removes a routine with its history; its turns stay. Durable.
#[derive(Debug, Clone)]
pub struct RemoveRoutine {
    pub id: RoutineId,
    pub by: ActorRef,
}

impl WriteCommand for RemoveRoutine {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let routine = load_routine(tx.conn, self.id)?;
        for table in ["routine_runs WHERE routine_id", "routines WHERE id"] {
            tx.conn
                .run(&format!("DELETE FROM {table} = ?1"), [self.id])?;
        }
        tx.audit(
            "routine.removed",
            &self.by,
            Some(&routine.channel),
            &routine.name,
            &serde_json::json!({ "schedule": routine.schedule }),
        )?;
        tx.routine_changed("removed", routine)
    }
}
