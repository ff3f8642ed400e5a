//! The newest lines of the log, within a number of bytes. Who adds a line has taken the secrets out of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Timestamp;
use crate::protocol::enums::LogLevel;
use crate::protocol::log::{DEFAULT_LINES, Log, LogLine, MAX_LINES};

/// Bytes that the lines may take together.
pub const KEPT_BYTES: usize = 1024 * 1024;
/// Bytes of one line; what is beyond is left out.
pub const LINE_BYTES: usize = 8 * 1024;
/// What a line takes beside its texts.
const OF_A_LINE: usize = size_of::<LogLine>();

/// The lines. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct LogLines {
    shared: Arc<Mutex<Ring>>,
}

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<LogLine>,
    bytes: usize,
    last: u64,
}

/// What a line takes, in bytes.
pub fn bytes_of(line: &LogLine) -> usize {
    OF_A_LINE + line.target.len() + line.text.len()
}

/// At most so many bytes of a text, whole characters.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LINE_BYTES))
        .unwrap_or(text)
}

impl LogLines {
    /// Adds a line. The oldest ones go where there is no more room.
    pub fn add(&self, at: Timestamp, level: LogLevel, target: &str, text: &str) {
        let mut kept = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        // A later run never counts below an earlier one: nobody writes a line in every millisecond.
        let first = u64::try_from(at.as_millis()).unwrap_or(0);
        kept.last = match kept.last {
            0 => first.max(1),
            last => last + 1,
        };
        let line = LogLine {
            number: kept.last,
            at,
            level,
            target: cut(target).to_owned(),
            text: cut(text).to_owned(),
        };
        kept.bytes += bytes_of(&line);
        kept.lines.push_back(line);
        while kept.bytes > KEPT_BYTES
            && let Some(oldest) = kept.lines.pop_front()
        {
            kept.bytes = kept.bytes.saturating_sub(bytes_of(&oldest));
        }
    }

    /// Lines at least as serious as this. After a number the oldest ones come, else the newest ones.
    pub fn read(
        &self,
        level: Option<LogLevel>,
        after: Option<u64>,
        limit: Option<u32>,
        filter: &str,
    ) -> Log {
        let most = limit.unwrap_or(DEFAULT_LINES).clamp(1, MAX_LINES) as usize;
        let kept = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = |line: &&LogLine| {
            level.is_none_or(|level| line.level <= level)
                && after.is_none_or(|after| line.number > after)
        };
        let mut lines: Vec<LogLine> = match after {
            Some(_) => kept
                .lines
                .iter()
                .filter(wanted)
                .take(most)
                .cloned()
                .collect(),
            None => kept
                .lines
                .iter()
                .rev()
                .filter(wanted)
                .take(most)
                .cloned()
                .collect(),
        };
        if after.is_none() {
            lines.reverse();
        }
        // Where the answer is full, what it left out comes next.
        let last = match lines.last() {
            Some(line) if after.is_some() && lines.len() == most => line.number,
            Some(_) | None => kept.last,
        };
        Log {
            lines,
            last,
            filter: filter.to_owned(),
        }
    }
}
