//! The Audit & log screen: who did what, and whether the chain of it is whole.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::protocol::doctor::{AuditReport, AuditRow};
use crate::tui::action::Action;
use crate::tui::format;
use crate::tui::keymap::context::Context;
use crate::tui::message::{FrameReport, Spot};
use crate::tui::options::Hosting;
use crate::tui::shown;
use crate::tui::state::app::State;
use crate::tui::state::audit::{Chain, Kind};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::detail;
use crate::tui::view::paint::{self, span};

const fn role(kind: Kind) -> Role {
    match kind {
        Kind::Decision => Role::StateGood,
        Kind::Policy => Role::StateWaiting,
        Kind::Stop => Role::StateBad,
        Kind::Tool => Role::StateRunning,
        Kind::Other => Role::TextMuted,
    }
}

/// Draws the screen.
pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.audit;
    let row = panel.row();
    let (above, below) = detail::split(
        state,
        area,
        panel.rows.len() + 2,
        row.is_some(),
        panel.zoomed,
    );
    if let Some(area) = above {
        list(state, theme, area, buf, report);
    }
    if let (Some(area), Some(row)) = (below, row) {
        let lines = body(state, theme, row, detail::columns(area));
        let title = format!("Row {}  {}", row.seq, shown::whole_line(&row.action));
        let most = detail::scrolled(buf, area, theme, &title, panel.zoomed, &lines, panel.scroll);
        report.panel_max_scroll = Some(most);
    }
}

fn title(state: &State) -> String {
    let panel = &state.audit;
    let older = if panel.next.is_some() { "+" } else { "" };
    let mut title = format!("Audit  {}{older}", panel.rows.len());
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
    let (role, text) = match &state.audit.chain {
        Chain::Unknown => {
            let key = state.keymap.key_of(Context::Audit, Action::VerifyAudit);
            let key = key.unwrap_or_else(|| ":".to_owned());
            let text = format!("not walked since this console started; {key} verifies it");
            (Role::TextMuted, text)
        }
        Chain::Walking => (
            Role::NoticeInfo,
            "walking every row and hash; this may take a moment …".to_owned(),
        ),
        Chain::Walked { report, at } => {
            let (role, text) = walked(report);
            (role, format!("{text} · walked {}", format::clock(*at)))
        }
        Chain::Failed(why) => (Role::StateBad, format!("not walked: {why}")),
    };
    (role, format!("chain  {text}"))
}

/// Where the log is: it is not part of what the engine answers.
fn log(state: &State) -> &'static str {
    match state.hosting {
        Hosting::Embedded { .. } => {
            "log    not shown here: leverframe.log in the data directory (doctor names it); tail -f follows it"
        }
        Hosting::Attached => {
            "log    not shown here: the daemon writes it to standard error, under systemd journalctl --user -u leverframe -f"
        }
    }
}

fn list(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.audit;
    let inner = paint::padded(paint::panel(buf, area, theme, &title(state), !panel.zoomed));
    let width = usize::from(inner.width);
    let (chain_role, chain) = chain(state);
    let told = span(theme, chain_role, shown::line(&chain, width));
    paint::line(buf, inner, 0, &Line::from(told));
    let log_rows = u16::from(panel.selected.is_none() && inner.height >= 6);
    if log_rows > 0 {
        let told = span(theme, Role::TextMuted, shown::line(log(state), width));
        paint::line(buf, inner, 1, &Line::from(told));
    }
    let top = 1 + log_rows;
    let rest = Rect {
        y: inner.y.saturating_add(top),
        height: inner.height.saturating_sub(top),
        ..inner
    };
    let listed: Vec<u64> = panel.listed().collect();
    if listed.is_empty() {
        detail::texts(buf, rest, theme, &empty(state));
        return;
    }
    let columns = Columns::of(width);
    let heads = [
        "row", "age", "kind", "action", "who", "where", "channel", "what", "detail",
    ];
    let head: Vec<String> = heads
        .iter()
        .enumerate()
        .filter_map(|(index, text)| columns.cell(index, text))
        .collect();
    paint::line(
        buf,
        rest,
        0,
        &Line::from(vec![
            "  ".into(),
            span(theme, Role::TableHead, head.join(" ")),
        ]),
    );
    let height = usize::from(rest.height.saturating_sub(1));
    let chosen = panel
        .selected
        .and_then(|seq| listed.iter().position(|listed| *listed == seq));
    let first = paint::first_row(chosen, listed.len(), height);
    for (offset, seq) in listed.iter().skip(first).take(height).enumerate() {
        let at = 1 + u16::try_from(offset).unwrap_or(u16::MAX);
        if let Some(row) = panel.rows.get(seq) {
            let cells = cells(state, row, &columns);
            report.spot(paint::row(rest, at), || Spot::AuditRow(*seq));
            detail::row(buf, rest, theme, at, cells, panel.selected == Some(*seq));
        }
    }
    let hidden = listed.len().saturating_sub(first + height);
    if hidden > 0 {
        let note = format!("{hidden} more below");
        paint::panel_note(buf, area, theme, Role::TextMuted, &note);
    }
}

