//! The shift summary in a pager.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::sanitize;
use crate::tui::state::modal::SummaryPager;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, span};

/// Widest popup.
const WIDTH: u16 = 110;

/// Draws it; how far it can be scrolled.
pub fn draw(theme: &Theme, pager: &SummaryPager, area: Rect, buf: &mut Buffer) -> usize {
    let width = WIDTH.min(area.width);
    let text = usize::from(width.saturating_sub(4));
    let lines: Vec<(Role, String)> = match &pager.lines {
        None => vec![(Role::TextMuted, "asking the engine …".to_owned())],
        Some(Err(problem)) => vec![(Role::NoticeError, sanitize::line(problem, text))],
        Some(Ok(lines)) => lines
            .iter()
            .flat_map(|line| {
                let role = if line.starts_with(' ') {
                    Role::Outside
                } else {
                    Role::TextStrong
                };
                let mut pieces = sanitize::block(line, text);
                if pieces.is_empty() {
                    pieces.push(String::new());
                }
                pieces.into_iter().map(move |piece| (role, piece))
            })
            .collect(),
    };
    let height = u16::try_from(lines.len())
        .unwrap_or(u16::MAX)
        .saturating_add(2)
        .min(area.height);
    let popup = paint::popup(buf, area, theme, "Shift summary", width, height);
    let inner = paint::padded(popup);
    let room = usize::from(inner.height);
    let most = lines.len().saturating_sub(room);
    let first = pager.scroll.min(most);
    for (at, (role, line)) in lines.iter().skip(first).take(room).enumerate() {
        let at = u16::try_from(at).unwrap_or(u16::MAX);
        paint::line(
            buf,
            inner,
            at,
            &Line::from(span(theme, *role, line.clone())),
        );
    }
    let below = lines.len().saturating_sub(first + room);
    if below > 0 {
        let frame = Rect {
            x: popup.x.saturating_sub(1),
            y: popup.y.saturating_sub(1),
            width: popup.width.saturating_add(2),
            height: popup.height.saturating_add(2),
        };
        let note = format!("{below} more lines below");
        paint::panel_note(buf, frame.intersection(area), theme, Role::TextMuted, &note);
    }
    most
}
