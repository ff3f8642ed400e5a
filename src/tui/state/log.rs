//! The log of the daemon, in place of the audit.
//!
//! Lines are held by number, newest first. While one is selected nothing appears above it: newer lines are counted. With
//! nothing selected the newest line is always at the top.

use std::collections::BTreeMap;

use crate::protocol::enums::LogLevel;
use crate::protocol::log::{Log, LogLine};
use crate::protocol::request::{GetLog, Query};
use crate::tui::state::list::ListDetail;

/// Milliseconds between two questions while the log is shown.
pub const POLL_MS: u64 = 2_000;
/// Lines that are kept here.
const KEPT: usize = 2_000;

/// What is known of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogPanel {
    /// Whether it is shown in place of the audit.
    pub shown: bool,
    /// Lines by number.
    pub lines: BTreeMap<u64, LogLine>,
    pub list: ListDetail<u64>,
    /// The newest line that is listed while one is selected.
    pub newest: u64,
    /// The least serious level that is listed.
    pub level: LogLevel,
    /// What the daemon writes at all.
    pub recorded: String,
    /// Why it could not be read.
    pub problem: Option<String>,
    /// The number after which lines are asked for; none = never answered at this level.
    last: Option<u64>,
}

impl Default for LogPanel {
    fn default() -> Self {
        Self {
            shown: false,
            lines: BTreeMap::new(),
            list: ListDetail::default(),
            newest: 0,
            level: LogLevel::Info,
            recorded: String::new(),
            problem: None,
            last: None,
        }
    }
}

impl LogPanel {
    /// Whether it was ever read at this level.
    pub fn is_known(&self) -> bool {
        self.last.is_some()
    }

    pub fn line(&self) -> Option<&LogLine> {
        self.lines.get(&self.list.selected?)
    }

    /// Lines that came since one was selected.
    pub fn newer(&self) -> usize {
        match self.list.selected {
            Some(_) => self.lines.range(self.newest.saturating_add(1)..).count(),
            None => 0,
        }
    }

    /// Lists another level: less serious ones up to debug, then errors alone.
    pub fn next_level(&mut self) {
        self.level = match self.level {
            LogLevel::Error => LogLevel::Warn,
            LogLevel::Warn => LogLevel::Info,
            LogLevel::Info => LogLevel::Debug,
            LogLevel::Debug | LogLevel::Trace => LogLevel::Error,
        };
        self.lines.clear();
        self.last = None;
        self.list.select(None);
    }

    pub(super) fn query(&self) -> Query {
        Query::GetLog(GetLog {
            level: Some(self.level),
            after: self.last,
            limit: None,
        })
    }

    /// Takes an answer to a question of this level. False = more lines wait than it could hold.
    pub(super) fn take(&mut self, asked: &GetLog, log: &Log) -> bool {
        if asked.level != Some(self.level) || asked.after != self.last {
            return true;
        }
        let full =
            log.lines.last().is_some_and(|line| line.number == log.last) && asked.after.is_some();
        let lines = log.lines.iter().map(|line| (line.number, line.clone()));
        self.lines.extend(lines);
        while self.lines.len() > KEPT {
            self.lines.pop_first();
        }
        self.last = Some(log.last);
        self.recorded.clone_from(&log.filter);
        self.problem = None;
        !full || log.lines.len() < crate::protocol::log::DEFAULT_LINES as usize
    }
}
