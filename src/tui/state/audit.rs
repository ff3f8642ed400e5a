//! Audit & log: who did what.
//!
//! Rows are held by number, newest first. While one is selected nothing appears above it: newer rows are counted and
//! shown with the next movement.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::protocol::doctor::{AuditReport, AuditRow};
use crate::protocol::event::Event;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, ListAudit, Query, VerifyAudit};
use crate::protocol::snapshot::{AuditFilter, Page, PageRequest};
use crate::protocol::span;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{Screen, State, Tone};
use crate::tui::state::dialogs;
use crate::tui::state::modal::TextPurpose;
use crate::tui::state::panel::{self, Panel};
use crate::tui::state::queue::Step;
use crate::tui::state::update::problem_text;

/// Rows of one page.
pub const PAGE: u32 = 100;
/// Rows from the end at which the next page is asked for.
const NEAR_END: usize = 8;
/// What the filter takes; the words of `leverframe audit list`.
pub const FILTER_WORDS: &str =
    "since 2h, channel NAME, action approval.decided, actor NAME; empty shows all";

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
    /// What is selected.
    pub selected: Option<u64>,
    /// The newest row that is listed while one is selected.
    pub newest: u64,
    /// Whether the detail fills the screen.
    pub zoomed: bool,
    /// Lines the detail is scrolled down.
    pub scroll: usize,
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
}

impl AuditPanel {
    /// The screen was opened: nothing is selected.
    pub fn opens(&mut self) {
        self.select(None);
    }

    /// Selects a row, or none.
    pub fn select(&mut self, seq: Option<u64>) {
        if self.selected != seq {
            self.scroll = 0;
        }
        if seq.is_none() {
            self.zoomed = false;
        }
        self.selected = seq;
        self.newest = self.rows.keys().next_back().copied().unwrap_or(0);
    }

    /// Numbers of the rows that are listed, newest first.
    pub fn listed(&self) -> impl DoubleEndedIterator<Item = u64> {
        let newest = match self.selected {
            Some(_) => self.newest,
            None => u64::MAX,
        };
        self.rows.range(..=newest).rev().map(|(seq, _)| *seq)
    }

    /// Rows that came since one was selected.
    pub fn newer(&self) -> usize {
        match self.selected {
            Some(_) => self.rows.range(self.newest.saturating_add(1)..).count(),
            None => 0,
        }
    }

    /// The selected row.
    pub fn row(&self) -> Option<&AuditRow> {
        self.rows.get(&self.selected?)
    }

    fn query(&self, cursor: Option<String>) -> Query {
        Query::ListAudit(ListAudit {
            filter: self.asked.clone(),
            page: PageRequest {
                limit: Some(PAGE),
                cursor,
            },
        })
    }

    fn take(&mut self, cursor: Option<&str>, page: &Page<AuditRow>) {
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
        if self.selected.is_some() && self.row().is_none() {
            self.select(None);
        }
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

/// Its table.
pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    moved,
    page,
    open,
    back,
    perform,
    copied,
    session,
    continuation,
    channel,
    hints,
};

fn ask(state: &State) -> Vec<Query> {
    vec![state.audit.query(None)]
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let panel = &mut state.audit;
    match (query, result) {
        (
            Query::ListAudit(ListAudit {
                filter,
                page: asked,
            }),
            Ok(Answer::ListAudit(page)),
        ) if *filter == panel.asked => panel.take(asked.cursor.as_deref(), page),
        (Query::ListAudit(ListAudit { filter, .. }), Err(problem)) if *filter == panel.asked => {
            panel.problem = Some(problem_text(problem));
        }
        _ => {}
    }
}

/// Nearly everything that is stored leaves a row; what is only streamed does not.
fn concerns(event: &Event) -> bool {
    event.seq.is_some()
}

fn moved(state: &mut State, step: Step) {
    let panel = &mut state.audit;
    if panel.zoomed {
        panel.scroll = match step {
            Step::Down => panel.scroll.saturating_add(1),
            Step::Up => panel.scroll.saturating_sub(1),
            Step::Top => 0,
            Step::Bottom => usize::MAX / 2,
        };
        return;
    }
    // Rows that came meanwhile are above, and a movement may reach them.
    let target = match (step, panel.selected) {
        (Step::Down, Some(at)) => panel.rows.range(..at).next_back(),
        (Step::Up, Some(at)) => panel.rows.range(at.saturating_add(1)..).next(),
        (Step::Down | Step::Top, _) => panel.rows.last_key_value(),
        (Step::Up | Step::Bottom, _) => panel.rows.first_key_value(),
    };
    let target = target.map(|(seq, _)| *seq).or(panel.selected);
    panel.select(target);
}

fn page(state: &mut State, lines: i64) {
    if state.audit.zoomed {
        let by = usize::try_from(lines.unsigned_abs()).unwrap_or(usize::MAX);
        let scroll = &mut state.audit.scroll;
        *scroll = if lines > 0 {
            scroll.saturating_add(by)
        } else {
            scroll.saturating_sub(by)
        };
        return;
    }
    for _ in 0..lines.unsigned_abs() {
        moved(state, if lines > 0 { Step::Down } else { Step::Up });
    }
}

/// Older rows are asked for near the end of the list.
fn after_move(state: &mut State) -> Vec<Effect> {
    let panel = &state.audit;
    let (Some(at), Some(cursor)) = (panel.selected, &panel.next) else {
        return Vec::new();
    };
    let query = panel.query(Some(cursor.clone()));
    if panel.rows.range(..at).count() > NEAR_END || state.asking.awaits(&query) {
        return Vec::new();
    }
    vec![panel::ask(state, Screen::Audit, query)]
}

fn open(state: &mut State) -> Vec<Effect> {
    let panel = &mut state.audit;
    if panel.selected.is_some() {
        panel.zoomed = true;
    } else {
        state.flash(Tone::Warning, "open: nothing is selected");
    }
    Vec::new()
}

fn back(state: &mut State) -> bool {
    let panel = &mut state.audit;
    if panel.zoomed {
        panel.zoomed = false;
    } else if panel.selected.is_some() {
        panel.select(None);
    } else if !panel.filter.is_empty() {
        return filter(state, "").is_ok();
    } else {
        return false;
    }
    true
}

/// The filter that a text asks for: `since 2h`, `channel=NAME`, `--action X`, in any order.
fn parse(text: &str, now: Timestamp) -> Result<AuditFilter, String> {
    let mut filter = AuditFilter::default();
    // A `=` parts a word from its value as a space does.
    let mut words = text
        .split(|c: char| c.is_whitespace() || c == '=')
        .filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let name = word.trim_start_matches('-');
        if !["since", "channel", "action", "actor"].contains(&name) {
            return Err(format!("`{name}`: expected {FILTER_WORDS}"));
        }
        let value = words
            .next()
            .ok_or_else(|| format!("{name}: expected a word behind it"))?;
        let text = Some(value.to_owned());
        match name {
            "since" => {
                let ago = || span::seconds(value).map(|seconds| now.plus_seconds(-seconds));
                let at = span::time(value).or_else(ago).ok_or_else(|| {
                    format!("since {value}: expected how long ago, 45s 30m 2h 3d 1w, or a time like 2026-01-31T12:00:00Z")
                })?;
                filter.since = Some(at);
            }
            "channel" => filter.channel = text,
            "action" => filter.action = text,
            _ => filter.actor = text,
        }
    }
    Ok(filter)
}

