//! Statistics: cost and health over time, as charts and a list of groups.
//!
//! One answer is held: that to what is chosen. Nothing here is drawn or asked by itself.

use crate::clock::Timestamp;
use crate::protocol::enums::{StatsGrouping, StatsStep};
use crate::protocol::request::GetStats;
use crate::protocol::stats::{Stats, StatsGroup};
use crate::tui::state::list::ListDetail;

/// Milliseconds between two questions while statistics are shown.
pub const POLL_MS: u64 = 30_000;

/// The time that is shown, up to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatsRange {
    /// 24 hours.
    Day,
    /// Seven days.
    Week,
    /// 30 days.
    Month,
    /// 13 weeks.
    Quarter,
}

impl StatsRange {
    /// All, the shortest first.
    pub const ALL: [Self; 4] = [Self::Day, Self::Week, Self::Month, Self::Quarter];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
            Self::Quarter => "90d",
        }
    }

    /// How long its spans are.
    pub const fn step(self) -> StatsStep {
        match self {
            Self::Day => StatsStep::Hour,
            Self::Week | Self::Month => StatsStep::Day,
            Self::Quarter => StatsStep::Week,
        }
    }

    /// Seconds from its beginning to now, without the span that is not over.
    const fn seconds(self) -> i64 {
        const DAY: i64 = 24 * 3600;
        match self {
            Self::Day => 23 * 3600,
            Self::Week => 6 * DAY,
            Self::Month => 29 * DAY,
            Self::Quarter => 12 * 7 * DAY,
        }
    }

    /// The next shorter or longer one; itself where there is none.
    pub fn beside(self, longer: bool) -> Self {
        let mut all = Self::ALL.into_iter();
        let found = if longer {
            all.find(|one| *one > self)
        } else {
            all.rev().find(|one| *one < self)
        };
        found.unwrap_or(self)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct StatsPanel {
    /// The time that is shown.
    pub range: StatsRange,
    /// What is grouped by.
    pub by: StatsGrouping,
    /// The answer to that; none = not answered yet.
    pub answer: Option<Result<Box<Stats>, String>>,
    /// The groups, by name. The charts show the selected one, or the first.
    pub list: ListDetail<String>,
}

impl Default for StatsPanel {
    fn default() -> Self {
        Self {
            range: StatsRange::Month,
            by: StatsGrouping::All,
            answer: None,
            list: ListDetail::default(),
        }
    }
}

impl StatsPanel {
    /// The question whose answer is shown.
    pub fn query(&self, now: Timestamp) -> GetStats {
        GetStats {
            since: Some(now.plus_seconds(-self.range.seconds()).plus_millis(-1)),
            until: None,
            step: self.range.step(),
            by: self.by,
        }
    }

    pub fn stats(&self) -> Option<&Stats> {
        self.answer.as_ref()?.as_deref().ok()
    }

    pub fn group(&self, name: &str) -> Option<&StatsGroup> {
        let mut groups = self.stats()?.groups.iter();
        groups.find(|group| group.name == name)
    }

    /// The group that the charts show.
    pub fn charted(&self) -> Option<&StatsGroup> {
        match &self.list.selected {
            Some(name) => self.group(name),
            None => self.stats()?.groups.first(),
        }
    }

    /// Shows something else: what is known is of what was chosen before.
    pub(super) fn choose(&mut self, range: StatsRange, by: StatsGrouping) {
        if by != self.by {
            self.list.select(None);
        }
        (self.range, self.by) = (range, by);
        self.answer = None;
    }
}
