//! The Audit & log screen: who did what, and whether the chain of it is whole.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::console::format;
use crate::protocol::doctor::{AuditReport, AuditRow};
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::audit::{Chain, Kind};
use crate::tui::state::audit_screen::{cells, columns, sentence_of};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::list_panel::ListPanel;
use crate::tui::view::table::{Column, Fit, column};
use crate::tui::view::{detail, log};

const fn role(kind: Kind) -> Role {
    match kind {
        Kind::Decision => Role::StateGood,
        Kind::Policy => Role::StateWaiting,
        Kind::Stop => Role::StateBad,
        Kind::Tool => Role::StateRunning,
        Kind::Other => Role::TextMuted,
    }
}

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.audit;
    if panel.log.shown {
        return log::draw(state, theme, area, buf, report);
    }
    let list = &panel.list;
    let is_selected = list.selected.is_some();
    let mut above = vec![chain(state)];
    if !is_selected && area.height >= 8 {
        above.push((Role::TextMuted, log_hint(state)));
    }
    // A line each: what is too wide is cut off.
    let (left, _) = detail::split(state, area, 0, is_selected, list.zoomed);
    for (_, text) in &mut above {
        *text = sanitize::line(text, detail::columns(left.unwrap_or(area)));
    }
    let shown = ListPanel {
        title: title(state),
        above,
        empty: empty(state),
        cells: &|seq| cells(state, *seq),
        roles: &|seq| {
            let action = panel.rows.get(seq).map_or("", |row| row.action.as_str());
            let kind = Kind::of(action);
            let strong = match kind {
                Kind::Decision | Kind::Policy | Kind::Stop => Role::TextStrong,
                Kind::Tool | Kind::Other => Role::Text,
            };
            vec![(2, role(kind)), (3, strong)]
        },
        region: Some(&HitRegion::AuditRow),
        ..ListPanel::new(list, columns(state), if panel.raw { &RAW } else { &TABLE })
    };
    shown.draw_with_detail(state, theme, area, buf, report, |area| {
        let row = panel.row()?;
        let title = format!("Row {}  {}", row.seq, sanitize::whole_line(&row.action));
        Some((title, body(state, theme, row, detail::columns(area))))
    });
}

fn title(state: &State) -> String {
    let panel = &state.screens.audit;
    let older = if panel.next.is_some() { "+" } else { "" };
    let mut title = format!("Audit  {}{older}", panel.rows.len());
    if panel.people {
        let key = state.keymap.key_of(Context::Audit, Action::AuditPeople);
        let key = key.unwrap_or_else(|| ":audit-people".to_owned());
        let (listed, known) = (panel.list.order.len(), panel.rows.len());
        title = format!("Audit  {listed} of {known}{older}, people only; {key} shows all");
    }
    if !panel.filter.is_empty() {
        title.push_str(&format!("  filter: {}", panel.filter));
    }
    let newer = panel.newer();
    if newer > 0 {
        title.push_str(&format!("  {newer} newer above"));
    }
    title
}

/// What a walk showed, in words.
fn walked(report: &AuditReport) -> (Role, String) {
    if let Some(broken) = &report.broken {
        let text = format!(
            "BROKEN at row {}: {}; keep a copy, compare with a backup",
            broken.seq, broken.reason
        );
        return (Role::StateBad, text);
    }
    if let Some(missing) = report.anchors_missing.first() {
        let text = format!(
            "whole, but {} of {} places noted at earlier starts are not in it any more (row {}): it was cut off or rewritten",
            report.anchors_missing.len(),
            report.anchors,
            missing.anchor.seq
        );
        return (Role::StateBad, text);
    }
    let text = format!(
        "whole: {} rows, {} to {}, all {} places noted at earlier starts are in it",
        report.rows, report.first_seq, report.head_seq, report.anchors
    );
    (Role::StateGood, text)
}

fn chain(state: &State) -> (Role, String) {
    let (role, text) = match &state.screens.audit.chain {
        Chain::Unknown => {
            let key = state.keymap.key_of(Context::Audit, Action::VerifyAudit);
            let key = key.unwrap_or_else(|| ":".to_owned());
            let text = format!("not verified since this console started; {key} verifies it");
            (Role::TextMuted, text)
        }
        Chain::Walking => (
            Role::NoticeInfo,
            "verifying every row and hash; this may take a moment …".to_owned(),
        ),
        Chain::Walked { report, at } => {
            let (role, text) = walked(report);
            (role, format!("{text} · verified {}", format::clock(*at)))
        }
        Chain::Failed(why) => (Role::StateBad, format!("not verified: {why}")),
    };
    (role, format!("chain  {text}"))
}

