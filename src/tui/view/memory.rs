//! Memory, drawn: scopes beside what they hold, hygiene, routines.
//!
//! What is not known yet, or could not be asked, is said in words; nothing is drawn in its place.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::console::format;
use crate::protocol::memory::{MAX_TEXT, MemoryTarget};
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::state::app::State;
use crate::tui::state::memory::{Key, MemoryText, Place, View};
use crate::tui::state::memory_cells::{self as cells, place_name};
use crate::tui::state::memory_screen::REVIEWED;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::detail;
use crate::tui::view::list_panel::ListPanel;
use crate::tui::view::memory_detail::{self, result_role, state_role};
use crate::tui::view::paint;
use crate::tui::view::table::{Column, Fit, column};

/// Least rows for two lists, one below the other. With fewer, the one in use gets the room.
const TWO_LISTS: u16 = 18;

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let memory = &state.screens.memory;
    let title = memory_detail::title(state);
    let (zoomed, scroll) = memory.list().detail();
    let scopes = memory.view == View::Facts && memory.second;
    let mut area = area;
    let mut canvas = Canvas {
        state,
        theme,
        buf,
        report,
    };
    if memory.view == View::Facts && !zoomed {
        if state.one_pane() && scopes {
            canvas.scopes(area);
            return;
        }
        if !state.one_pane() {
            let (left, right) = paint::split_left(area, if area.width >= 100 { 34 } else { 28 });
            canvas.scopes(left);
            area = right;
        }
    }
    let rows = match memory.view {
        View::Facts => memory.lists.facts.order.len(),
        // What is said above the list, and the runs below it.
        View::Hygiene => memory.lists.going.order.len() + memory.lists.runs.order.len() + 8,
        View::Routines => memory.lists.routines.order.len(),
    };
    let (above, below) = detail::split(state, area, rows, title.is_some(), zoomed);
    if let Some(area) = above {
        match memory.view {
            View::Facts => canvas.facts(area),
            View::Hygiene => canvas.hygiene(area),
            View::Routines => canvas.routines(area),
        }
    }
    if let (Some(area), Some(title)) = (below, title) {
        let lines = memory_detail::lines(state, theme, detail::columns(area));
        // The scroll of the scopes is not that of the detail beside them.
        let scroll = if scopes { 0 } else { scroll };
        let most = detail::scrolled(canvas.buf, area, theme, &title, zoomed, &lines, scroll);
        canvas.report.panel_max_scroll = Some(most);
    }
}

/// Heading and note of a text field of this screen.
pub fn entry_words(text: &MemoryText) -> (String, String) {
    let most = format!("alt-enter keeps it; at most {MAX_TEXT} bytes; secrets are taken out");
    match text {
        MemoryText::Search => (
            "Search memory".to_owned(),
            "Any words; best first.".to_owned(),
        ),
        MemoryText::Edit(..) => ("Edit what is remembered".to_owned(), most),
        MemoryText::Add(place) => {
            let place = match place {
                MemoryTarget::Session { session_id } => format!("in session {session_id}"),
                MemoryTarget::Channel { channel } => format!("in every session of {channel}"),
                MemoryTarget::Global => "in every session of every channel".to_owned(),
            };
            (format!("Remember {place}"), most)
        }
    }
}

/// Where something is drawn, and with what.
struct Canvas<'a> {
    state: &'a State,
    theme: &'a Theme,
    buf: &'a mut Buffer,
    report: &'a mut FrameReport,
}

impl<'a> Canvas<'a> {
    fn list<K: Clone + Ord>(&mut self, area: Rect, panel: &ListPanel<'_, K>) -> Rect {
        panel.draw(self.theme, area, self.buf, self.report)
    }

    fn problem(&self) -> Vec<(Role, String)> {
        let problem = self.state.screens.memory.problem.iter();
        problem
            .map(|why| (Role::NoticeError, why.clone()))
            .collect()
    }

    fn scopes(&mut self, area: Rect) {
        let state: &'a State = self.state;
        let memory = &state.screens.memory;
        let here = memory.place.clone();
        let rest = self.list(
            area,
            &ListPanel {
                title: "Memory".to_owned(),
                focused: memory.second,
                cells: &|place| cells::scope(state, place),
                roles: &|place| match place {
                    place if *place == here => vec![(0, Role::TitleFocus)],
                    Place::Review => vec![(0, Role::StateWaiting)],
                    _ => Vec::new(),
                },
                region: Some(&|place| HitRegion::Memory(Key::Scope(place))),
                ..ListPanel::new(&memory.lists.scopes, cells::SCOPES, &SCOPES)
            },
        );
        let (_, rest) = paint::split_top(rest, 1);
        let about = memory_detail::about(state, usize::from(rest.width));
        for (at, (role, text)) in (0..rest.height).zip(about) {
            paint::put(self.buf, rest, at, self.theme, role, &text);
        }
    }

