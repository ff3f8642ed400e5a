//! A list with the detail of what is selected: where each goes, and the windows that a text is scrolled in.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::sanitize;
use crate::tui::state::app::{State, WIDE_COLUMNS};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint;

/// Widest pager.
const PAGER_WIDTH: u16 = 110;

/// Where the list and the detail go; none = it is not drawn.
pub fn split(
    state: &State,
    area: Rect,
    rows: usize,
    selected: bool,
    zoomed: bool,
) -> (Option<Rect>, Option<Rect>) {
    if selected && zoomed {
        return (None, Some(area));
    }
    if !selected || state.one_pane() {
        return (Some(area), None);
    }
    let (list, detail) = if state.size.0 >= WIDE_COLUMNS {
        paint::split_left(area, area.width * 11 / 20)
    } else {
        let wanted = paint::cells(rows).saturating_add(3);
        paint::split_top(area, wanted.clamp(5, (area.height * 2 / 5).max(5)))
    };
    (Some(list), Some(detail))
}

/// Draws lines in a panel, scrolled; how far they can be scrolled.
pub fn scrolled(
    buf: &mut Buffer,
    area: Rect,
    theme: &Theme,
    title: &str,
    focused: bool,
    lines: &[Line<'_>],
    scroll: usize,
) -> usize {
    let inner = paint::padded(paint::panel(buf, area, theme, title, focused));
    from_line(buf, (area, inner), theme, lines, scroll)
}

/// Draws lines in a popup that is as high as they are, scrolled; how far they can be scrolled.
pub fn pager(
    buf: &mut Buffer,
    area: Rect,
    theme: &Theme,
    title: &str,
    lines: &[Line<'_>],
    scroll: usize,
) -> usize {
    let height = paint::cells(lines.len()).saturating_add(2).min(area.height);
    let width = PAGER_WIDTH.min(area.width);
    let popup = paint::popup(buf, area, theme, title, width, height);
    let frame = Rect {
        x: popup.x.saturating_sub(1),
        y: popup.y.saturating_sub(1),
        width: popup.width.saturating_add(2),
        height: popup.height.saturating_add(2),
    };
    let areas = (frame.intersection(area), paint::padded(popup));
    from_line(buf, areas, theme, lines, scroll)
}

/// Columns inside a pager in this area.
pub fn pager_columns(area: Rect) -> usize {
    usize::from(PAGER_WIDTH.min(area.width).saturating_sub(4))
}

/// Draws lines from one on. How many are below is noted on the frame.
fn from_line(
    buf: &mut Buffer,
    (frame, inner): (Rect, Rect),
    theme: &Theme,
    lines: &[Line<'_>],
    scroll: usize,
) -> usize {
    let height = usize::from(inner.height);
    let most = lines.len().saturating_sub(height);
    let first = scroll.min(most);
    for (at, line) in (0..inner.height).zip(lines.iter().skip(first)) {
        paint::line(buf, inner, at, line);
    }
    if most > first {
        let note = format!("{} more lines below", most - first);
        paint::panel_note(buf, frame, theme, Role::TextMuted, &note);
    }
    most
}

/// Columns inside a panel of this area.
pub const fn columns(area: Rect) -> usize {
    area.width.saturating_sub(4) as usize
}

/// Texts from the first row on, wrapped; how many lines they take.
pub fn texts(buf: &mut Buffer, inner: Rect, theme: &Theme, texts: &[(Role, String)]) -> u16 {
    let mut at = 0_u16;
    for (role, text) in texts {
        for line in sanitize::block(text, usize::from(inner.width)) {
            paint::put(buf, inner, at, theme, *role, &line);
            at = at.saturating_add(1);
        }
    }
    at
}
