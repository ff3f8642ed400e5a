//! The Session screen: a window onto the transcript, the newest below. Only what is visible is laid out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::console::format;
use crate::console::world::session_name;
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::message::FrameReport;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::background_search::BackgroundSearch;
use crate::tui::state::entries;
use crate::tui::state::session_view::{Anchor, STREAM_POSITION, SessionReport};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::attached_files;
use crate::tui::view::cache::{EntryKey, Lines, ViewCache};
use crate::tui::view::console::Console;
use crate::tui::view::paint::{self, span};
use crate::tui::view::replay as view_replay;
use crate::tui::view::transcript_entry::{self, Manner};

/// Entries this close to an end of what is loaded cause more to be asked for.
const NEAR_END: usize = 5;

pub fn draw(
    state: &State,
    theme: &Theme,
    cache: &mut ViewCache,
    area: Rect,
    buf: &mut Buffer,
    report: &mut FrameReport,
) {
    let replay = state.replay.as_deref();
    if state.screens.session.session_id.is_none() && replay.is_none() {
        let inner = paint::padded(paint::panel(buf, area, theme, "Session", true));
        let text = "No session is open.";
        paint::put(buf, inner, 0, theme, Role::TextStrong, text);
        let text = format!(
            "{} lists them; {} opens one.",
            key_of(state, Action::ScreenLive),
            key_of(state, Action::Open)
        );
        paint::put(buf, inner, 2, theme, Role::TextMuted, &text);
        return;
    }
    let area = match replay {
        Some(replay) => view_replay::draw_files(replay, theme, cache, area, buf, report),
        None => area,
    };
    let title = replay.map_or_else(|| title(state), view_replay::title);
    let inner = paint::padded(paint::panel(buf, area, theme, &title, true));
    let search = searching(state);
    let mode = match replay {
        Some(replay) => view_replay::note(replay),
        None if state.screens.session.anchor.is_none() => "following".to_owned(),
        // The border has no room for all three.
        None if !search.is_empty() => position(state),
        None => format!(
            "{} · frozen, {} follows",
            position(state),
            key_of(state, Action::Follow)
        ),
    };
    let note = format!("{search}{mode}");
    paint::panel_note(buf, area, theme, Role::TextMuted, &note);
    if inner.is_empty() {
        return;
    }
    let mut window = Window {
        state,
        theme,
        cache,
        width: inner.width,
        positions: state.screens.session.visible().to_vec(),
        unfold: key_of(state, Action::Fold),
    };
    if has_tail(state) {
        window.positions.push(STREAM_POSITION);
    }
    if window.positions.is_empty() {
        let text = if state.screens.session.loading || replay.is_some() {
            "loading …"
        } else {
            &format!(
                "Nothing said yet; {} writes a message.",
                key_of(state, Action::Compose)
            )
        };
        paint::put(buf, inner, 0, theme, Role::TextMuted, text);
        return;
    }
    let height = usize::from(inner.height);
    let (mut index, mut skip) = window.top(height);
    let top = Anchor {
        position: window.positions.get(index).copied().unwrap_or(0),
        line: i64::try_from(skip).unwrap_or(0),
    };
    let near_start = index < NEAR_END;
    let mut at = 0usize;
    let selected = state.screens.session.selected;
    let (mut selected_above, mut selected_below) = (false, false);
    let query = state
        .screens
        .session
        .search
        .as_ref()
        .map(|s| s.query.clone());
    while at < height && index < window.positions.len() {
        let position = window
            .positions
            .get(index)
            .copied()
            .unwrap_or(STREAM_POSITION);
        let lines = window.lines(position);
        let is_selected = selected == Some(position);
        if is_selected {
            selected_above = skip > 0;
            selected_below = lines.len().saturating_sub(1) > skip + (height - at);
        }
        for (index, line) in lines.iter().enumerate().skip(skip) {
            if at >= height {
                break;
            }
            let row = paint::cells(at);
            window
                .cache
                .drawn(&lines, index, (inner.x, inner.y.saturating_add(row)));
            match &query {
                Some(query) => {
                    let line = highlighted(theme, line, query, is_selected);
                    paint::line(buf, inner, row, &line);
                }
                None => paint::line(buf, inner, row, line),
            }
            if is_selected && inner.x > area.x {
                buf.set_style(
                    Rect {
                        x: inner.x - 1,
                        y: inner.y + row,
                        width: 1,
                        height: 1,
                    },
                    theme.style(Role::Selection),
                );
            }
            at += 1;
        }
        skip = 0;
        index += 1;
    }
    report.session = Some(SessionReport {
        anchor: top,
        height: inner.height,
        near_start,
        near_end: index + NEAR_END >= window.positions.len(),
        selected_above,
        selected_below,
    });
}

