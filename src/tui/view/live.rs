//! The Live screen: every session and what it is doing.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::protocol::enums::SessionState;
use crate::protocol::ids::SessionId;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::state::app::State;
use crate::tui::state::lists::{LIVE_COLUMNS, live_cells};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::list_panel::ListPanel;
use crate::tui::view::paint;
use crate::tui::view::table::{Column, Fit, column};

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
        format!("Live  {} sessions", list.count())
    };
    let empty = vec![
        (Role::TextStrong, "No session yet.".to_owned()),
        (Role::Text, " ".to_owned()),
        (
            Role::TextMuted,
            "A message on any channel opens one; n opens one here, at the desk.".to_owned(),
        ),
    ];
    let role = |id: &SessionId| {
        let world = state.model.world();
        match world.sessions.get(id) {
            Some(session) if session.state == SessionState::Active => {
                paint::status_role(world.session_status(session))
            }
            Some(_) | None => Role::StateIdle,
        }
    };
    let panel = ListPanel {
        title,
        focused: true,
        list,
        titles: LIVE_COLUMNS,
        columns: &TABLE,
        above: Vec::new(),
        empty,
        cells: &|id| live_cells(state, *id),
        roles: &|id| vec![(0, role(id))],
        region: &HitRegion::Session,
    };
    panel.draw(theme, area, buf, report);
}
