//! The shift summary in a pager.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::modal::SummaryPager;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::detail;

/// Draws it; how far it can be scrolled.
pub fn draw(theme: &Theme, pager: &SummaryPager, area: Rect, buf: &mut Buffer) -> usize {
    let mut body = Body::new(theme, detail::pager_columns(area));
    let lines = body.known(pager.lines.as_ref(), "asking the engine …");
    for line in lines.into_iter().flatten() {
        match line.as_str() {
            "" => body.blank(),
            fact if fact.starts_with(' ') => body.text(Role::Outside, fact),
            head => body.text(Role::TextStrong, head),
        }
    }
    detail::pager(buf, area, theme, "Shift summary", &body.lines, pager.scroll)
}
