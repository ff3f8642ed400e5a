//! The box with the keys that can follow those typed so far. It waits a moment: nobody who knows the keys sees it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::tui::keymap::key::print_sequence;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, span};

/// Columns of the box, where there are as many.
const WIDTH: u16 = 56;

/// Draws it at the lower right; says whether it did.
pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) -> bool {
    let Some(pending) = state.which_key() else {
        return false;
    };
    let rows = state.keymap.continuations(state.context(), &pending.keys);
    let height = paint::cells(rows.len()).saturating_add(2).min(area.height);
    let width = WIDTH.min(area.width);
    let target = Rect {
        x: area.right() - width,
        y: area.bottom() - height,
        width,
        height,
    };
    if target.height < 3 || rows.is_empty() {
        return false;
    }
    Clear.render(target, buf);
    buf.set_style(target, theme.style(Role::Dialog));
    let title = format!("{} …", print_sequence(&pending.keys));
    let inner = paint::padded(paint::panel(buf, target, theme, &title, true));
    let keys = rows
        .iter()
        .map(|(rest, _)| sanitize::width(rest))
        .max()
        .unwrap_or(1);
    for (at, (rest, action)) in (0..inner.height).zip(&rows) {
        let room = usize::from(inner.width).saturating_sub(keys + 2);
        let line = Line::from(vec![
            span(theme, Role::FooterKey, sanitize::column(rest, keys)),
            Span::raw("  "),
            span(
                theme,
                Role::Text,
                sanitize::line(action.description(), room),
            ),
        ]);
        paint::line(buf, inner, at, &line);
    }
    true
}
