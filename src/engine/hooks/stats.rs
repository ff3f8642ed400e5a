//! What a hook did at one point since the process started.

use std::collections::VecDeque;
use std::time::Duration;

use crate::protocol::hook::{HookCounts, HookVerdict};

/// Calls whose time is kept.
const KEPT: usize = 256;

/// Counters, the times of the last calls, and the last failure.
#[derive(Debug, Default)]
pub struct HookStats {
    counts: HookCounts,
    times: VecDeque<u32>,
    last_error: Option<String>,
}

impl HookStats {
    /// Counts a call.
    pub fn ran(&mut self, verdict: &HookVerdict, took: Duration) {
        self.counts.runs += 1;
        match verdict {
            HookVerdict::Pass => {}
            HookVerdict::Change { .. } => self.counts.changes += 1,
            HookVerdict::Cancel { .. } => self.counts.cancels += 1,
            HookVerdict::Failed { error } => {
                self.counts.failures += 1;
                self.last_error = Some(error.clone());
            }
        }
        if self.times.len() == KEPT {
            self.times.pop_front();
        }
        self.times
            .push_back(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
    }

    /// Counts a call that was left out because the hook failed too often.
    pub fn skipped(&mut self) {
        self.counts.skipped += 1;
    }

    /// Counts events that an observer never heard of.
    pub fn dropped(&mut self, count: u64) {
        self.counts.dropped += count;
    }

    /// The counters as they are.
    pub fn counts(&self) -> HookCounts {
        let mut times: Vec<u32> = self.times.iter().copied().collect();
        times.sort_unstable();
        // The smallest time that 95 of 100 calls did not exceed.
        let index = (times.len() * 95).div_ceil(100).saturating_sub(1);
        HookCounts {
            p95_us: times.get(index).copied().map_or(0, u64::from),
            ..self.counts
        }
    }

    /// The last failure.
    pub fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }
}
