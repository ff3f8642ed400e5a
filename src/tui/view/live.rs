//! The Live screen: every session and what it is doing.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::protocol::enums::SessionState;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::state::app::State;
use crate::tui::state::lists::{LIVE_COLUMNS, live_cells};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::detail;
use crate::tui::view::paint;
use crate::tui::view::table::{Column, Fit, Row, Table, column};

/// Its columns.
const TABLE: [Column; 8] = [
    column(15, 0, Role::Text, Fit::Left),
    column(12, 0, Role::TextMuted, Fit::Left),
    column(12, 2, Role::Outside, Fit::Left),
    column(12, 0, Role::Outside, Fit::Rest),
    column(16, 5, Role::TextMuted, Fit::Left),
    column(7, 4, Role::TextMuted, Fit::Right),
    column(7, 3, Role::TextMuted, Fit::Right),
    column(4, 0, Role::TextMuted, Fit::Right),
];

/// Draws the screen.
pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let list = &state.screens.live;
    let title = if list.total == 0 {
        "Live".to_owned()
    } else {
        format!("Live  {} sessions{}", list.count(), list.note(LIVE_COLUMNS))
    };
    let inner = paint::padded(paint::panel(buf, area, theme, &title, true));
    if list.order.is_empty() {
        let texts = if list.total > 0 {
            vec![(Role::TextStrong, NONE_LEFT.to_owned())]
        } else {
            vec![
                (Role::TextStrong, "No session yet.".to_owned()),
                (Role::Text, " ".to_owned()),
                (
                    Role::TextMuted,
                    "A message on any channel opens one; n opens one here, at the desk.".to_owned(),
                ),
            ]
        };
        detail::texts(buf, inner, theme, &texts);
        return;
    }
    let row = |index: usize| match list.order.get(index) {
        Some(id) => {
            let world = state.model.world();
            let role = match world.sessions.get(id) {
                Some(session) if session.state == SessionState::Active => {
                    paint::status_role(world.session_status(session))
                }
                Some(_) | None => Role::StateIdle,
            };
            Row::Cells {
                cells: live_cells(state, *id),
                roles: vec![(0, role)],
                region: Some(HitRegion::Session(*id)),
            }
        }
        None => Row::Heading(String::new()),
    };
    let table = Table {
        theme,
        titles: LIVE_COLUMNS,
        columns: &TABLE,
    };
    let rows = (list.order.len(), list.position());
    table.draw(buf, (area, inner), rows, row, report);
}

/// What stands in a list whose filter leaves nothing.
pub const NONE_LEFT: &str = "No row has the words of the filter. esc shows all.";
