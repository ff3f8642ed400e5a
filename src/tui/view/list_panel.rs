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

/// Texts that stand in a list without a row: why it is not known, that it is asked for, or what would be listed.
pub fn nothing(
    problem: Option<&String>,
    is_known: bool,
    asked: &str,
    (head, about): (&str, &str),
) -> Vec<(Role, String)> {
    match problem {
        Some(why) => vec![(Role::NoticeError, why.clone())],
        None if !is_known => vec![(Role::TextMuted, format!("asking for {asked} …"))],
        None => vec![
            (Role::TextStrong, head.to_owned()),
            (Role::Text, String::new()),
            (Role::TextMuted, about.to_owned()),
        ],
    }
}

/// A list, and how its rows are drawn.
pub struct ListPanel<'a, K> {
    /// Its head. Filter and order come behind it.
    pub title: String,
    /// What its head says behind these.
    pub news: String,
    /// Whether it has the keys.
    pub focused: bool,
    pub list: &'a ListDetail<K>,
    pub titles: &'static [&'static str],
    pub columns: &'a [Column],
    /// What stands above the rows.
    pub above: Vec<(Role, String)>,
    /// What stands there where there is no row.
    pub empty: Vec<(Role, String)>,
    /// What stands there where the filter leaves no row.
    pub none_left: Vec<(Role, String)>,
    /// Headings, each with the number of the row that it stands before.
    pub headings: Vec<(usize, String)>,
    pub cells: &'a dyn Fn(&K) -> Vec<Cell>,
    /// Columns that have another role in a row.
    pub roles: &'a dyn Fn(&K) -> Vec<(usize, Role)>,
    /// What the mouse selects on a row; none = nothing.
    pub region: Option<&'a dyn Fn(K) -> HitRegion>,
}

impl<'a, K: Clone + Ord> ListPanel<'a, K> {
    /// A list that has the keys while its detail has not.
    pub fn new(
        list: &'a ListDetail<K>,
        titles: &'static [&'static str],
        columns: &'a [Column],
    ) -> Self {
        Self {
            title: String::new(),
            news: String::new(),
            focused: !list.zoomed,
            list,
            titles,
            columns,
            above: Vec::new(),
            empty: Vec::new(),
            none_left: vec![(Role::TextStrong, NONE_LEFT.to_owned())],
            headings: Vec::new(),
            cells: &|_| Vec::new(),
            roles: &|_| Vec::new(),
            region: None,
        }
    }

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
        let rows = list.order.len() + self.headings.len() + self.above.len();
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
        let title = format!("{}{}{}", self.title, list.note(self.titles), self.news);
        let inner = paint::padded(paint::panel(buf, area, theme, &title, self.focused));
        let said = detail::texts(buf, inner, theme, &self.above);
        let inner = paint::split_top(inner, said).1;
        if list.order.is_empty() {
            let filtered = !list.filter.is_empty() && list.total > 0;
            let texts = if filtered {
                &self.none_left
            } else {
                &self.empty
            };
            let said = detail::texts(buf, inner, theme, texts);
            return paint::split_top(inner, said).1;
        }
        let mut lines: Vec<Result<&K, &str>> = list.order.iter().map(Ok).collect();
        for (at, heading) in self.headings.iter().rev() {
            lines.insert(*at, Err(heading));
        }
        let row = |index: usize| match lines.get(index) {
            Some(Ok(key)) => Row::Cells {
                cells: (self.cells)(key),
                roles: (self.roles)(key),
                region: self.region.map(|region| region((*key).clone())),
            },
            Some(Err(heading)) => Row::Heading((*heading).to_owned()),
            None => Row::Heading(String::new()),
        };
        let table = Table {
            theme,
            titles: self.titles,
            columns: self.columns,
        };
        let is_selected = |line: &Result<&K, &str>| line.ok() == list.selected.as_ref();
        let chosen = list
            .selected
            .as_ref()
            .and(lines.iter().position(is_selected));
        table.draw(buf, (area, inner), (lines.len(), chosen), row, report);
        paint::split_top(inner, paint::cells(lines.len() + 1)).1
    }
}
