//! The log of the daemon, in place of the audit: newest first, and a line in full.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::console::format;
use crate::protocol::enums::LogLevel;
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::state::app::State;
use crate::tui::state::log_screen::{COLUMNS, cells};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::detail;
use crate::tui::view::list_panel::ListPanel;
use crate::tui::view::table::{Column, Fit, column};

const TABLE: [Column; 4] = [
    column(8, 0, Role::TextMuted, Fit::Left),
    column(5, 0, Role::Text, Fit::Left),
    column(40, 0, Role::Outside, Fit::Rest),
    column(24, 1, Role::TextMuted, Fit::Left),
];

const fn role(level: LogLevel) -> Role {
    match level {
        LogLevel::Error => Role::StateBad,
        LogLevel::Warn => Role::StateWaiting,
        LogLevel::Info => Role::StateRunning,
        LogLevel::Debug | LogLevel::Trace => Role::TextMuted,
    }
}

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.audit.log;
    let follow = match panel.newer() {
        0 if panel.list.selected.is_none() => "  following".to_owned(),
        0 => String::new(),
        newer => format!("  {newer} newer above"),
    };
    let least = match panel.level {
        LogLevel::Error => "errors alone".to_owned(),
        level @ (LogLevel::Warn | LogLevel::Info | LogLevel::Debug | LogLevel::Trace) => {
            format!("{level} and above")
        }
    };
    let problem = panel.problem.iter();
    let above = problem.map(|why| (Role::NoticeError, why.clone()));
    let drawn = ListPanel {
        title: format!("Log  {} lines, {least}{follow}", panel.list.count()),
        above: above.collect(),
        empty: empty(state),
        cells: &|number: &u64| cells(state, *number),
        roles: &|number| {
            let line = panel.lines.get(number);
            line.map_or_else(Vec::new, |line| vec![(1, role(line.level))])
        },
        region: Some(&HitRegion::LogLine),
        ..ListPanel::new(&panel.list, COLUMNS, &TABLE)
    };
    drawn.draw_with_detail(state, theme, area, buf, report, |area| {
        let line = panel.line()?;
        let mut body = Body::new(theme, detail::columns(area));
        body.field("when", Role::Text, &format::moment(line.at));
        body.field("level", role(line.level), line.level.as_str());
        body.field("where", Role::Text, &line.target);
        body.blank();
        body.text(Role::Outside, &line.text);
        Some(("Line".to_owned(), body.lines))
    });
}

fn empty(state: &State) -> Vec<(Role, String)> {
    let panel = &state.screens.audit.log;
    if !panel.is_known() {
        return vec![(Role::TextMuted, "asking for the lines …".to_owned())];
    }
    let key = state.keymap.key_of(Context::Audit, Action::LogLevel);
    let key = key.unwrap_or_else(|| ":log-level".to_owned());
    let text = format!(
        "No line of this level. {key} lists others; the daemon writes `{}` ([log] filter, LEVERFRAME_LOG).",
        panel.recorded
    );
    vec![(Role::TextMuted, text)]
}