/// How to see the log, for a line above the rows.
fn log_hint(state: &State) -> String {
    let key = state.keymap.key_of(Context::Audit, Action::ShowLog);
    let key = key.unwrap_or_else(|| ":show-log".to_owned());
    format!("log    {key} shows the log of the daemon")
}

const TABLE: [Column; 6] = [
    column(6, 3, Role::TextMuted, Fit::Right),
    column(4, 0, Role::TextMuted, Fit::Right),
    column(8, 1, Role::Text, Fit::Left),
    column(40, 0, Role::Outside, Fit::Rest),
    column(22, 2, Role::TextMuted, Fit::Left),
    column(10, 4, Role::TextMuted, Fit::Left),
];

/// The columns of rows as they are stored.
const RAW: [Column; 9] = [
    column(6, 4, Role::TextMuted, Fit::Right),
    column(4, 0, Role::TextMuted, Fit::Right),
    column(8, 5, Role::Text, Fit::Left),
    column(22, 0, Role::Text, Fit::Left),
    column(12, 0, Role::Outside, Fit::Left),
    column(8, 7, Role::TextMuted, Fit::Left),
    column(10, 6, Role::TextMuted, Fit::Left),
    column(30, 8, Role::TextMuted, Fit::Left),
    column(5, 1, Role::Outside, Fit::Rest),
];

fn empty(state: &State) -> Vec<(Role, String)> {
    let panel = &state.screens.audit;
    if let Some(problem) = &panel.problem {
        return vec![(Role::NoticeError, problem.clone())];
    }
    if !panel.answered {
        return vec![(Role::TextMuted, "asking for the rows …".to_owned())];
    }
    if !panel.rows.is_empty() {
        let text = "These rows hold no action of a person, only the engine's.".to_owned();
        return vec![(Role::TextStrong, text)];
    }
    if !panel.filter.is_empty() {
        let text = "No row fits the filter. esc shows all.".to_owned();
        return vec![(Role::TextStrong, text)];
    }
    vec![
        (Role::TextStrong, "No row yet.".to_owned()),
        (
            Role::TextMuted,
            "Every start of a tool, every decision and every change of policy leaves one, chained to the row before."
                .to_owned(),
        ),
    ]
}

fn body(state: &State, theme: &Theme, row: &AuditRow, width: usize) -> Vec<Line<'static>> {
    let mut body = Body::new(theme, width);
    let kind = Kind::of(&row.action);
    let what = format!("{} {}", kind.as_str(), row.action);
    body.text(Role::TextStrong, &sentence_of(state, row));
    body.blank();
    body.field("what", role(kind), what.trim_start());
    let when = format!(
        "{} ({} ago)",
        row.at,
        format::age(state.model.now.wall, row.at)
    );
    body.field("when", Role::Text, &when);
    let who = format!("{} · {} · on {}", row.actor, row.actor_id, row.surface);
    body.field("who", Role::Outside, &who);
    let channel = row.channel.as_deref().unwrap_or("none");
    body.field("channel", Role::Text, channel);
    body.field("subject", Role::Text, &row.subject);
    body.heading("Facts");
    let facts = serde_json::from_str::<serde_json::Value>(&row.detail)
        .ok()
        .and_then(|value| serde_json::to_string_pretty(&value).ok());
    body.text(Role::Outside, facts.as_deref().unwrap_or(&row.detail));
    body.heading("Chain");
    body.field("before", Role::TextMuted, &row.prev);
    body.field("this row", Role::TextMuted, &row.hash);
    let before = row
        .seq
        .checked_sub(1)
        .and_then(|seq| state.screens.audit.rows.get(&seq));
    if let Some(before) = before {
        if before.hash == row.prev {
            let text = format!("follows row {}", before.seq);
            body.field("", Role::StateGood, &text);
        } else {
            let text = format!(
                "DOES NOT follow row {}, whose hash is {}",
                before.seq, before.hash
            );
            body.field("", Role::StateBad, &text);
        }
    }
    if let Chain::Walked { report, .. } = &state.screens.audit.chain
        && report
            .broken
            .as_ref()
            .is_some_and(|broken| broken.seq == row.seq)
    {
        body.field("", Role::StateBad, "the chain breaks here");
    }
    body.lines
}