/// The key of an action on this screen, for a hint; what is open above it does not matter.
fn key_of(state: &State, action: Action) -> String {
    let context = if state.replay.is_some() {
        Context::Replay
    } else {
        Context::Session
    };
    state.keymap.key_of(context, action).unwrap_or_default()
}

/// How far a search beyond what is loaded is.
pub fn progress(background_search: &BackgroundSearch) -> String {
    let reached = background_search
        .reached
        .map_or_else(String::new, |at| format!(", at {}", format::moment(at)));
    let way = if background_search.forward {
        "newer"
    } else {
        "older"
    };
    format!(
        "searching {way} entries: {} so far{reached}",
        background_search.searched
    )
}

/// Which entry is selected, else at the top, of how many: `entry 12/300`. A `+` = more than these exist.
fn position(state: &State) -> String {
    let session = &state.screens.session;
    let visible = session.visible();
    let reading = session.anchor.map(|anchor| anchor.position);
    let at = session.selected.or(reading).unwrap_or(u64::MAX);
    let at = visible.partition_point(|position| *position <= at);
    let more = if session.is_whole() { "" } else { "+" };
    format!("entry {}/{}{more}", at.max(1), visible.len())
}

/// How far a search is, or what it found.
fn searching(state: &State) -> String {
    let session = &state.screens.session;
    if let Some(background_search) = &session.background_search {
        let stop = key_of(state, Action::Back);
        return format!("{}, {stop} stops · ", progress(background_search));
    }
    session.search.as_ref().map_or_else(String::new, |search| {
        let loaded = if session.is_whole() { "" } else { " loaded" };
        let next = key_of(state, Action::SearchNext);
        let previous = key_of(state, Action::SearchPrevious);
        let count = search.matches.len();
        let at = session
            .selected
            .and_then(|at| search.matches.binary_search(&at).ok());
        let found = match at {
            Some(at) => format!("match {}/{count}", at + 1),
            None => format!("{count} matches"),
        };
        format!("{found}{loaded}, {next} {previous} · ")
    })
}

fn title(state: &State) -> String {
    let session = state
        .screens
        .session
        .session_id
        .and_then(|id| state.model.world().sessions.get(&id));
    match session {
        None => "Session".to_owned(),
        Some(session) => {
            let name = session_name(session);
            let word = state.model.world().session_status(session).as_str();
            let model = session
                .model
                .as_deref()
                .or(state
                    .model
                    .world()
                    .engine
                    .as_ref()
                    .map(|e| e.model.as_str()))
                .unwrap_or("");
            let preferences = match session.preferences {
                Some(_) => " · with preferences",
                None => "",
            };
            format!(
                "Session  {} · {} · {word} · {} tokens · {} · {model}{preferences}",
                session.channel,
                sanitize::line(name, 32),
                format::count(session.usage.input_tokens + session.usage.output_tokens),
                format::money(session.usage.cost_usd)
            )
        }
    }
}

fn has_tail(state: &State) -> bool {
    // What is being said now is no part of what was said then.
    if state.replay.is_some() {
        return false;
    }
    let id = state.screens.session.session_id;
    state
        .model
        .world()
        .streams
        .values()
        .any(|s| Some(s.session_id) == id && !s.text.is_empty())
        || !running_output(state).is_empty()
}

