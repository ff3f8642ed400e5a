//! What a replay says about itself, beside the transcript that it plays: the time, and what each step did to files.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::console::format;
use crate::protocol::file_change::CallDiff;
use crate::protocol::session::ToolCall;
use crate::tui::code_colors::CodeColors;
use crate::tui::message::FrameReport;
use crate::tui::state::app::WIDE_COLUMNS;
use crate::tui::state::replay::Replay;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::cache::ViewCache;
use crate::tui::view::card_body::Body;
use crate::tui::view::diff::DiffLayout;
use crate::tui::view::paint;
use crate::tui::view::table::more_below;

/// Least rows of a screen that shows the files below the transcript.
const LEAST_ROWS: u16 = 16;

/// The title of its panel: what is played, when it was, how far it is.
pub fn title(replay: &Replay) -> String {
    let (position, length) = replay.time();
    let (shown, moments) = replay.moment();
    let at = replay
        .clock()
        .map_or_else(String::new, |at| format!(" · {}", format::moment(at)));
    let cut = if replay.cut {
        format!(
            " · only the first {} entries",
            crate::tui::state::replay::ENTRIES
        )
    } else {
        String::new()
    };
    let time = |millis: i64| {
        let seconds = millis / 1_000;
        if seconds < 3_600 {
            format!("{}:{:02}", seconds / 60, seconds % 60)
        } else {
            format!(
                "{}:{:02}:{:02}",
                seconds / 3_600,
                seconds / 60 % 60,
                seconds % 60
            )
        }
    };
    format!(
        "REPLAY  {} of {} · {shown} of {moments} moments{at}{cut} · {}",
        time(position),
        time(length),
        replay.source
    )
}

/// How it runs, in a word.
pub fn note(replay: &Replay) -> String {
    let (shown, moments) = replay.moment();
    let how = if !replay.loaded {
        "loading"
    } else if replay.playing {
        "playing"
    } else if shown == moments {
        "at the end"
    } else {
        "paused"
    };
    format!("{how}, {}x", replay.speed())
}

/// Draws what the step that is shown did to files, where some call may have changed any; what is left for the transcript.
pub fn draw_files(
    replay: &Replay,
    theme: &Theme,
    cache: &mut ViewCache,
    area: Rect,
    buf: &mut Buffer,
    report: &mut FrameReport,
) -> Rect {
    if !replay.loaded || replay.writing_calls().next().is_none() {
        return area;
    }
    let (rest, area) = if area.width >= WIDE_COLUMNS {
        paint::split_left(area, area.width - area.width / 2)
    } else if area.height >= LEAST_ROWS {
        paint::split_top(area, area.height - area.height * 2 / 5)
    } else {
        return area;
    };
    let inner = paint::padded(paint::panel(buf, area, theme, "Files at this step", false));
    let call = replay.call_of_step();
    let answer = call.and_then(|call| replay.diffs.get(&call.id));
    let (width, (shown, _)) = (usize::from(inner.width), replay.moment());
    let known = matches!(answer, Some(Some(_)));
    let key = format!("files of {} {shown} {known} {width}", replay.source);
    let lines = cache.card(key, Vec::new, |code| {
        let mut body = Body::new(theme, width);
        match (call, answer) {
            (None, _) => body.text(Role::TextMuted, "This step changes no file."),
            (Some(call), Some(Some(Ok(diff)))) => step(&mut body, code, call, diff),
            (Some(_), Some(Some(Err(why)))) => body.text(Role::NoticeError, why),
            (Some(_), Some(None) | None) => body.text(Role::TextMuted, "loading \u{2026}"),
        }
        let so_far = replay.calls_so_far();
        if !so_far.is_empty() {
            body.heading("Changed so far");
        }
        for call in so_far {
            body.field(&call.name, Role::Outside, &files_of(call));
        }
        body.lines
    });
    let height = usize::from(inner.height);
    report.files_max_scroll = lines.len().saturating_sub(height);
    let from = replay.files_scroll.min(report.files_max_scroll);
    for (at, line) in (0..).zip(lines.iter().skip(from).take(height)) {
        paint::line(buf, inner, at, line);
    }
    more_below(buf, area, theme, report.files_max_scroll - from);
    rest
}

/// What a call did to files, and what the record does not hold.
fn step(body: &mut Body<'_>, code: &CodeColors, call: &ToolCall, diff: &CallDiff) {
    let from = diff.source.map_or("", |source| source.as_str());
    let undone = if diff.undone { " · undone later" } else { "" };
    body.text(
        Role::TextStrong,
        &format!("{} {}", call.name, files_of(call)),
    );
    body.text(Role::TextMuted, &format!("{}{undone} {from}", diff.state));
    for missing in &diff.missing {
        body.text(Role::NoticeWarning, missing);
    }
    if !diff.unified.is_empty() {
        let path = call.plan.path.as_deref().unwrap_or_default();
        body.diff(code, path, &diff.unified, DiffLayout::Unified);
    }
}

/// The files that a call names, else how it begins.
fn files_of(call: &ToolCall) -> String {
    match &call.plan.path {
        Some(path) => path.clone(),
        None if !call.plan.paths.is_empty() => call.plan.paths.join(", "),
        None => call.args.to_string(),
    }
}
