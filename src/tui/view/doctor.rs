//! Doctor, drawn: verdict, subject and detail of each check; its fix unfolds below or stands beside it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::format;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::sanitize;
use crate::tui::state::app::{State, WIDE_COLUMNS};
use crate::tui::state::doctor::{FULL_CHECK, Row, Word};
use crate::tui::state::doctor_screen::COLUMNS;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, scrolled, span};
use crate::tui::view::table::more_below;

/// Columns of the word.
const WORD: usize = 10;

const fn role(word: Word) -> Role {
    match word {
        Word::Problem => Role::StateBad,
        Word::Warning => Role::StateWaiting,
        Word::NotKnown | Word::Off => Role::StateIdle,
        Word::Ok => Role::StateGood,
    }
}

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.doctor;
    let wide = area.width >= WIDE_COLUMNS;
    let mut left = area;
    if wide && let Some(row) = panel.chosen() {
        let right;
        (left, right) = paint::split_left(area, area.width * 3 / 5);
        let width = usize::from(right.width.saturating_sub(4)).max(1);
        let mut rows = vec![(role(row.word), row.word.as_str().to_owned())];
        let lines = sanitize::block(&row.detail, width);
        rows.extend(lines.into_iter().map(|line| (Role::Text, line)));
        rows.extend(unfolded(row, width));
        let scroll = panel.list.scroll;
        scrolled(theme, right, buf, &row.about, &rows, scroll, report);
    }
    list(state, theme, left, buf, report, wide);
}

/// What unfolds: the fix, then what else is known.
fn unfolded(row: &Row, width: usize) -> Vec<(Role, String)> {
    let mut lines = Vec::new();
    if let Some(fix) = &row.fix {
        let text = sanitize::block(&format!("fix: {fix}"), width);
        lines.extend(text.into_iter().map(|line| (Role::TextStrong, line)));
    }
    for text in &row.more {
        let text = sanitize::block(text, width);
        lines.extend(text.into_iter().map(|line| (Role::TextMuted, line)));
    }
    lines
}

fn title(state: &State) -> String {
    let rows = &state.screens.doctor.rows;
    let count = |word: Word| rows.iter().filter(|row| row.word == word).count();
    let at = match &state.screens.doctor.doctor {
        Some(Ok(doctor)) => format!("  at {}", format::clock(doctor.at)),
        Some(Err(_)) | None => String::new(),
    };
    let list = &state.screens.doctor.list;
    let shown = if list.filter.is_empty() {
        String::new()
    } else {
        format!("  {}", list.count())
    };
    let note = list.note(COLUMNS);
    format!(
        "Doctor{shown}  problems {}, warnings {}, ok {}{at}{note}",
        count(Word::Problem),
        count(Word::Warning),
        count(Word::Ok)
    )
}

/// What stands above the list: the question before a full check, or that it runs.
fn notice(state: &State) -> Option<(Role, String)> {
    let panel = &state.screens.doctor;
    if panel.confirming {
        let size = panel
            .rows
            .iter()
            .find(|row| row.about == "database")
            .map_or_else(String::new, |row| format!(" ({})", row.detail));
        return Some((
            Role::NoticeWarning,
            format!(
                "The full check reads the whole database{size} and may take minutes; work goes on meanwhile. The same \
                 key again starts it, esc does not."
            ),
        ));
    }
    state.screens.in_flight.has(&FULL_CHECK).then(|| {
        (
            Role::NoticeInfo,
            "full check: reading the whole database …".to_owned(),
        )
    })
}

fn list(
    state: &State,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
    report: &mut FrameReport,
    wide: bool,
) {
    let panel = &state.screens.doctor;
    let mut inner = paint::padded(paint::panel(buf, area, theme, &title(state), true));
    let width = usize::from(inner.width);
    if let Some((role, text)) = notice(state) {
        for piece in sanitize::block(&text, width.max(1)) {
            paint::put(buf, inner, 0, theme, role, &piece);
            inner = paint::split_top(inner, 1).1;
        }
    }
    if panel.rows.is_empty() {
        paint::put(buf, inner, 0, theme, Role::TextMuted, "asking …");
        return;
    }
    let about = (width / 3).clamp(8, 30);
    let mut lines: Vec<(Line<'static>, bool)> = Vec::new();
    let mut keys = Vec::new();
    let mut first_of_selected = None;
    let mut last_of_selected = 0;
    for row in panel.list.order.iter().filter_map(|key| panel.row(key)) {
        let is_selected = panel.list.selected.as_ref() == Some(&row.key);
        if is_selected {
            first_of_selected = Some(lines.len());
        }
        let room = width.saturating_sub(2 + WORD + about + 1);
        let line = Line::from(vec![
            Span::raw(if is_selected { "> " } else { "  " }),
            span(
                theme,
                role(row.word),
                format!("{:<WORD$}", row.word.as_str()),
            ),
            span(theme, Role::TextStrong, sanitize::column(&row.about, about)),
            Span::raw(" "),
            span(theme, Role::Text, sanitize::line(&row.detail, room)),
        ]);
        keys.push((lines.len(), &row.key));
        lines.push((line, is_selected));
        if !wide && panel.unfolded.contains(&row.key) {
            let indent = 4.min(width);
            let cells = width.saturating_sub(indent).max(1);
            // What the line above had no room for is read here.
            let mut texts = Vec::new();
            if sanitize::width(&row.detail) > room {
                let detail = sanitize::block(&row.detail, cells);
                texts.extend(detail.into_iter().map(|line| (Role::Text, line)));
            }
            texts.extend(unfolded(row, cells));
            for (role, text) in texts {
                let line = Line::from(vec![Span::raw(" ".repeat(indent)), span(theme, role, text)]);
                lines.push((line, false));
            }
        }
        if is_selected {
            last_of_selected = lines.len() - 1;
        }
    }
    let height = usize::from(inner.height);
    let most = lines.len().saturating_sub(height);
    let shown_from = first_of_selected.map_or(0, |first| {
        let whole = paint::first_row(Some(last_of_selected), lines.len(), height);
        whole.min(first)
    });
    let first = if wide {
        shown_from
    } else {
        report.panel_max_scroll = Some(most - shown_from.min(most));
        shown_from.saturating_add(panel.list.scroll).min(most)
    };
    for (at, (line, is_selected)) in (0..inner.height).zip(lines.iter().skip(first)) {
        paint::line(buf, inner, at, line);
        if *is_selected {
            paint::select(buf, paint::row(inner, at), theme, Role::Selection);
        }
    }
    for (line, key) in keys {
        let at = line
            .checked_sub(first)
            .and_then(|at| u16::try_from(at).ok());
        if let Some(at) = at {
            report.region(paint::row(inner, at), || HitRegion::DoctorRow(key.clone()));
        }
    }
    let below = lines.len().saturating_sub(first + height);
    more_below(buf, area, theme, below);
}