fn empty(state: &State) -> Vec<(Role, String)> {
    let panel = &state.audit;
    if let Some(problem) = &panel.problem {
        return vec![(Role::NoticeError, problem.clone())];
    }
    if !panel.answered {
        return vec![(Role::TextMuted, "asking for the rows …".to_owned())];
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

/// Widths of the columns; 0 = left out.
struct Columns([usize; 9]);

impl Columns {
    fn of(width: usize) -> Self {
        let when = |least: usize, columns: usize| if width >= least { columns } else { 0 };
        let mut widths = [
            when(50, 6),
            4,
            when(40, 8),
            22,
            12,
            when(110, 8),
            when(68, 10),
            when(150, 30),
            0,
        ];
        let used: usize = widths.iter().filter(|w| **w > 0).map(|w| w + 1).sum();
        widths[8] = width.saturating_sub(used + 2);
        Self(widths)
    }

    fn cell(&self, index: usize, text: &str) -> Option<String> {
        let width = self.0.get(index).copied().filter(|width| *width > 0)?;
        Some(match index {
            0 | 1 => format!("{:>width$}", shown::line(text, width)),
            _ => shown::column(text, width),
        })
    }
}

fn cells(state: &State, row: &AuditRow, columns: &Columns) -> Vec<(Role, String)> {
    let kind = Kind::of(&row.action);
    let strong = match kind {
        Kind::Decision | Kind::Policy | Kind::Stop => Role::TextStrong,
        Kind::Tool | Kind::Other => Role::Text,
    };
    let texts = [
        (Role::TextMuted, row.seq.to_string()),
        (Role::TextMuted, format::age(state.now.wall, row.at)),
        (role(kind), kind.as_str().to_owned()),
        (strong, row.action.clone()),
        (Role::Outside, row.actor.clone()),
        (Role::TextMuted, row.surface.to_string()),
        (
            Role::TextMuted,
            row.channel.clone().unwrap_or_else(|| "-".to_owned()),
        ),
        (Role::TextMuted, row.subject.clone()),
        (Role::Outside, row.detail.clone()),
    ];
    let cells = texts.into_iter().enumerate();
    cells
        .filter_map(|(index, (role, text))| Some((role, columns.cell(index, &text)?)))
        .collect()
}

fn body(state: &State, theme: &Theme, row: &AuditRow, width: usize) -> Vec<Line<'static>> {
    let mut body = Body::new(theme, width);
    let kind = Kind::of(&row.action);
    let what = format!("{} {}", kind.as_str(), row.action);
    body.field("what", role(kind), what.trim_start());
    let when = format!("{} ({} ago)", row.at, format::age(state.now.wall, row.at));
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
        .and_then(|seq| state.audit.rows.get(&seq));
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
    if let Chain::Walked { report, .. } = &state.audit.chain
        && report
            .broken
            .as_ref()
            .is_some_and(|broken| broken.seq == row.seq)
    {
        body.field("", Role::StateBad, "the chain breaks here");
    }
    body.lines
}
