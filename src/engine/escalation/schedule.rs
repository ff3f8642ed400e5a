//! When the next step of an escalation is due. Pure: nothing here reads a clock, the store or the configuration.

use crate::clock::Timestamp;
use crate::clock::quiet_hours::{QuietHours, QuietTimes};
use crate::config::escalation::EscalationStep as StepSettings;
use crate::protocol::escalation::EscalationStep;

/// What the steps of a question go by.
#[derive(Debug, Clone, Default)]
pub struct Schedule<'a> {
    pub asked_at: Timestamp,
    /// Hours in which its steps stand still; none = they never do.
    pub quiet_hours: Option<&'a QuietHours>,
    /// No step is taken before; none = nobody has taken or snoozed it.
    pub held_until: Option<Timestamp>,
}

impl Schedule<'_> {
    /// The index of the step that comes after those `taken`, and when it is due; none = there is no other.
    ///
    /// After a step that reached nobody the next one does not wait. After one that was late the others keep their
    /// distance: nobody gets all of them at once.
    pub fn next(
        &self,
        steps: &[StepSettings],
        taken: &[EscalationStep],
    ) -> Option<(usize, Timestamp)> {
        let index = taken.len();
        let step = steps.get(index)?;
        let due = match taken.last() {
            Some(last) if last.outcome.reached_nobody() => last.settled_at.unwrap_or(last.at),
            Some(last) => {
                let before = steps.get(index - 1).map_or(0, |one| one.after_seconds);
                let distance = (step.after_seconds - before).max(0);
                let planned = self.after(self.asked_at, step.after_seconds);
                planned.max(self.after(last.at, distance))
            }
            None => self.after(self.asked_at, step.after_seconds),
        };
        let held = self.held_until.unwrap_or(due);
        Some((index, due.max(held)))
    }

    /// So many seconds later, without those of quiet hours.
    fn after(&self, from: Timestamp, seconds: i64) -> Timestamp {
        let times = QuietTimes {
            channel: self.quiet_hours,
            people: Vec::new(),
        };
        times.deadline(from, seconds)
    }
}
