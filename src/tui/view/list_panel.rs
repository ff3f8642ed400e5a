//! A list in its panel: the head with how many of how many, texts above the rows, the rows, and what is below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::state::app::State;
use crate::tui::state::list::{Cell, ListDetail};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::table::{Column, Row, Table};
use crate::tui::view::{detail, paint};

/// The title of a detail, and its lines.
pub type Detail = (String, Vec<Line<'static>>);

/// What stands in a list whose filter leaves nothing.
pub const NONE_LEFT: &str = "No row has the words of the filter. esc shows all.";

/// A list, and how its rows are drawn.
pub struct ListPanel<'a, K> {
    /// Its head. Filter and order come behind it.
    pub title: String,
    /// Whether it has the keys.
    pub focused: bool,
    /// The list.
    pub list: &'a ListDetail<K>,
    /// Titles of its columns.
    pub titles: &'static [&'static str],
    /// Its columns.
    pub columns: &'a [Column],
    /// What stands above the rows.
    pub above: Vec<(Role, String)>,
    /// What stands there where there is no row.
    pub empty: Vec<(Role, String)>,
    /// What a row shows.
    pub cells: &'a dyn Fn(&K) -> Vec<Cell>,
    /// Columns that have another role in a row.
    pub roles: &'a dyn Fn(&K) -> Vec<(usize, Role)>,
    /// What the mouse selects on a row.
    pub region: &'a dyn Fn(K) -> HitRegion,
}

impl<K: Clone + Ord> ListPanel<'_, K> {
    /// Draws it with the detail of its selected row. `detail_of` says what stands in an area.
    pub fn draw_with_detail(
        &self,
        state: &State,
        theme: &Theme,
        area: Rect,
        buf: &mut Buffer,
        report: &mut FrameReport,
        detail_of: impl FnOnce(Rect) -> Option<Detail>,
    ) {
        let list = self.list;
        let rows = list.order.len() + self.above.len();
        let (above, below) = detail::split(state, area, rows, list.selected.is_some(), list.zoomed);
        if let Some(area) = above {
            self.draw(theme, area, buf, report);
        }
        if let Some(area) = below
            && let Some((title, lines)) = detail_of(area)
        {
            let most = detail::scrolled(buf, area, theme, &title, list.zoomed, &lines, list.scroll);
            report.panel_max_scroll = Some(most);
        }
    }

    /// Draws it; what is left below the rows.
    pub fn draw(
        &self,
        theme: &Theme,
        area: Rect,
        buf: &mut Buffer,
        report: &mut FrameReport,
    ) -> Rect {
        let list = self.list;
        let title = format!("{}{}", self.title, list.note(self.titles));
        let inner = paint::padded(paint::panel(buf, area, theme, &title, self.focused));
        let said = detail::texts(buf, inner, theme, &self.above);
        let inner = paint::split_top(inner, said).1;
        if list.order.is_empty() {
            let none = [(Role::TextStrong, NONE_LEFT.to_owned())];
            let filtered = !list.filter.is_empty() && list.total > 0;
            let texts = if filtered { &none[..] } else { &self.empty };
            let said = detail::texts(buf, inner, theme, texts);
            return paint::split_top(inner, said).1;
        }
        let row = |index: usize| match list.order.get(index) {
            Some(key) => Row::Cells {
                cells: (self.cells)(key),
                roles: (self.roles)(key),
                region: Some((self.region)(key.clone())),
            },
            None => Row::Heading(String::new()),
        };
        let table = Table {
            theme,
            titles: self.titles,
            columns: self.columns,
        };
        let rows = (list.order.len(), list.position());
        table.draw(buf, (area, inner), rows, row, report);
        let used = u16::try_from(list.order.len() + 1).unwrap_or(u16::MAX);
        paint::split_top(inner, used).1
    }
}
