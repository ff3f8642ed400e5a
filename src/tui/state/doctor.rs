//! Doctor: checks with fixes, hooks, models.
//!
//! Nothing here is drawn or asked by itself: `panels` asks, `view::doctor` draws. Problems stand first; while a row is
//! selected no row changes its place.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Timestamp;
use crate::protocol::costs::Costs;
use crate::protocol::doctor::{CheckReport, Doctor};
use crate::protocol::event::{Event, EventBody};
use crate::protocol::hook::Hook;
use crate::protocol::mcp::McpServer;
use crate::protocol::models::ProviderModels;
use crate::protocol::request::{GetDoctor, Query};
use crate::tui::state::cache_cost::Known;
use crate::tui::state::list::ListDetail;

/// How a row stands; the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// Does not work.
    Problem,
    /// Works, and somebody should look.
    Warning,
    /// Nobody has looked.
    NotKnown,
    /// As it should be.
    Ok,
    /// Not switched on.
    Off,
}

impl Word {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Warning => "warning",
            Self::NotKnown => "not known",
            Self::Ok => "ok",
            Self::Off => "off",
        }
    }
}

/// What a row is about, in the order of equally bad rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Engine,
    /// A finding, by what it is about and its number among those of the same.
    Finding(String, usize),
    /// The rules of the database as a whole.
    Rules,
    /// A rule that is broken, by its name.
    Rule(String),
    /// A hook at a point, by both names.
    Hook(String, &'static str),
    /// All hooks, where there are none or they are not known.
    Hooks,
    /// A model, by its name.
    Model(String),
    /// All models, where there are none or they are not known.
    Models,
    Tools,
    Mcp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub key: Key,
    /// How it stands.
    pub word: Word,
    /// The same in one or two words.
    pub about: String,
    pub detail: String,
    /// What to do about it.
    pub fix: Option<String>,
    /// What else is known, line by line.
    pub more: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct DoctorPanel {
    pub doctor: Known<Box<Doctor>>,
    /// What the last full check found, and when it was made.
    pub check: Known<(Timestamp, CheckReport)>,
    pub hooks: Known<Vec<Hook>>,
    pub servers: Known<Vec<McpServer>>,
    pub models: Known<Vec<ProviderModels>>,
    /// Calls by model.
    pub calls: Known<Box<Costs>>,
    /// The last failure of each model that this console saw: when, and in which words.
    pub failures: BTreeMap<String, (Timestamp, String)>,
    /// Checks in the order they are shown in.
    pub rows: Vec<Row>,
    pub list: ListDetail<Key>,
    /// Those that are unfolded.
    pub unfolded: BTreeSet<Key>,
    /// It was said what a full check reads; the next press starts it.
    pub confirming: bool,
}

impl DoctorPanel {
    pub fn chosen(&self) -> Option<&Row> {
        self.row(self.list.selected.as_ref()?)
    }

    pub fn row(&self, key: &Key) -> Option<&Row> {
        self.rows.iter().find(|row| row.key == *key)
    }

    /// Remembers what went wrong with a model.
    pub fn note(&mut self, event: &Event) {
        if let EventBody::ModelFinished {
            model,
            error: Some(error),
            ..
        } = &event.body
        {
            self.failures
                .insert(model.clone(), (event.at, error.clone()));
        }
    }
}

/// The question of a full check.
pub const FULL_CHECK: Query = Query::GetDoctor(GetDoctor { check: true });