    fn facts(&mut self, area: Rect) {
        let state: &'a State = self.state;
        let memory = &state.screens.memory;
        let list = &memory.lists.facts;
        let name = place_name(&memory.place);
        let more = if memory.cursor.is_some() { "+" } else { "" };
        let title = match &memory.search {
            Some(text) => format!(
                "Results for “{text}” in {name}: {}, best first",
                list.count()
            ),
            None if memory.marked.is_empty() => format!("{name}  {}{more}", list.count()),
            None => format!(
                "{name}  {}{more}, {} marked",
                list.count(),
                memory.marked.len()
            ),
        };
        let mut above = self.problem();
        if let (Some(why), Some(_)) = (&memory.words_only, &memory.search) {
            above.push((Role::NoticeWarning, format!("by words only: {why}")));
        }
        let full = memory.place == Place::Review
            && memory.review.as_ref().is_some_and(|review| {
                let most = REVIEWED as usize;
                review.proposed.len() >= most || review.never_used.len() >= most
            });
        if full && memory.search.is_none() {
            let text = format!("the first {REVIEWED} of each kind");
            above.push((Role::TextMuted, text));
        }
        let titles = match memory.search {
            Some(_) => cells::FOUND,
            None => cells::FACTS,
        };
        self.list(
            area,
            &ListPanel {
                title,
                focused: !memory.second,
                above,
                empty: self.no_facts(),
                cells: &|id| cells::fact(state, *id),
                roles: &|id| {
                    let row = memory.row(*id);
                    row.map_or_else(Vec::new, |row| vec![(0, state_role(row))])
                },
                region: Some(&|id| HitRegion::Memory(Key::Fact(id))),
                ..ListPanel::new(list, titles, &FACTS)
            },
        );
    }

    /// Why nothing is listed.
    fn no_facts(&self) -> Vec<(Role, String)> {
        let memory = &self.state.screens.memory;
        if memory.rows.is_none() {
            return asking();
        }
        if memory.search.is_some() {
            return vec![
                (Role::TextStrong, "Nothing was found.".to_owned()),
                (Role::TextMuted, "esc shows the list again".to_owned()),
            ];
        }
        let (what, next) = match memory.place {
            Place::Review => ("Nothing to review.", String::new()),
            Place::Archived => (
                "Nothing is archived.",
                "Hygiene archives old, expired and surplus memories; H shows which.".to_owned(),
            ),
            Place::All | Place::Session | Place::Channel(_) | Place::Global => (
                "Nothing is remembered here yet.",
                format!(
                    "The agent writes memories when asked, and when a long session is compacted; {} writes one here.",
                    self.key(Action::MemoryAdd)
                ),
            ),
        };
        vec![(Role::TextStrong, what.to_owned()), (Role::TextMuted, next)]
    }

    fn key(&self, action: Action) -> String {
        let key = self.state.keymap.key_of(Context::Memory, action);
        key.unwrap_or_else(|| format!("`{action}`"))
    }

    fn hygiene(&mut self, area: Rect) {
        let memory = &self.state.screens.memory;
        if self.state.one_pane() || area.height < TWO_LISTS {
            if memory.second {
                self.runs(area);
            } else {
                self.going(area);
            }
            return;
        }
        let runs = memory.runs.as_ref().map_or(0, Vec::len);
        let height = paint::cells(runs).clamp(1, 6) + 3;
        let (top, bottom) = paint::split_top(area, area.height - height.min(area.height / 2));
        self.going(top);
        self.runs(bottom);
    }

    /// What stands above what would go, in a panel of so many rows.
    fn plan(&self, height: u16) -> Vec<(Role, String)> {
        let state = self.state;
        let memory = &state.screens.memory;
        let mut lines = self.problem();
        match &memory.ran {
            None => {}
            Some(Ok(run)) => lines.push((
                Role::NoticeInfo,
                format!(
                    "ran: {} archived, {} removed for good, {} freed; undo: {}",
                    run.report.archived,
                    run.report.removed,
                    format::bytes(run.freed_bytes),
                    cells::undo(state, run)
                ),
            )),
            Some(Err(why)) => {
                lines.push((Role::NoticeError, format!("not run: {why}")));
                if memory.too_much {
                    let text = format!(
                        "Nothing was changed. {} asks once more, then runs it anyway.",
                        self.key(Action::MemoryRun)
                    );
                    lines.push((Role::Text, text));
                }
            }
        }
        let Some(report) = &memory.preview else {
            lines.extend(asking());
            return lines;
        };
        if report.groups.is_empty() {
            lines.push((Role::TextStrong, "Nothing to archive or remove.".to_owned()));
            return lines;
        }
        lines.push((
            Role::TextStrong,
            format!(
                "{} would be archived, {} removed for good ({}); {} runs it",
                report.archived,
                report.removed,
                format::bytes(report.bytes),
                self.key(Action::MemoryRun)
            ),
        ));
        for excess in &report.too_much {
            lines.push((
                Role::NoticeWarning,
                format!(
                    "TOO MUCH: {} of {} of scope {} at once by retention: is the clock right?",
                    excess.count, excess.of, excess.scope
                ),
            ));
        }
        let most = usize::from(height / 3).max(1);
        let groups = report.groups.iter().take(most);
        lines.extend(groups.map(|group| (Role::Text, cells::group(group))));
        if report.groups.len() > most {
            let text = format!("and {} more reasons", report.groups.len() - most);
            lines.push((Role::TextMuted, text));
        }
        let (all, named) = (report.archived + report.removed, report.memories.len());
        if all > named as u64 {
            let text = format!("the first {named} of {all} are listed");
            lines.push((Role::TextMuted, text));
        }
        lines
    }

