//! Small helpers of the views. Nothing here draws outside the area it is given.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Widget};

use crate::console::world::SessionStatus;
use crate::protocol::enums::Risk;
use crate::tui::message::FrameReport;
use crate::tui::sanitize;
use crate::tui::theme::roles::{Role, Theme};

/// A line: what it means and what it says.
pub type Row = (Role, String);

/// Columns of a label in a card.
pub const LABEL: usize = 13;

pub fn span(theme: &Theme, role: Role, text: impl Into<String>) -> Span<'static> {
    Span::styled(text.into(), theme.style(role))
}

/// Row `row` of `area`, empty when outside.
pub fn row(area: Rect, row: u16) -> Rect {
    if row >= area.height {
        return Rect { height: 0, ..area };
    }
    Rect {
        y: area.y + row,
        height: 1,
        ..area
    }
}

/// Draws a line into a row.
pub fn line(buf: &mut Buffer, area: Rect, at: u16, line: &Line<'_>) {
    let target = row(area, at).intersection(buf.area);
    if target.is_empty() {
        return;
    }
    buf.set_line(target.x, target.y, line, target.width);
}

/// Draws a text in a role into a row, as it is.
pub fn put(buf: &mut Buffer, area: Rect, at: u16, theme: &Theme, role: Role, text: &str) {
    line(buf, area, at, &Line::from(span(theme, role, text)));
}

/// Draws a text in a role into a row. What is too wide is cut off.
pub fn text(buf: &mut Buffer, area: Rect, at: u16, theme: &Theme, role: Role, text: &str) {
    let text = sanitize::line(text, usize::from(area.width));
    put(buf, area, at, theme, role, &text);
}

/// Draws a row that can be chosen; the chosen one is marked.
pub fn choice(
    buf: &mut Buffer,
    area: Rect,
    at: u16,
    theme: &Theme,
    is_chosen: bool,
    spans: Vec<Span<'static>>,
) {
    let mark = Span::raw(if is_chosen { "> " } else { "  " });
    let spans: Vec<Span<'static>> = [mark].into_iter().chain(spans).collect();
    line(buf, area, at, &Line::from(spans));
    if is_chosen {
        select(buf, row(area, at), theme, Role::Selection);
    }
}

/// So many rows or columns, or as many as a screen can have.
pub fn cells(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// A bordered panel with a title; returns what is inside.
pub fn panel(buf: &mut Buffer, area: Rect, theme: &Theme, title: &str, focused: bool) -> Rect {
    let (border, title_role) = if focused {
        (Role::BorderFocus, Role::TitleFocus)
    } else {
        (Role::Border, Role::Title)
    };
    let room = usize::from(area.width).saturating_sub(4);
    let title = sanitize::line(title, room);
    let block = Block::bordered()
        .border_style(theme.style(border))
        .title(Line::from(vec![
            Span::raw(" "),
            span(theme, title_role, title),
            Span::raw(" "),
        ]));
    let inner = block.inner(area);
    block.render(area, buf);
    inner
}

/// The style of words that differ from those they stand beside: bold and underlined, so that it shows without colours.
pub fn marked(theme: &Theme, role: Role) -> Style {
    let style = theme.style(role);
    style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
}

/// Writes at the right end of a panel's bottom border.
pub fn panel_note(buf: &mut Buffer, area: Rect, theme: &Theme, role: Role, note: &str) {
    let width = cells(sanitize::width(note));
    if area.height < 2 || width.saturating_add(6) > area.width {
        return;
    }
    let x = area.right().saturating_sub(width + 4);
    buf.set_line(
        x,
        area.bottom() - 1,
        &Line::from(vec![
            Span::raw(" "),
            span(theme, role, note),
            Span::raw(" "),
        ]),
        width + 2,
    );
}

/// A cleared box in the middle, for overlays.
pub fn popup(
    buf: &mut Buffer,
    area: Rect,
    theme: &Theme,
    title: &str,
    width: u16,
    height: u16,
) -> Rect {
    // A sliver of what lies behind would only look like a flaw.
    let width = if width.saturating_add(6) > area.width {
        area.width
    } else {
        width
    };
    let height = height.min(area.height);
    let target = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(target, buf);
    buf.set_style(target, theme.style(Role::Dialog));
    panel(buf, target, theme, title, true)
}

/// One column of padding left and right.
pub fn padded(area: Rect) -> Rect {
    if area.width < 4 {
        return area;
    }
    Rect {
        x: area.x + 1,
        width: area.width - 2,
        ..area
    }
}

pub const fn risk_role(risk: Risk) -> Role {
    match risk {
        Risk::Low => Role::RiskLow,
        Risk::Medium => Role::RiskMedium,
        Risk::High => Role::RiskHigh,
        Risk::Critical => Role::RiskCritical,
    }
}

/// The role of a session's state word.
pub const fn status_role(word: SessionStatus) -> Role {
    match word {
        SessionStatus::Running | SessionStatus::WaitingOnTool => Role::StateRunning,
        SessionStatus::WaitingOnYou | SessionStatus::Interrupted | SessionStatus::TakenOver => {
            Role::StateWaiting
        }
        SessionStatus::Queued | SessionStatus::WaitingForFiles => Role::Text,
        SessionStatus::Paused | SessionStatus::Idle => Role::StateIdle,
        SessionStatus::Error => Role::StateBad,
    }
}

/// Buttons, the chosen one marked by `[ ]` as well as by style.
pub fn buttons(theme: &Theme, labels: &[&str], chosen: usize) -> Line<'static> {
    let mut spans = Vec::new();
    for (index, label) in labels.iter().enumerate() {
        if index > 0 {
            spans.push(Span::raw("  "));
        }
        spans.push(if index == chosen {
            span(theme, Role::DialogChosen, format!("[ {label} ]"))
        } else {
            span(theme, Role::DialogButton, format!("  {label}  "))
        });
    }
    Line::from(spans)
}