/// Output of the running tools of this session, by tool name.
fn running_output(state: &State) -> Vec<(String, String)> {
    let newest = state.screens.session.entries.values().rev().take(20);
    let calls = newest.flat_map(|held| entries::calls(&held.entry));
    let output = &state.model.world().tool_output;
    let running = calls.filter_map(|call| Some((call.name.clone(), output.get(&call.id)?.clone())));
    running.collect()
}

/// Lays out entries as they are needed.
struct Window<'a> {
    state: &'a State,
    theme: &'a Theme,
    cache: &'a mut ViewCache,
    width: u16,
    positions: Vec<u64>,
    unfold: String,
}

impl Window<'_> {
    fn lines(&mut self, position: u64) -> Lines {
        if position == STREAM_POSITION {
            return self.tail();
        }
        let Some(held) = self.state.screens.session.entries.get(&position) else {
            return Lines::default();
        };
        let view = &self.state.screens.session;
        let folded = view.is_folded(position);
        let repeated = entries::is_repeated(&held.entry, |turn| view.is_answered(turn));
        let key = EntryKey {
            position,
            version: held.version,
            width: self.width,
            folded,
            repeated,
            raw: self.state.screens.session.raw,
        };
        let theme = self.theme;
        let manner = Manner {
            width: usize::from(self.width),
            folded,
            repeated,
            raw: self.state.screens.session.raw,
            unfold: &self.unfold,
        };
        let console = Console::of(self.state);
        let session = self.state.screens.session.session_id;
        let session = session.and_then(|id| console.model.world().sessions.get(&id));
        let channel = session.map_or("", |session| session.channel.as_str());
        let workspace = console.workspace(self.cache.scope(), channel);
        let lines = self.cache.entry(
            key,
            || transcript_entry::links(workspace, &held.entry),
            |code| transcript_entry::lines(theme, code, &held.entry, manner),
        );
        if self.state.screens.session.selected != Some(position) {
            return lines;
        }
        let known = &self.state.screens.attached_files;
        let files = known.of(&held.entry);
        let files = attached_files::lines(theme, self.cache, known, &files, manner.width);
        if files.is_empty() {
            lines
        } else {
            Lines::new(lines.with(files))
        }
    }

    /// What is being said and done right now.
    fn tail(&mut self) -> Lines {
        let width = usize::from(self.width);
        let theme = self.theme;
        let mut out = Vec::new();
        let streams = self.state.model.world().streams.iter().filter(|(_, s)| {
            Some(s.session_id) == self.state.screens.session.session_id && !s.text.is_empty()
        });
        for (id, stream) in streams {
            out.push(Line::from(vec![
                span(theme, Role::OutsideModel, "answering"),
                span(
                    theme,
                    Role::TextMuted,
                    if stream.gap {
                        "  (the beginning was missed)"
                    } else {
                        ""
                    },
                ),
            ]));
            // Finished paragraphs are wrapped once; only the last one is wrapped again as it grows.
            let finished = stream.text.rfind('\n').map_or(0, |at| at + 1);
            let (done, open) = stream.text.split_at(finished);
            let wrap = |text: &str| {
                sanitize::block(text, width.saturating_sub(2))
                    .into_iter()
                    .map(|piece| {
                        Line::from(vec![Span::raw("  "), span(theme, Role::Outside, piece)])
                    })
                    .collect::<Vec<_>>()
            };
            if !done.is_empty() {
                let raw = self.state.screens.session.raw;
                let key = format!("{id} {} {raw}", stream.step);
                let lines = self.cache.stream(&key, finished, self.width, |code| {
                    let done = done.trim_end_matches('\n');
                    if raw {
                        wrap(done)
                    } else {
                        transcript_entry::model_text(theme, code, done, width)
                    }
                });
                out.extend(lines.iter().cloned());
            }
            if !open.is_empty() {
                out.extend(wrap(open));
            }
        }
        for (name, text) in running_output(self.state) {
            out.push(Line::from(vec![
                span(theme, Role::OutsideTool, sanitize::line(&name, 40)),
                span(theme, Role::StateRunning, "  running"),
            ]));
            let lines = sanitize::block(&text, width.saturating_sub(2));
            let from = lines.len().saturating_sub(12);
            out.extend(lines.into_iter().skip(from).map(|piece| {
                Line::from(vec![Span::raw("  "), span(theme, Role::TextMuted, piece)])
            }));
        }
        Lines::new(out.into())
    }

    fn len(&mut self, index: usize) -> usize {
        let position = self.positions.get(index).copied();
        position.map_or(0, |p| self.lines(p).len())
    }

    /// The entry and line from which the last `height` lines fill the window.
    fn bottom(&mut self, height: usize) -> (usize, usize) {
        let mut index = self.positions.len();
        let mut filled = 0;
        while index > 0 && filled < height {
            index -= 1;
            filled += self.len(index);
        }
        (index, filled.saturating_sub(height))
    }

    /// First entry and line of the window.
    fn top(&mut self, height: usize) -> (usize, usize) {
        let bottom = self.bottom(height);
        let Some(anchor) = self.state.screens.session.anchor else {
            return bottom;
        };
        let mut index = self
            .positions
            .partition_point(|p| *p < anchor.position)
            .min(self.positions.len().saturating_sub(1));
        let mut line = anchor.line;
        while line < 0 && index > 0 {
            index -= 1;
            line += i64::try_from(self.len(index)).unwrap_or(0);
        }
        let mut line = usize::try_from(line.max(0)).unwrap_or(0);
        while index + 1 < self.positions.len() && line >= self.len(index) {
            line -= self.len(index);
            index += 1;
        }
        let mut top = (index, line);
        if self.state.screens.session.reveal_selected
            && let Some(selected) = self.state.screens.session.selected
            && let Ok(target) = self.positions.binary_search(&selected)
        {
            top = self.revealing(top, target, height);
        }
        top.min(bottom)
    }

    /// The window moved as little as needed to contain the entry `target` (its beginning, when it is long).
    fn revealing(&mut self, top: (usize, usize), target: usize, height: usize) -> (usize, usize) {
        if (target, 0) < top {
            return (target, 0);
        }
        let mut below = 0;
        for index in top.0..=target {
            below += self.len(index);
            if below > height.saturating_mul(4) {
                break;
            }
        }
        let below = below.saturating_sub(top.1);
        if below <= height {
            return top;
        }
        let own = self.len(target);
        if own >= height {
            return (target, 0);
        }
        let mut index = target;
        let mut filled = own;
        while index > 0 && filled < height {
            index -= 1;
            filled += self.len(index);
        }
        (index, filled.saturating_sub(height))
    }
}

/// The line with matches of the search marked.
fn highlighted(theme: &Theme, line: &Line<'static>, query: &str, current: bool) -> Line<'static> {
    let style: Style = theme.style(if current {
        Role::SearchCurrent
    } else {
        Role::SearchMatch
    });
    let mut spans = Vec::new();
    for part in &line.spans {
        let lower = part.content.to_lowercase();
        // Only where small letters have the same length can positions be carried over.
        if query.is_empty() || lower.len() != part.content.len() {
            spans.push(part.clone());
            continue;
        }
        let mut from = 0;
        while let Some(found) = lower.get(from..).and_then(|rest| rest.find(query)) {
            let (start, end) = (from + found, from + found + query.len());
            match (part.content.get(from..start), part.content.get(start..end)) {
                (Some(before), Some(matched)) => {
                    spans.push(Span::styled(before.to_owned(), part.style));
                    spans.push(Span::styled(matched.to_owned(), part.style.patch(style)));
                }
                _ => break,
            }
            from = end;
        }
        if let Some(rest) = part.content.get(from..) {
            spans.push(Span::styled(rest.to_owned(), part.style));
        }
    }
    Line::from(spans)
}
