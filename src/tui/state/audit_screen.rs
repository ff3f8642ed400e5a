//! What Audit & log asks, lists and does. What it knows is in `audit`; nothing here is drawn.

use std::borrow::Cow;

use crate::clock::Timestamp;
use crate::console::audit_sentence::sentence;
use crate::console::format;
use crate::console::labels::problem_text;
use crate::protocol::doctor::{AuditReport, AuditRow};
use crate::protocol::duration;
use crate::protocol::event::Event;
use crate::protocol::ids::{ContinuationId, ToolCallId};
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, ListAudit, Query, VerifyAudit};
use crate::protocol::snapshot::AuditFilter;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::audit::{Chain, Kind};
use crate::tui::state::list::{Cell, List};
use crate::tui::state::log_screen;
use crate::tui::state::panel::{self, ListFilter, ListScreen, Panel};
use crate::tui::state::screen::Screen;

/// Rows from the end at which the next page is asked for.
const NEAR_END: usize = 8;
/// What the filter takes; the words of `leverframe audit list`.
const FILTER_WORDS: &str =
    "since 2h, channel NAME, action approval.decided, actor NAME; empty shows all";

pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    perform,
    copied,
    continuation,
    channel,
    calls: |state| call(state).into_iter().collect(),
    hints,
    ..Panel::new(ListScreen {
        before_move: reach_newest,
        after_move,
        leave,
        // The log takes words that a line shows.
        filter: |state| (!state.screens.audit.log.shown).then_some(&FILTER),
        ..ListScreen::new(list, columns, arrange)
    })
};

/// Its filter asks the engine.
const FILTER: ListFilter = ListFilter {
    note: FILTER_WORDS,
    text: |state| &state.screens.audit.filter,
    set: filter,
    when_whole: true,
};

/// Back from the log to the audit.
fn leave(state: &mut State) -> bool {
    let is_log = state.screens.audit.log.shown;
    if is_log {
        log_screen::toggle(state);
        arrange(state, true);
    }
    is_log
}

fn ask(state: &State) -> Vec<Query> {
    let panel = &state.screens.audit;
    if panel.log.shown {
        return vec![panel.log.query()];
    }
    let older = panel.next.clone().filter(|_| panel.wants_older());
    vec![panel.query(older)]
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    if let Query::GetLog(asked) = query {
        log_screen::answered(state, asked, result);
        return;
    }
    let panel = &mut state.screens.audit;
    match (query, result) {
        (
            Query::ListAudit(ListAudit {
                filter,
                page: asked,
            }),
            Ok(Answer::ListAudit(page)),
        ) if *filter == panel.asked => {
            panel.take(asked.cursor.as_deref(), page);
            if panel.wants_older() {
                state.screens.in_flight.now();
            }
        }
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

const COLUMNS: &[&str] = &["row", "age", "kind", "what", "action", "channel"];
/// The same of rows as they are stored.
const RAW: &[&str] = &[
    "row", "age", "kind", "action", "who", "where", "channel", "what", "detail",
];

/// Columns of the list as it is shown now.
pub fn columns(state: &State) -> &'static [&'static str] {
    let panel = &state.screens.audit;
    match (panel.log.shown, panel.raw) {
        (true, _) => log_screen::COLUMNS,
        (false, true) => RAW,
        (false, false) => COLUMNS,
    }
}

/// The tool of the call that a row is about: from its question, else from the row that says that it started.
fn tool_of<'s>(state: &'s State, row: &AuditRow) -> Option<Cow<'s, str>> {
    let approvals = &state.model.world().approvals;
    if let Some(approval) = row.subject.parse().ok().and_then(|id| approvals.get(&id)) {
        return Some(Cow::Borrowed(&approval.tool));
    }
    let fact = |row: &AuditRow, name: &str| {
        let facts: serde_json::Value = serde_json::from_str(&row.detail).ok()?;
        facts.get(name)?.as_str().map(str::to_owned)
    };
    let call = fact(row, "call").unwrap_or_else(|| row.subject.clone());
    let mut rows = state.screens.audit.rows.values();
    let started = rows.find(|one| one.action == "tool.started" && one.subject == call)?;
    fact(started, "tool").map(Cow::Owned)
}

fn list(state: &mut State) -> &mut dyn List {
    let panel = &mut state.screens.audit;
    if panel.log.shown {
        &mut panel.log.list
    } else {
        &mut panel.list
    }
}

fn arrange(state: &mut State, _afresh: bool) {
    if state.screens.audit.log.shown {
        log_screen::arrange(state);
        return;
    }
    let panel = &mut state.screens.audit;
    if panel.row().is_none() {
        panel.newest = panel.rows.keys().next_back().copied().unwrap_or(0);
    }
    let mut list = std::mem::take(&mut panel.list);
    // A row never changes, so each keeps its place; older ones come below.
    let all = panel.listed();
    list.arrange_afresh(all, |seq| cells(state, *seq));
    state.screens.audit.list = list;
}

/// Rows that came meanwhile are above, and a movement may reach them.
fn reach_newest(state: &mut State) {
    if state.screens.audit.log.shown {
        log_screen::reach_newest(state);
        return;
    }
    let panel = &mut state.screens.audit;
    if !panel.list.zoomed {
        panel.newest = panel.rows.keys().next_back().copied().unwrap_or(0);
        arrange(state, false);
    }
}

/// What a row says, as a sentence.
pub fn sentence_of(state: &State, row: &AuditRow) -> String {
    sentence(row, tool_of(state, row).as_deref())
}