/// Asks for the rows that a text describes; an error says what is wrong with it.
pub fn filter(state: &mut State, text: &str) -> Result<(), String> {
    let asked = parse(text, state.now.wall)?;
    let panel = &mut state.audit;
    text.trim().clone_into(&mut panel.filter);
    panel.asked = asked;
    panel.rows.clear();
    panel.next = None;
    panel.answered = false;
    panel.select(None);
    state.asking.lost();
    Ok(())
}

/// Walks the chain.
fn verify(state: &mut State) -> Vec<Effect> {
    if state.audit.chain == Chain::Walking {
        return Vec::new();
    }
    if !state.is_live() {
        state.flash(Tone::Warning, "verify: not connected");
        return Vec::new();
    }
    state.audit.chain = Chain::Walking;
    vec![Effect::Query(Query::VerifyAudit(VerifyAudit {
        anchor: None,
    }))]
}

/// The walk ended.
pub fn verified(state: &mut State, result: Result<AuditReport, String>) {
    state.audit.chain = match result {
        Ok(report) => Chain::Walked {
            report,
            at: state.now.wall,
        },
        Err(why) => Chain::Failed(why),
    };
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    let half = i64::from((state.size.1 / 2).max(2)) - 1;
    match action {
        Action::MoveDown => moved(state, Step::Down),
        Action::MoveUp => moved(state, Step::Up),
        Action::MoveTop => moved(state, Step::Top),
        Action::MoveBottom => moved(state, Step::Bottom),
        Action::PageDown => page(state, half),
        Action::PageUp => page(state, -half),
        Action::NextPane => {
            let panel = &mut state.audit;
            panel.zoomed = panel.selected.is_some() && !panel.zoomed;
            return Some(Vec::new());
        }
        Action::Filter => {
            return Some(dialogs::open_text(
                state,
                TextPurpose::Filter(Screen::Audit),
            ));
        }
        Action::VerifyAudit => return Some(verify(state)),
        _ => return None,
    }
    Some(after_move(state))
}

/// The call that the selected row is about.
pub fn call(state: &State) -> Option<ToolCallId> {
    state.audit.row()?.subject.parse().ok()
}

fn copied(state: &State, all: bool) -> Option<String> {
    let row = state.audit.row()?;
    if all {
        serde_json::to_string_pretty(row).ok()
    } else {
        Some(row.subject.clone())
    }
}

fn session(_state: &State) -> Option<SessionId> {
    None
}

fn continuation(state: &State) -> Option<ContinuationId> {
    state.audit.row()?.subject.parse().ok()
}

fn channel(state: &State) -> Option<String> {
    state.audit.row()?.channel.clone()
}

fn hints(state: &State) -> Vec<Action> {
    let mut hints = vec![if state.audit.selected.is_some() {
        Action::Open
    } else {
        Action::MoveDown
    }];
    if call(state).is_some() {
        hints.push(Action::Why);
    }
    hints.extend([Action::Filter, Action::VerifyAudit]);
    hints
}
