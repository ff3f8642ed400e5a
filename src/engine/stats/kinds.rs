//! What is known of a span: nothing is from before the database was made, and less from before the last sweep.

use crate::clock::Timestamp;
use crate::protocol::enums::{StatsGrouping, StatsStep};
use crate::protocol::stats::StatsSpan;

/// Which numbers are known of a span, in a grouping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kinds {
    pub(super) models: bool,
    pub(super) turns: bool,
    pub(super) approvals: bool,
    pub(super) tools: bool,
    pub(super) deliveries: bool,
}

/// Whether the calls of models come from the sums of each day, which no sweep removes.
pub(super) fn by_day(step: StatsStep, by: StatsGrouping) -> bool {
    let summed = match by {
        StatsGrouping::All | StatsGrouping::Channel | StatsGrouping::Model => true,
        StatsGrouping::Tool | StatsGrouping::Person => false,
    };
    step != StatsStep::Hour && summed
}

/// What is known of a span.
pub(super) fn kinds(
    step: StatsStep,
    by: StatsGrouping,
    span: StatsSpan,
    made: Timestamp,
    kept: Option<Timestamp>,
) -> Kinds {
    use StatsGrouping::{All, Channel, Model, Person, Tool};
    if span.until <= made {
        return Kinds::default();
    }
    let whole = kept.is_none_or(|kept| span.from >= kept);
    Kinds {
        models: (whole || by_day(step, by)) && by != Tool,
        turns: whole && matches!(by, All | Channel | Person),
        approvals: whole && by != Model,
        tools: whole && by != Model,
        deliveries: whole && matches!(by, All | Channel),
    }
}