    /// What would go now.
    fn going(&mut self, area: Rect) {
        let state: &'a State = self.state;
        let memory = &state.screens.memory;
        let list = &memory.lists.going;
        self.list(
            area,
            &ListPanel {
                title: format!("Hygiene preview  {}", list.count()),
                focused: !memory.second,
                above: self.plan(area.height.saturating_sub(2)),
                cells: &|id| cells::would_go(state, *id),
                roles: &|id| match memory.texts.get(id) {
                    Some(Some(_)) => Vec::new(),
                    Some(None) | None => vec![(0, Role::TextMuted)],
                },
                region: Some(&|id| HitRegion::Memory(Key::Going(id))),
                ..ListPanel::new(list, cells::GOING, &GOING)
            },
        );
    }

    fn runs(&mut self, area: Rect) {
        let state: &'a State = self.state;
        let memory = &state.screens.memory;
        let list = &memory.lists.runs;
        let empty = match &memory.runs {
            None => asking(),
            Some(_) => vec![(Role::TextMuted, "No run yet.".to_owned())],
        };
        self.list(
            area,
            &ListPanel {
                title: format!("Runs  {}", list.count()),
                focused: memory.second,
                empty,
                cells: &|id| cells::run(state, *id),
                region: Some(&|id| HitRegion::Memory(Key::Run(id))),
                ..ListPanel::new(list, cells::RUNS, &RUNS)
            },
        );
    }

    fn routines(&mut self, area: Rect) {
        let state: &'a State = self.state;
        let memory = &state.screens.memory;
        let list = &memory.lists.routines;
        let empty = match &memory.routines {
            None => asking(),
            Some(_) => {
                let how = "`leverframe routine add NAME --schedule \"0 9 * * *\" --prompt \"…\"` makes one.";
                vec![
                    (Role::TextStrong, "No routine yet.".to_owned()),
                    (Role::TextMuted, how.to_owned()),
                ]
            }
        };
        self.list(
            area,
            &ListPanel {
                title: format!("Routines  {}", list.count()),
                focused: true,
                above: self.problem(),
                empty,
                cells: &|id| cells::routine(state, *id),
                roles: &|id| {
                    let routine = memory.routine_of(*id);
                    let run = routine.and_then(|one| one.last_run.as_ref());
                    vec![(4, result_role(run))]
                },
                region: Some(&|id| HitRegion::Memory(Key::Routine(id))),
                ..ListPanel::new(list, cells::ROUTINES, &ROUTINES)
            },
        );
    }
}

fn asking() -> Vec<(Role, String)> {
    vec![(Role::TextMuted, "asking …".to_owned())]
}

const SCOPES: [Column; 3] = [
    column(8, 0, Role::Text, Fit::Rest),
    column(5, 0, Role::TextMuted, Fit::Right),
    column(8, 1, Role::TextMuted, Fit::Right),
];
const FACTS: [Column; 6] = [
    column(12, 0, Role::Text, Fit::Left),
    column(16, 0, Role::Outside, Fit::Rest),
    column(15, 3, Role::TextMuted, Fit::Left),
    column(8, 1, Role::TextMuted, Fit::Right),
    column(5, 2, Role::TextMuted, Fit::Right),
    column(5, 4, Role::TextMuted, Fit::Right),
];
const GOING: [Column; 2] = [
    column(30, 0, Role::Outside, Fit::Rest),
    column(30, 1, Role::TextMuted, Fit::Left),
];
const RUNS: [Column; 7] = [
    column(4, 0, Role::TextMuted, Fit::Right),
    column(8, 0, Role::Text, Fit::Left),
    column(14, 2, Role::Text, Fit::Left),
    column(8, 0, Role::Text, Fit::Right),
    column(7, 0, Role::Text, Fit::Right),
    column(6, 1, Role::Text, Fit::Right),
    column(8, 0, Role::Text, Fit::Rest),
];
const ROUTINES: [Column; 5] = [
    column(16, 0, Role::TextStrong, Fit::Left),
    column(3, 0, Role::TextMuted, Fit::Left),
    column(25, 1, Role::TextMuted, Fit::Left),
    column(5, 0, Role::TextMuted, Fit::Left),
    column(16, 0, Role::Text, Fit::Rest),
];
