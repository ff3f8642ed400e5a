//! Whether a session is compacted, and how many of its oldest turns go. Pure.
//!
//! Whole turns go, oldest first and without a gap; the newest always stays.

/// When a session is compacted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Share of the room for a prompt that the next one may fill, in percent.
    pub share: u32,
    /// Turns beyond those that are sent along whatever they fill.
    pub beyond: usize,
}

/// How full a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// Turns that no summary covers.
    pub uncovered: usize,
    /// Estimated tokens of those of them that are sent along, oldest first.
    pub sent: Vec<u64>,
    /// Turns that are sent along whatever they fill.
    pub least: usize,
    /// Tokens that more of them may fill, all together; 0 = no more are sent.
    pub history: u64,
    /// Estimated tokens of everything else that is sent.
    pub fixed: u64,
    /// Tokens that a prompt may have: the window less the answer.
    pub room: u64,
}

/// Less than this part of the room is not worth a model call.
const WORTH: u64 = 20;

impl Fill {
    /// Estimated tokens of the next prompt.
    pub fn upcoming(&self) -> u64 {
        self.fixed + self.sent.iter().sum::<u64>()
    }

    fn beyond(&self) -> usize {
        self.uncovered.saturating_sub(self.sent.len())
    }
}

/// How many of the oldest uncovered turns are to go by themselves; none = it is not time yet.
pub fn due(fill: &Fill, thresholds: Thresholds) -> Option<usize> {
    let by_count = (fill.uncovered.saturating_sub(fill.least) >= thresholds.beyond.max(1))
        .then(|| thresholds.beyond.div_ceil(2));
    by_count
        .max(by_size(fill, thresholds.share))
        .max(by_history(fill))
        .map(|turns| within(fill, turns.max(1)))?
}

/// How many go because a person wants it: all but the newest.
pub fn asked(fill: &Fill) -> Option<usize> {
    within(fill, fill.uncovered)
}

fn within(fill: &Fill, turns: usize) -> Option<usize> {
    let turns = turns.min(fill.uncovered.saturating_sub(1));
    (turns > 0).then_some(turns)
}

/// As many as bring the next prompt below half of its room.
fn by_size(fill: &Fill, share: u32) -> Option<usize> {
    if fill.upcoming() * 100 <= fill.room * u64::from(share) {
        return None;
    }
    let mut left = fill.upcoming();
    let mut turns = 0;
    for size in fill.sent.iter().take(fill.sent.len().saturating_sub(1)) {
        if left * 2 <= fill.room {
            break;
        }
        left -= size;
        turns += 1;
    }
    let saved = fill.upcoming() - left;
    (saved * WORTH >= fill.room).then(|| fill.beyond() + turns)
}

/// As many as leave half of what turns may fill, before the oldest of them would no longer be sent.
fn by_history(fill: &Fill) -> Option<usize> {
    let sent: u64 = fill.sent.iter().sum();
    if fill.history == 0 || (fill.beyond() == 0 && sent * 4 <= fill.history * 3) {
        return None;
    }
    let mut left = sent;
    let mut turns = fill.beyond();
    for size in fill.sent.iter().take(fill.sent.len().saturating_sub(1)) {
        if left * 2 <= fill.history {
            break;
        }
        left -= size;
        turns += 1;
    }
    (fill.beyond() > 0 || (sent - left) * WORTH >= fill.history).then_some(turns)
}
