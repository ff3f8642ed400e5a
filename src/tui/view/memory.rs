//! Memory, drawn: scopes beside what they hold, hygiene, routines.
//!
//! What is not known yet, or could not be asked, is said in words; nothing is drawn in its place.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::format;
use crate::protocol::hygiene::HygieneStatus;
use crate::protocol::memory::{MAX_TEXT, MemoryTarget};
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::message::FrameReport;
use crate::tui::sanitize;
use crate::tui::state::app::{State, WIDE_COLUMNS};
use crate::tui::state::memory::{MemoryText, Place, View};
use crate::tui::state::memory_screen::REVIEWED;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::memory_words::{self as words, Lines};
use crate::tui::view::paint::{self, span};

/// Rows of the detail below a list.
const DETAIL: u16 = 9;

/// Where something is drawn, and with what.
struct Canvas<'a> {
    state: &'a State,
    theme: &'a Theme,
    buf: &'a mut Buffer,
}

/// Draws the screen.
pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let memory = &state.screens.memory;
    let mut canvas = Canvas { state, theme, buf };
    if memory.zoomed
        && let Some(title) = detail_title(state)
    {
        report.panel_max_scroll = Some(canvas.detail(area, &title, true));
        return;
    }
    let area = canvas.beside(area);
    match memory.view {
        View::Facts => canvas.facts(area),
        View::Hygiene => canvas.hygiene(area),
        View::Routines => canvas.routines(area),
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

fn detail_title(state: &State) -> Option<String> {
    let memory = &state.screens.memory;
    if let Some(reading) = &memory.reading {
        return Some(format!("Summary of {}", reading.session_id));
    }
    if memory.memory().is_some() {
        return Some("Remembered".to_owned());
    }
    if memory.hygiene_run().is_some() {
        return Some("Run of hygiene".to_owned());
    }
    memory.routine().map(|routine| routine.name.clone())
}

fn split_left(area: Rect, width: u16) -> (Rect, Rect) {
    let width = width.min(area.width);
    (
        Rect { width, ..area },
        Rect {
            x: area.x + width,
            width: area.width - width,
            ..area
        },
    )
}

fn split_bottom(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    (
        Rect {
            height: area.height - height,
            ..area
        },
        Rect {
            y: area.bottom() - height,
            height,
            ..area
        },
    )
}

fn place_name(place: &Place) -> String {
    match place {
        Place::Review => "to look through".to_owned(),
        Place::All => "all scopes".to_owned(),
        Place::Session => "sessions".to_owned(),
        Place::Channel(name) => format!("channel {name}"),
        Place::Global => "global".to_owned(),
        Place::Archived => "archived".to_owned(),
    }
}

impl<'a> Canvas<'a> {
    /// Draws the detail of what is selected beside or below, where there is room; what is left.
    fn beside(&mut self, area: Rect) -> Rect {
        let Some(title) = detail_title(self.state) else {
            return area;
        };
        let (rest, target) = if self.state.size.0 >= WIDE_COLUMNS {
            split_left(area, area.width - area.width * 2 / 5)
        } else if area.height >= DETAIL + 9 {
            split_bottom(area, DETAIL)
        } else {
            return area;
        };
        self.detail(target, &title, false);
        rest
    }

    /// Draws the detail; how far it can be scrolled.
    fn detail(&mut self, area: Rect, title: &str, focused: bool) -> usize {
        let inner = paint::padded(paint::panel(self.buf, area, self.theme, title, focused));
        let mut out = Lines::new(self.theme, usize::from(inner.width));
        let memory = &self.state.screens.memory;
        if let Some(reading) = &memory.reading {
            words::summary(self.state, reading, &mut out);
        } else if let Some(one) = memory.memory() {
            words::memory(self.state, one, &mut out);
        } else if let Some(run) = memory.hygiene_run() {
            words::run(self.state, run, &mut out);
        } else if let Some(routine) = memory.routine() {
            words::routine(self.state, routine, &mut out);
        }
        let height = usize::from(inner.height);
        let most = out.lines.len().saturating_sub(height);
        let first = if focused { memory.scroll.min(most) } else { 0 };
        for (at, line) in out.lines.iter().skip(first).take(height).enumerate() {
            paint::line(self.buf, inner, u16::try_from(at).unwrap_or(u16::MAX), line);
        }
        if most > first {
            let note = format!("{} more lines below", most - first);
            paint::panel_note(self.buf, area, self.theme, Role::TextMuted, &note);
        }
        most
    }

    /// Lines of text at the top; what is left below them.
    fn say(&mut self, area: Rect, lines: &[(Role, String)]) -> Rect {
        let mut at = 0;
        for (role, text) in lines {
            for line in sanitize::block(text, usize::from(area.width)) {
                let line = Line::from(span(self.theme, *role, line));
                paint::line(self.buf, area, at, &line);
                at = at.saturating_add(1);
            }
        }
        split_bottom(area, area.height.saturating_sub(at)).1
    }

    /// Rows below a head, the chosen one in view.
    fn table(
        &mut self,
        area: Rect,
        head: &str,
        count: usize,
        chosen: Option<usize>,
        row: &dyn Fn(usize) -> Vec<Span<'static>>,
    ) {
        let head = sanitize::line(head, usize::from(area.width));
        let head = Line::from(span(self.theme, Role::TableHead, head));
        paint::line(self.buf, area, 0, &head);
        let height = usize::from(area.height.saturating_sub(1));
        let first = paint::first_row(chosen, count, height);
        for (offset, index) in (first..count).take(height).enumerate() {
            let at = 1 + u16::try_from(offset).unwrap_or(u16::MAX - 1);
            let mark = if chosen == Some(index) { "> " } else { "  " };
            let mut spans = vec![Span::raw(mark)];
            spans.extend(row(index));
            paint::line(self.buf, area, at, &Line::from(spans));
            if chosen == Some(index) {
                paint::select(self.buf, paint::row(area, at), self.theme, Role::Selection);
            }
        }
    }

    /// How many rows are out of sight, on the border.
    fn hidden(&mut self, area: Rect, rows: usize, height: u16, chosen: Option<usize>, more: bool) {
        let height = usize::from(height.saturating_sub(1));
        let below = rows.saturating_sub(paint::first_row(chosen, rows, height) + height);
        let note = match (below, more) {
            (0, false) => return,
            (below, false) => format!("{below} more below"),
            (below, true) => format!("{below} more below, and further pages"),
        };
        paint::panel_note(self.buf, area, self.theme, Role::TextMuted, &note);
    }

    fn facts(&mut self, area: Rect) {
        if self.state.one_pane() {
            if self.state.screens.memory.second {
                self.scopes(area);
            } else {
                self.list(area);
            }
            return;
        }
        let (left, right) = split_left(area, if area.width >= 100 { 34 } else { 28 });
        self.scopes(left);
        self.list(right);
    }

    fn scopes(&mut self, area: Rect) {
        let memory = &self.state.screens.memory;
        let panel = paint::panel(self.buf, area, self.theme, "Memory", memory.second);
        let inner = paint::padded(panel);
        let width = usize::from(inner.width);
        let all = self.state.screens.memory.places(self.state.model.world());
        let facts = self.about(width);
        let room = inner
            .height
            .saturating_sub(u16::try_from(facts.len()).unwrap_or(u16::MAX) + 1);
        let wanted = u16::try_from(all.len()).unwrap_or(u16::MAX);
        let height = wanted.min(room.max(4)).min(inner.height);
        let chosen = all.iter().position(|place| *place == memory.place);
        let first = paint::first_row(chosen, all.len(), usize::from(height));
        for (offset, place) in all.iter().skip(first).take(usize::from(height)).enumerate() {
            let at = u16::try_from(offset).unwrap_or(u16::MAX);
            let here = *place == memory.place;
            let held = if *place == Place::Review {
                memory.to_review().to_string()
            } else if memory.stats.is_none() {
                "…".to_owned()
            } else {
                let (count, bytes) = memory.held(place);
                if count == 0 {
                    "0".to_owned()
                } else {
                    format!("{} {:>8}", format::count(count), format::bytes(bytes))
                }
            };
            let room = width.saturating_sub(sanitize::width(&held) + 3);
            let text = format!(
                "{} {} {held}",
                if here { ">" } else { " " },
                sanitize::column(&place_name(place), room)
            );
            let role = if *place == Place::Review {
                Role::StateWaiting
            } else {
                Role::Text
            };
            paint::line(
                self.buf,
                inner,
                at,
                &Line::from(span(self.theme, role, text)),
            );
            if here {
                let role = if memory.second {
                    Role::Selection
                } else {
                    Role::SelectionUnfocused
                };
                paint::select(self.buf, paint::row(inner, at), self.theme, role);
            }
        }
        let rest = split_bottom(inner, inner.height.saturating_sub(height + 1)).1;
        for (at, (role, text)) in facts.into_iter().enumerate() {
            let at = u16::try_from(at).unwrap_or(u16::MAX);
            paint::line(
                self.buf,
                rest,
                at,
                &Line::from(span(self.theme, role, text)),
            );
        }
    }

    /// Growth, retention, runs: what stands below the scopes.
    fn about(&self, width: usize) -> Vec<(Role, String)> {
        let mut out = Vec::new();
        let mut say = |role: Role, text: &str| out.push((role, sanitize::line(text, width)));
        let Some(status) = &self.state.screens.memory.status else {
            return out;
        };
        if let Some(problem) = &status.problem {
            say(Role::NoticeError, problem);
        }
        let days: Vec<u64> = status.growth.iter().map(|day| day.memories).collect();
        if days.len() > 1 {
            let seen = days.len().min(width);
            let most = days.iter().rev().take(seen).max().copied().unwrap_or(0);
            say(Role::StateRunning, &words::bars(&days, width));
            say(
                Role::TextMuted,
                &format!("{seen} days, at most {}", format::count(most)),
            );
        } else {
            say(Role::TextMuted, "growth: from the second day on");
        }
        let (last, next) = self.runs(status);
        say(Role::Text, &last);
        say(Role::Text, &next);
        for (scope, days) in &status.retention_days {
            let kept = match days {
                0 => format!("{scope} kept for ever"),
                days => format!("{scope} kept {days}d unused"),
            };
            say(Role::TextMuted, &kept);
        }
        say(
            Role::TextMuted,
            &format!("at most {} a scope", format::count(status.max_memories)),
        );
        if let Some(stats) = &self.state.screens.memory.stats {
            let meaning = match &stats.embeddings {
                Some(model) => format!("by meaning: {model}"),
                None => "search by words only".to_owned(),
            };
            say(Role::TextMuted, &meaning);
            let text = format!("{} summaries, {} turns", stats.summaries, stats.covered);
            say(Role::TextMuted, &text);
        }
        out
    }

    fn runs(&self, status: &HygieneStatus) -> (String, String) {
        let now = self.state.model.now.wall;
        let last = match &status.last {
            None => "last run: none yet".to_owned(),
            Some(run) => format!("last run: {} {} ago", run.state, format::age(now, run.at)),
        };
        let next = match (status.running, status.next_at) {
            (true, _) => "next run: one is under way".to_owned(),
            (false, Some(at)) if at <= now => "next run: due".to_owned(),
            (false, Some(at)) => format!("next run: in {}", words::ends(now, at)),
            (false, None) => "next run: none due".to_owned(),
        };
        (last, next)
    }

    fn list(&mut self, area: Rect) {
        let (state, theme): (&'a State, &'a Theme) = (self.state, self.theme);
        let memory = &state.screens.memory;
        let name = place_name(&memory.place);
        let count = memory.rows.as_ref().map_or(0, Vec::len);
        let title = match &memory.search {
            Some(text) => format!("Results for “{text}” in {name}: {count}, best first"),
            None if memory.marked.is_empty() => name,
            None => format!("{name}, {} marked", memory.marked.len()),
        };
        let panel = paint::panel(self.buf, area, theme, &title, !memory.second);
        let mut inner = paint::padded(panel);
        if let Some(problem) = &memory.problem {
            inner = self.say(inner, &[(Role::NoticeError, problem.clone())]);
        }
        if let (Some(why), Some(_)) = (&memory.words_only, &memory.search) {
            let text = format!("by words only: {why}");
            inner = self.say(inner, &[(Role::NoticeWarning, text)]);
        }
        let Some(rows) = &memory.rows else {
            self.say(inner, &[(Role::TextMuted, "asking …".to_owned())]);
            return;
        };
        if rows.is_empty() {
            let lines = self.empty();
            self.say(inner, &lines);
            return;
        }
        let full = memory.place == Place::Review
            && memory.review.as_ref().is_some_and(|review| {
                let most = REVIEWED as usize;
                review.proposed.len() >= most || review.never_used.len() >= most
            });
        if full && memory.search.is_none() {
            let text = format!("the first {REVIEWED} of each kind");
            inner = self.say(inner, &[(Role::TextMuted, text)]);
        }
        let width = usize::from(inner.width);
        let place = if width >= 80 { 16 } else { 0 };
        let end = if width >= 60 { 6 } else { 0 };
        let used = if width >= 44 { 12 } else { 0 };
        // Of what a search found, by what counts more than how often it was needed.
        let searched = memory.search.is_some();
        let text = width.saturating_sub(2 + 2 + 11 + place + end + used);
        let now = self.state.model.now.wall;
        let cell = |text: &str, width: usize| match width {
            0 => String::new(),
            _ => format!("{} ", sanitize::column(text, width - 1)),
        };
        let right = |text: &str, width: usize| match width {
            0 => String::new(),
            _ => format!("{:>width$}", sanitize::line(text, width)),
        };
        let columns = |state: &str, what: &str, at: &str, uses: &str, last: &str, ends: &str| {
            let uses_width = if searched { used } else { used / 2 };
            [
                cell(state, 11),
                cell(what, text),
                cell(at, place),
                right(uses, uses_width),
                right(last, used - uses_width),
                right(ends, end),
            ]
        };
        let uses = if searched { "found by" } else { "uses" };
        let head = columns("state", "what", "where", uses, "used", "ends").concat();
        let chosen = memory
            .selected
            .and_then(|id| rows.iter().position(|row| row.memory.id == id));
        let row = |index: usize| -> Vec<Span<'static>> {
            let Some(row) = rows.get(index) else {
                return Vec::new();
            };
            let one = &row.memory;
            let (role, word) = words::state_word(row);
            let place = match (&one.channel, one.session_id) {
                (Some(channel), Some(_)) => format!("{channel} (one)"),
                (Some(channel), None) => channel.clone(),
                (None, _) => "everywhere".to_owned(),
            };
            let cells = columns(
                &word,
                &one.text,
                &place,
                &match (searched, words::found_by(row)) {
                    (true, by) => by.map_or_else(String::new, |by| by.to_string()),
                    (false, _) => format::count(one.uses),
                },
                &words::ago(now, one.last_used_at),
                &one.expires_at
                    .map_or_else(|| "-".to_owned(), |at| words::ends(now, at)),
            );
            let mark = if memory.marked.contains(&one.id) {
                "* "
            } else {
                "  "
            };
            let roles = [role, Role::Outside];
            let mut spans = vec![span(theme, Role::TextStrong, mark.to_owned())];
            spans.extend(cells.into_iter().enumerate().map(|(at, cell)| {
                let role = roles.get(at).copied().unwrap_or(Role::TextMuted);
                span(theme, role, cell)
            }));
            spans
        };
        let more = memory.cursor.is_some();
        self.table(inner, &format!("    {head}"), count, chosen, &row);
        self.hidden(area, count, inner.height, chosen, more);
    }

    /// Why a list is empty.
    fn empty(&self) -> Vec<(Role, String)> {
        let memory = &self.state.screens.memory;
        if memory.search.is_some() {
            return vec![
                (Role::TextStrong, "Nothing was found.".to_owned()),
                (Role::TextMuted, "esc shows the list again".to_owned()),
            ];
        }
        let (what, next) = match memory.place {
            Place::Review => ("Nothing to look through.", String::new()),
            Place::Archived => (
                "Nothing is archived.",
                "Hygiene archives what is old, expired or too much; H shows what would go."
                    .to_owned(),
            ),
            Place::All | Place::Session | Place::Channel(_) | Place::Global => (
                "Nothing is remembered here yet.",
                format!(
                    "The agent remembers when it is told to, and when a long session is compacted; {} writes something here.",
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
        let state: &'a State = self.state;
        let memory = &state.screens.memory;
        // Two lists of three rows each help nobody: the one in use gets the room, tab shows the other.
        if state.one_pane() || area.height < DETAIL + 9 {
            if memory.second {
                self.history(area);
            } else {
                self.going(area);
            }
            return;
        }
        let runs = memory.runs.as_ref().map_or(0, Vec::len);
        let height = u16::try_from(runs).unwrap_or(u16::MAX).clamp(1, 6) + 3;
        let (top, bottom) = split_bottom(area, height.min(area.height / 2));
        self.going(top);
        self.history(bottom);
    }

    /// What would go now.
    fn going(&mut self, area: Rect) {
        let (state, theme): (&'a State, &'a Theme) = (self.state, self.theme);
        let memory = &state.screens.memory;
        let panel = paint::panel(
            self.buf,
            area,
            theme,
            "Hygiene: what would go now",
            !memory.second,
        );
        let inner = paint::padded(panel);
        let mut lines = Vec::new();
        if let Some(problem) = &memory.problem {
            lines.push((Role::NoticeError, problem.clone()));
        }
        match &memory.ran {
            None => {}
            Some(Ok(run)) => lines.push((
                Role::NoticeInfo,
                format!(
                    "ran: {} archived, {} removed for good, {} given back; undo: {}",
                    run.report.archived,
                    run.report.removed,
                    format::bytes(run.freed_bytes),
                    words::undo(state, run)
                ),
            )),
            Some(Err(why)) => {
                lines.push((Role::NoticeError, format!("not run: {why}")));
                if memory.too_much {
                    let text = format!(
                        "Nothing was changed. {} asks once more, to run it all the same.",
                        self.key(Action::MemoryRun)
                    );
                    lines.push((Role::Text, text));
                }
            }
        }
        let Some(report) = &memory.preview else {
            lines.push((Role::TextMuted, "asking …".to_owned()));
            self.say(inner, &lines);
            return;
        };
        if report.groups.is_empty() {
            lines.push((Role::TextStrong, "Nothing would go.".to_owned()));
            self.say(inner, &lines);
            return;
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
        let most = usize::from(inner.height / 3).max(1);
        let groups = report.groups.iter().take(most);
        lines.extend(groups.map(|group| (Role::Text, words::group(group))));
        if report.groups.len() > most {
            let text = format!("and {} more reasons", report.groups.len() - most);
            lines.push((Role::TextMuted, text));
        }
        let inner = self.say(inner, &lines);
        if report.memories.is_empty() {
            return;
        }
        let all = report.archived + report.removed;
        let named = report.memories.len();
        let head = if all > named as u64 {
            format!("  the first {named} of {all}")
        } else {
            "  memories".to_owned()
        };
        let chosen = memory
            .going
            .and_then(|id| report.memories.iter().position(|other| *other == id));
        let width = usize::from(inner.width).saturating_sub(2);
        let row = |index: usize| -> Vec<Span<'static>> {
            let Some(id) = report.memories.get(index) else {
                return Vec::new();
            };
            let id_text = id.to_string();
            let (role, text) = match memory.texts.get(id) {
                Some(Some(one)) => (Role::Outside, one.text.as_str()),
                Some(None) => (Role::TextMuted, "(gone meanwhile)"),
                None => (Role::TextMuted, "…"),
            };
            // The whole id where there is room for it and for words.
            let id_width = if width >= 64 { 31 } else { 0 };
            let id_cell = if id_width == 0 {
                String::new()
            } else {
                sanitize::column(&id_text, id_width)
            };
            vec![
                span(theme, Role::TextMuted, id_cell),
                span(
                    theme,
                    role,
                    sanitize::line(text, width.saturating_sub(id_width)),
                ),
            ]
        };
        self.table(inner, &head, named, chosen, &row);
        self.hidden(area, named, inner.height, chosen, false);
    }

    /// The runs.
    fn history(&mut self, area: Rect) {
        let (state, theme): (&'a State, &'a Theme) = (self.state, self.theme);
        let memory = &state.screens.memory;
        let panel = paint::panel(self.buf, area, theme, "Runs", memory.second);
        let inner = paint::padded(panel);
        let runs = match memory.runs.as_deref() {
            None => {
                self.say(inner, &[(Role::TextMuted, "asking …".to_owned())]);
                return;
            }
            Some([]) => {
                self.say(inner, &[(Role::TextMuted, "No run yet.".to_owned())]);
                return;
            }
            Some(runs) => runs,
        };
        let chosen = memory
            .run
            .and_then(|id| runs.iter().position(|run| run.id == id));
        let columns = |cells: [&str; 7]| {
            let [age, state, by, archived, removed, back, undo] = cells;
            format!(
                "{:>4} {} {} {archived:>8} {removed:>7} {back:>6} {undo}",
                age,
                sanitize::column(state, 8),
                sanitize::column(by, 14)
            )
        };
        let head = columns(["ago", "state", "by", "archived", "removed", "back", "undo"]);
        let width = usize::from(inner.width).saturating_sub(2);
        let row = |index: usize| -> Vec<Span<'static>> {
            let Some(run) = runs.get(index) else {
                return Vec::new();
            };
            let note = run.report.note.as_deref();
            let undo = words::undo(state, run);
            let text = columns([
                &format::age(state.model.now.wall, run.at),
                run.state.as_str(),
                &run.by,
                &format::count(run.report.archived),
                &format::count(run.report.removed),
                &format::count(run.restored),
                &note.map_or_else(|| undo.clone(), |note| format!("{undo} · {note}")),
            ]);
            vec![span(theme, Role::Text, sanitize::line(&text, width))]
        };
        self.table(inner, &format!("  {head}"), runs.len(), chosen, &row);
        self.hidden(area, runs.len(), inner.height, chosen, false);
    }

    fn routines(&mut self, area: Rect) {
        let (state, theme): (&'a State, &'a Theme) = (self.state, self.theme);
        let memory = &state.screens.memory;
        let panel = paint::panel(self.buf, area, theme, "Routines", true);
        let mut inner = paint::padded(panel);
        if let Some(problem) = &memory.problem {
            inner = self.say(inner, &[(Role::NoticeError, problem.clone())]);
        }
        let routines = match memory.routines.as_deref() {
            None => {
                self.say(inner, &[(Role::TextMuted, "asking …".to_owned())]);
                return;
            }
            Some([]) => {
                let how = "`leverframe routine add NAME --schedule \"0 9 * * *\" --prompt \"…\"` makes one.";
                let lines = [
                    (Role::TextStrong, "No routine yet.".to_owned()),
                    (Role::TextMuted, how.to_owned()),
                ];
                self.say(inner, &lines);
                return;
            }
            Some(routines) => routines,
        };
        let width = usize::from(inner.width).saturating_sub(2);
        let when = if width >= 70 { 26 } else { 0 };
        let name = if width >= 50 { 17 } else { 13 };
        let last = width.saturating_sub(name + 4 + when + 6);
        let columns = |cells: [&str; 5]| {
            let [called, on, schedule, next, result] = cells;
            let schedule = match when {
                0 => String::new(),
                _ => format!("{} ", sanitize::column(schedule, when - 1)),
            };
            [
                format!(
                    "{} {}",
                    sanitize::column(called, name - 1),
                    sanitize::column(on, 4)
                ),
                format!("{schedule}{} ", sanitize::column(next, 5)),
                sanitize::line(result, last),
            ]
        };
        let head = columns(["name", "on", "schedule", "next", "last run"]).concat();
        let chosen = memory
            .routine
            .and_then(|id| routines.iter().position(|one| one.id == id));
        let row = |index: usize| -> Vec<Span<'static>> {
            let Some(one) = routines.get(index) else {
                return Vec::new();
            };
            let (role, result) = match &one.last_run {
                None => (Role::TextMuted, "none yet".to_owned()),
                Some(run) => words::routine_result(state, run),
            };
            let [called, when, result] = columns([
                &one.name,
                if one.enabled { "on" } else { "off" },
                &words::schedule(&one.schedule),
                &words::next(state, one),
                &result,
            ]);
            vec![
                span(theme, Role::TextStrong, called),
                span(theme, Role::TextMuted, when),
                span(theme, role, result),
            ]
        };
        self.table(inner, &format!("  {head}"), routines.len(), chosen, &row);
        self.hidden(area, routines.len(), inner.height, chosen, false);
    }
}
