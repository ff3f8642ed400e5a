//! A past turn, or a whole session, played again from what is stored. Nothing is shown at a moment that the store
//! did not know then, and nothing can be decided or sent while it runs.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::console::time::Millis;
use crate::protocol::enums::{Access, ToolCallState};
use crate::protocol::file_change::CallDiff;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::protocol::session::{
    Continuation, Step, StepBody, ToolCall, TranscriptBody, TranscriptEntry,
};
use crate::tui::state::entries;
use crate::tui::state::screen::Screen;
use crate::tui::state::session_view::SessionView;

/// Entries of a session that are played at most.
pub const ENTRIES: usize = 5_000;
/// How fast it can play: as it was, and faster.
pub const SPEEDS: [i64; 3] = [1, 4, 16];
/// Least milliseconds between two frames that only move the time on.
const TICK_MS: u64 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// One message and everything up to its answer.
    Continuation(ContinuationId),
    /// All that was said in a session.
    Session(SessionId),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Continuation(id) => write!(f, "{id}"),
            Self::Session(id) => write!(f, "{id}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    pub source: Source,
    /// Everything is there.
    pub loaded: bool,
    /// The session has more entries than are played.
    pub cut: bool,
    /// Whether it moves by itself.
    pub playing: bool,
    /// Whether the console was started for it alone.
    pub alone: bool,
    /// What calls did to files, as far as it was asked; none = the answer is under way.
    pub diffs: BTreeMap<ToolCallId, Option<Result<CallDiff, String>>>,
    /// First line of the files at this step that is shown.
    pub files_scroll: usize,
    /// The transcript that is hidden meanwhile.
    pub behind: SessionView,
    pub(super) entries: Vec<TranscriptEntry>,
    /// Times at which something happened, ascending.
    pub(super) moments: Vec<Timestamp>,
    /// When calls got their results.
    pub(super) settled: BTreeMap<ToolCallId, Timestamp>,
    /// Moments that are shown.
    pub(super) shown: usize,
    /// Milliseconds since the first moment.
    pub(super) position: i64,
    pub(super) speed: usize,
    pub(super) since: Millis,
    pub(super) turn: Option<Box<Continuation>>,
    pub(super) steps: Option<Vec<Step>>,
    pub(super) came_from: Screen,
}

impl Replay {
    /// The time that is shown, from the first moment to the last, in milliseconds.
    pub fn time(&self) -> (i64, i64) {
        (self.position, self.length())
    }

    /// How many moments are shown, and how many there are.
    pub fn moment(&self) -> (usize, usize) {
        (self.shown, self.moments.len())
    }

    /// How many times faster than it was.
    pub fn speed(&self) -> i64 {
        SPEEDS.get(self.speed).copied().unwrap_or(1)
    }

    /// The wall clock at that time.
    pub fn clock(&self) -> Option<Timestamp> {
        let first = self.moments.first()?;
        Some(Timestamp(first.as_millis().saturating_add(self.position)))
    }

    /// When it next changes by itself; none = it does not.
    pub fn next_change(&self, now: Millis) -> Option<Millis> {
        if !self.playing || !self.loaded {
            return None;
        }
        let next = self.offset(self.shown)?;
        let wait = u64::try_from(next - self.position).unwrap_or(0);
        let wait = wait.div_ceil(u64::try_from(self.speed()).unwrap_or(1));
        Some(now.plus(wait.clamp(1, TICK_MS)))
    }

    pub(super) fn length(&self) -> i64 {
        let last = self.moments.len().saturating_sub(1);
        self.offset(last).unwrap_or(0)
    }

    /// Milliseconds from the first moment to this one.
    fn offset(&self, index: usize) -> Option<i64> {
        let (first, at) = (self.moments.first()?, self.moments.get(index)?);
        Some(at.as_millis() - first.as_millis())
    }

