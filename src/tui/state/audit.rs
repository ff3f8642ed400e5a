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

/// Rows of one page.
pub const PAGE: u32 = 100;

/// What is known of the chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Chain {
    /// Nobody asked.
    #[default]
    Unknown,
    /// It is being walked.
    Walking,
    /// It was walked.
    Walked {
        /// What that showed.
        report: AuditReport,
        /// When.
        at: Timestamp,
    },
    /// Why it was not walked.
    Failed(String),
}

/// What the screen knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditPanel {
    /// Rows by number.
    pub rows: BTreeMap<u64, AuditRow>,
    /// Their list.
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
    /// What is known of the chain.
    pub chain: Chain,
    /// Whether rows are shown as they are stored, not as sentences.
    pub raw: bool,
}

impl AuditPanel {
    /// Rows that came since one was selected.
    pub fn newer(&self) -> usize {
        match self.list.selected {
            Some(_) => self.rows.range(self.newest.saturating_add(1)..).count(),
            None => 0,
        }
    }

    /// The selected row.
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

/// What a row is about, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A person, or the clock, decided something.
    Decision,
    /// Somebody changed what may run.
    Policy,
    /// Everything was stopped or let go.
    Stop,
    /// A tool.
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

    /// The word.
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
