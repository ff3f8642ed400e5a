//! The Resources screen: the rows of a resource, and every field of the selected one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::client::listing::fields;
use crate::clock::Timestamp;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::list::Cell;
use crate::tui::state::resources::ResourcesPanel;
use crate::tui::state::resources_screen::cells;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::detail;
use crate::tui::view::list_panel::ListPanel;
use crate::tui::view::table::{Column, Fit, column};

/// Cells that a column takes at most, but the one that fills the room.
const WIDEST: usize = 24;

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.resources;
    let now = state.model.now.wall;
    let list = &panel.list;
    let name = panel.resource().map_or("", |resource| resource.name);
    let count = panel
        .rows
        .as_ref()
        .map_or_else(String::new, |_| list.count());
    let columns = columns(panel, now);
    let shown = ListPanel {
        title: format!("Resources: {name}  {count}"),
        empty: vec![empty(panel)],
        cells: &|key: &String| cells(panel, key, now),
        region: Some(&HitRegion::Resource),
        ..ListPanel::new(list, panel.heads(), &columns)
    };
    shown.draw_with_detail(state, theme, area, buf, report, |area| {
        let row = panel.row(list.selected.as_deref()?)?;
        let mut body = Body::new(theme, detail::columns(area));
        for (name, value) in fields(&row.object) {
            body.field(&name, Role::Outside, &value);
        }
        Some((row.cells.first().cloned().unwrap_or_default(), body.lines))
    });
}

fn empty(panel: &ResourcesPanel) -> (Role, String) {
    if let Some(problem) = &panel.problem {
        return (Role::NoticeError, problem.clone());
    }
    let nothing = panel.resource().map_or("", |resource| resource.nothing);
    let text = match &panel.rows {
        None => "asking the engine …",
        Some(_) => nothing,
    };
    (Role::TextMuted, text.to_owned())
}

/// As wide as their cells. The first column stays, and the last ones go first where there is too little room. Numbers
/// stand at the right.
fn columns(panel: &ResourcesPanel, now: Timestamp) -> Vec<Column> {
    let heads = panel.heads();
    let keys = panel.list.order.iter();
    let rows: Vec<Vec<Cell>> = keys.map(|key| cells(panel, key, now)).collect();
    let last = heads.len().saturating_sub(1);
    heads
        .iter()
        .enumerate()
        .map(|(at, head)| {
            let texts = || {
                let cells = rows.iter().filter_map(|row| row.get(at));
                cells.map(|cell| cell.text.as_str())
            };
            let widest = texts().map(sanitize::width).max().unwrap_or(0);
            let least = widest.max(sanitize::width(head)).min(WIDEST);
            let number = |text: &str| text == "-" || text.parse::<f64>().is_ok();
            let fit = match at {
                _ if at == last => Fit::Rest,
                0 => Fit::Left,
                _ if texts().all(number) => Fit::Right,
                _ => Fit::Left,
            };
            let role = if at == 0 { Role::Text } else { Role::Outside };
            column(least, u8::try_from(at).unwrap_or(u8::MAX), role, fit)
        })
        .collect()
}