/// The first row of a list so that the chosen one is visible.
pub fn first_row(chosen: Option<usize>, rows: usize, height: usize) -> usize {
    let Some(chosen) = chosen else {
        return 0;
    };
    let latest = rows.saturating_sub(height);
    (chosen + 1)
        .saturating_sub(height)
        .max(chosen.saturating_sub(height / 2))
        .min(latest)
}

/// Marks a row as selected. The row's own colours give way, so that the mark is even.
pub fn select(buf: &mut Buffer, area: Rect, theme: &Theme, role: Role) {
    let area = area.intersection(buf.area);
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            if let Some(cell) = buf.cell_mut((x, y)) {
                cell.set_style(ratatui::style::Style::reset());
            }
        }
    }
    buf.set_style(area, theme.style(Role::Text).patch(theme.style(role)));
}

/// A bar of `share` (0.0 to 1.0) of `cells`, filled up with spaces; what is not nothing shows.
pub fn bar(share: f64, cells: usize) -> String {
    const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * cells as f64 * 8.0).round() as usize;
    let eighths = eighths.max(usize::from(share > 0.0)).min(cells * 8);
    let mut out = "█".repeat(eighths / 8);
    if eighths / 8 < cells {
        out.push(PARTS.get(eighths % 8).copied().unwrap_or(' '));
        out.extend(std::iter::repeat_n(' ', cells - eighths / 8 - 1));
    }
    out
}

/// Rows in a panel, from a place on; reports how far they can be scrolled.
pub fn scrolled(
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
    title: &str,
    rows: &[Row],
    scroll: usize,
    report: &mut FrameReport,
) {
    let inner = padded(panel(buf, area, theme, title, true));
    let height = usize::from(inner.height);
    let most = rows.len().saturating_sub(height);
    let first = scroll.min(most);
    report.panel_max_scroll = Some(most);
    for (at, (role, words)) in (0..inner.height).zip(rows.iter().skip(first)) {
        text(buf, inner, at, theme, *role, words);
    }
    if most > first {
        let note = format!("{} more below", most - first);
        panel_note(buf, area, theme, Role::TextMuted, &note);
    }
}

/// The first `columns` columns and the rest.
pub fn split_left(area: Rect, columns: u16) -> (Rect, Rect) {
    let width = columns.min(area.width);
    let right = Rect {
        x: area.x + width,
        width: area.width - width,
        ..area
    };
    (Rect { width, ..area }, right)
}

/// The first `rows` rows and the rest.
pub fn split_top(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (
        Rect {
            height: rows,
            ..area
        },
        Rect {
            y: area.y + rows,
            height: area.height - rows,
            ..area
        },
    )
}