/// What the list shows of a row, in the order of its columns.
pub fn cells(state: &State, seq: u64) -> Vec<Cell> {
    let Some(row) = state.screens.audit.rows.get(&seq) else {
        return Vec::new();
    };
    let number = Cell::ranked(seq.to_string(), seq as f64);
    let age = Cell::ranked(
        format::age(state.model.now.wall, row.at),
        -(row.at.as_millis() as f64),
    );
    let kind = Cell::new(Kind::of(&row.action).as_str());
    if !state.screens.audit.raw {
        return vec![
            number,
            age,
            kind,
            Cell::new(sentence_of(state, row)),
            Cell::new(&row.action),
            Cell::new(row.channel.as_deref().unwrap_or("-")),
        ];
    }
    vec![
        number,
        age,
        kind,
        Cell::new(&row.action),
        Cell::new(&row.actor),
        Cell::new(row.surface.to_string()),
        Cell::new(row.channel.as_deref().unwrap_or("-")),
        Cell::new(&row.subject),
        Cell::new(&row.detail),
    ]
}

/// Older rows are asked for near the end of the list.
fn after_move(state: &mut State) -> Vec<Effect> {
    let panel = &state.screens.audit;
    if panel.log.shown {
        return Vec::new();
    }
    let (Some(at), Some(cursor)) = (panel.list.position(), &panel.next) else {
        return Vec::new();
    };
    let is_near = at + NEAR_END + 1 >= panel.list.order.len();
    let query = is_near.then(|| panel.query(Some(cursor.clone())));
    panel::ask_more(state, Screen::Audit, query)
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
            .ok_or_else(|| format!("{name}: expected a value after it"))?;
        let text = Some(value.to_owned());
        match name {
            "since" => {
                let ago = || duration::seconds(value).map(|seconds| now.plus_seconds(-seconds));
                let at = duration::time(value).or_else(ago).ok_or_else(|| {
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
fn filter(state: &mut State, text: &str) -> Result<(), String> {
    let asked = parse(text, state.model.now.wall)?;
    ask_for(state, text.trim().to_owned(), asked);
    Ok(())
}

/// Asks for the rows of an actor.
pub fn of_actor(state: &mut State, actor: String) {
    let text = format!("actor {actor}");
    let asked = AuditFilter {
        actor: Some(actor),
        ..AuditFilter::default()
    };
    state.screens.audit.log.shown = false;
    ask_for(state, text, asked);
}

fn ask_for(state: &mut State, text: String, asked: AuditFilter) {
    let panel = &mut state.screens.audit;
    panel.filter = text;
    panel.asked = asked;
    panel.rows.clear();
    panel.next = None;
    panel.answered = false;
    panel.list.select(None);
    state.screens.in_flight.lost();
}

/// Walks the chain.
fn verify(state: &mut State) -> Vec<Effect> {
    if state.screens.audit.chain == Chain::Walking {
        return Vec::new();
    }
    if !state.is_live() {
        return state.warn("verify: not connected");
    }
    state.screens.audit.chain = Chain::Walking;
    vec![Effect::ask(VerifyAudit { anchor: None })]
}

/// The walk ended.
pub fn verified(state: &mut State, result: Result<AuditReport, String>) {
    state.screens.audit.chain = match result {
        Ok(report) => Chain::Walked {
            report,
            at: state.model.now.wall,
        },
        Err(why) => Chain::Failed(why),
    };
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    match action {
        Action::ShowLog => {
            log_screen::toggle(state);
            arrange(state, true);
            Some(Vec::new())
        }
        _ if state.screens.audit.log.shown => log_screen::perform(state, action).then(Vec::new),
        Action::VerifyAudit => Some(verify(state)),
        Action::AuditPeople => {
            let panel = &mut state.screens.audit;
            panel.people = !panel.people;
            state.screens.in_flight.now();
            arrange(state, true);
            Some(Vec::new())
        }
        Action::Raw => {
            let panel = &mut state.screens.audit;
            panel.raw = !panel.raw;
            // The columns are others now.
            panel.list.sort = None;
            arrange(state, true);
            Some(Vec::new())
        }
        _ => None,
    }
}

/// The call that the selected row is about.
pub fn call(state: &State) -> Option<ToolCallId> {
    row(state)?.subject.parse().ok()
}

/// The selected row of the audit, where that is shown.
fn row(state: &State) -> Option<&AuditRow> {
    let panel = &state.screens.audit;
    panel.row().filter(|_| !panel.log.shown)
}

fn copied(state: &State, all: bool) -> Option<String> {
    let log = &state.screens.audit.log;
    if log.shown {
        let line = log.line()?;
        return panel::copied(&line.text, Some(line), all);
    }
    let row = row(state)?;
    panel::copied(&row.subject, Some(row), all)
}

fn continuation(state: &State) -> Option<ContinuationId> {
    row(state)?.subject.parse().ok()
}

fn channel(state: &State) -> Option<String> {
    row(state)?.channel.clone()
}

fn hints(state: &State) -> Vec<Action> {
    if state.screens.audit.log.shown {
        return log_screen::hints(state);
    }
    let mut hints = vec![if state.screens.audit.list.selected.is_some() {
        Action::Open
    } else {
        Action::MoveDown
    }];
    if call(state).is_some() {
        hints.push(Action::Why);
    }
    hints.extend([
        Action::AuditPeople,
        Action::ShowLog,
        Action::Raw,
        Action::Filter,
        Action::VerifyAudit,
    ]);
    hints
}
