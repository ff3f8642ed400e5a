//! Audit & log: who did what.
//!
//! Rows are held by number, newest first. While one is selected nothing appears above it: newer rows are counted and
//! shown with the next movement.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::protocol::doctor::{AuditReport, AuditRow};
use crate::protocol::request::{ListAudit, Query};
use crate::protocol::snapshot::{AuditFilter, Page, PageRequest};
use crate::tui::state::list::ListDetail;
use crate::tui::state::log::LogPanel;

/// Rows of one page.
pub const PAGE: u32 = 100;
/// Rows of people that are looked for before more is asked only on a movement.
const WANTED: usize = 20;
/// Rows that are looked through for them.
const LOOKED_THROUGH: usize = 1_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Chain {
    /// Nobody asked.
    #[default]
    Unknown,
    Walking,
    Walked {
        report: AuditReport,
        at: Timestamp,
    },
    /// Why it was not walked.
    Failed(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct AuditPanel {
    /// Rows by number.
    pub rows: BTreeMap<u64, AuditRow>,
    pub list: ListDetail<u64>,
    /// The newest row that is listed while one is selected.
    pub newest: u64,
    /// The filter as it was typed.
    pub filter: String,
    /// The filter as it is asked for.
    pub asked: AuditFilter,
    /// Where the next page of older rows begins.
    pub next: Option<String>,
    /// Why the rows could not be read.
    pub problem: Option<String>,
    /// Whether they were ever read.
    pub answered: bool,
    pub chain: Chain,
    /// Whether rows are shown as they are stored, not as sentences.
    pub raw: bool,
    /// Whether only what people did is listed.
    pub people: bool,
    /// The log, which can stand in place of the audit.
    pub log: LogPanel,
}

impl Default for AuditPanel {
    fn default() -> Self {
        Self {
            rows: BTreeMap::new(),
            list: ListDetail::default(),
            newest: 0,
            filter: String::new(),
            asked: AuditFilter::default(),
            next: None,
            problem: None,
            answered: false,
            chain: Chain::default(),
            raw: false,
            people: true,
            log: LogPanel::default(),
        }
    }
}

impl AuditPanel {
    /// Rows that came since one was selected.
    pub fn newer(&self) -> usize {
        match self.list.selected {
            Some(_) => {
                let newer = self.rows.range(self.newest.saturating_add(1)..);
                newer
                    .filter(|(_, row)| !self.people || is_deed(row))
                    .count()
            }
            None => 0,
        }
    }

    /// Rows down from the newest that is listed, newest first.
    pub(super) fn listed(&self) -> Vec<u64> {
        let rows = self.rows.range(..=self.newest).rev();
        let rows = rows.filter(|(_, row)| !self.people || is_deed(row));
        rows.map(|(seq, _)| *seq).collect()
    }

    /// Whether older rows are wanted before anybody moves: people did little in those that are known.
    pub(super) fn wants_older(&self) -> bool {
        let deeds = || self.rows.values().filter(|row| is_deed(row)).count();
        self.people
            && self.answered
            && self.next.is_some()
            && self.rows.len() < LOOKED_THROUGH
            && deeds() < WANTED
    }

    pub fn row(&self) -> Option<&AuditRow> {
        self.rows.get(&self.list.selected?)
    }

    pub(super) fn query(&self, cursor: Option<String>) -> Query {
        Query::ListAudit(ListAudit {
            filter: self.asked.clone(),
            page: PageRequest {
                limit: Some(PAGE),
                cursor,
            },
        })
    }

    pub(super) fn take(&mut self, cursor: Option<&str>, page: &Page<AuditRow>) {
        if cursor.is_none() {
            let meets = page
                .items
                .iter()
                .any(|row| self.rows.contains_key(&row.seq));
            if !meets {
                // What lies between is not known: the list begins again with this page.
                self.rows.clear();
                self.next.clone_from(&page.next_cursor);
            }
            self.answered = true;
            self.problem = None;
        } else if self.next.as_deref() == cursor {
            self.next.clone_from(&page.next_cursor);
        }
        let rows = page.items.iter().map(|row| (row.seq, row.clone()));
        self.rows.extend(rows);
    }
}

/// Whether a person did this, not the engine or the configuration by itself.
pub fn is_deed(row: &AuditRow) -> bool {
    !matches!(row.actor_id.as_str(), "engine" | "configuration")
}

/// What a row is about, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A person, or the clock, decided something.
    Decision,
    /// Somebody changed what may run.
    Policy,
    /// Everything was stopped or let go.
    Stop,
    Tool,
    /// Anything else.
    Other,
}

impl Kind {
    /// The kind of an action.
    pub fn of(action: &str) -> Self {
        match action {
            "engine.held" | "engine.released" | "quarantine.released" => Self::Stop,
            "approval.requested" => Self::Other,
            "continuation.cancelled" | "continuation.resumed" | "delivery.resolved" => {
                Self::Decision
            }
            _ if action.starts_with("approval.") => Self::Decision,
            _ if action.starts_with("policy.")
                || action.starts_with("rule.")
                || action.starts_with("grant.")
                || action.starts_with("channel.") =>
            {
                Self::Policy
            }
            _ if action.starts_with("tool.") => Self::Tool,
            _ => Self::Other,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decision => "DECISION",
            Self::Policy => "POLICY",
            Self::Stop => "STOP",
            Self::Tool => "tool",
            Self::Other => "",
        }
    }
}