    /// Goes to a time, and shows all that had happened by then.
    pub(super) fn seek(&mut self, position: i64) {
        self.position = position.clamp(0, self.length());
        let first = self.moments.first().map_or(0, |at| at.as_millis());
        let until = first.saturating_add(self.position);
        self.shown = self.moments.partition_point(|at| at.as_millis() <= until);
        if self.shown == self.moments.len() {
            self.playing = false;
        }
    }

    /// Shows one moment more or less.
    pub(super) fn step(&mut self, forward: bool) {
        self.playing = false;
        let index = if forward {
            self.shown
        } else {
            self.shown.saturating_sub(2)
        };
        if let Some(offset) = self.offset(index) {
            self.seek(offset);
        }
    }

    /// The time of the moment that is shown.
    fn shown_at(&self) -> Option<Timestamp> {
        let index = self.shown.checked_sub(1)?;
        self.moments.get(index).copied()
    }

    /// The calls that may change files.
    pub fn writing_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let calls = self.entries.iter().flat_map(entries::calls);
        calls.filter(|call| may_change_files(call.access))
    }

    /// The call that may change files and starts or ends at the moment that is shown.
    pub fn call_of_step(&self) -> Option<&ToolCall> {
        let now = self.shown_at()?;
        let ends = |call: &&ToolCall| self.settled.get(&call.id) == Some(&now);
        let starts = |call: &&ToolCall| call.started_at == Some(now);
        (self.writing_calls().find(ends)).or_else(|| self.writing_calls().find(starts))
    }

    /// The calls that may have changed files by the moment that is shown, the newest first.
    pub fn calls_so_far(&self) -> Vec<&ToolCall> {
        let now = self.shown_at();
        let begun = |call: &&ToolCall| call.started_at.is_some() && call.started_at <= now;
        let mut calls: Vec<&ToolCall> = self.writing_calls().filter(begun).collect();
        calls.reverse();
        calls
    }

    /// What the transcript was at the time that is shown.
    pub(super) fn transcript(&self) -> Vec<TranscriptEntry> {
        let Some(now) = self.shown_at() else {
            return Vec::new();
        };
        let over = self.shown == self.moments.len();
        let mut out: Vec<TranscriptEntry> = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.at <= now) {
            let mut entry = entry.clone();
            if let TranscriptBody::Step { tool_calls, .. } = &mut entry.body
                && !over
            {
                for call in tool_calls {
                    if self.settled.get(&call.id).is_none_or(|at| *at > now) {
                        *call = as_it_stood(call, now);
                    }
                }
            }
            out.push(entry);
        }
        out
    }

    pub(super) fn begin(&mut self, entries: Vec<TranscriptEntry>, now: Millis) {
        let mut moments: Vec<Timestamp> = entries.iter().map(|entry| entry.at).collect();
        for entry in &entries {
            if let Some((step, calls)) = entries::step(entry) {
                moments.extend(calls.iter().filter_map(|call| call.started_at));
                if let StepBody::ToolResult { call_id, .. } = &step.body {
                    self.settled.insert(*call_id, entry.at);
                }
            }
        }
        moments.sort_unstable();
        moments.dedup();
        self.entries = entries;
        self.moments = moments;
        self.loaded = true;
        self.since = now;
        self.playing = true;
        self.seek(0);
    }
}

const fn may_change_files(access: Access) -> bool {
    match access {
        Access::WriteAdditive | Access::Write | Access::Exec | Access::Unknown => true,
        Access::ReadLocal | Access::ReadOpen | Access::Send => false,
    }
}

/// A call before its result was there.
fn as_it_stood(call: &ToolCall, now: Timestamp) -> ToolCall {
    let started = call.started_at.is_some_and(|at| at <= now);
    let state = if started {
        ToolCallState::Started
    } else if call.approval_id.is_some() {
        ToolCallState::Awaiting
    } else {
        ToolCallState::Proposed
    };
    ToolCall {
        state,
        result: None,
        artifact: None,
        cached: None,
        duration_ms: None,
        attempts: u32::from(started),
        started_at: call.started_at.filter(|_| started),
        decision: call.decision.clone().filter(|one| one.at <= now),
        ..call.clone()
    }
}
