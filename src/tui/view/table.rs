//! A table: which columns fit, their head, the rows around the selected one, and how many are below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::sanitize;
use crate::tui::state::list::Cell;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, span};

/// Columns in which a text can be read; the column with the rest gives only what it has beyond.
const READABLE: usize = 60;

pub struct Column {
    /// Cells it needs at least.
    pub least: usize,
    /// Which goes first where there is too little room: the largest. 0 = it stays.
    pub priority: u8,
    /// Its role, unless a row says another.
    pub role: Role,
    /// Where its text stands, and whether it takes the room that is left.
    pub fit: Fit,
}

/// How a column uses its room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    Left,
    Right,
    /// Text at the left, in all the room that the others leave.
    Rest,
}

/// A column by its least width, its priority, its role and its fit.
pub const fn column(least: usize, priority: u8, role: Role, fit: Fit) -> Column {
    Column {
        least,
        priority,
        role,
        fit,
    }
}

pub enum Row {
    Heading(String),
    Cells {
        /// What it shows, in the order of the columns.
        cells: Vec<Cell>,
        /// Columns that have another role in this row.
        roles: Vec<(usize, Role)>,
        /// What the mouse selects there.
        region: Option<HitRegion>,
    },
}

pub struct Table<'t> {
    pub theme: &'t Theme,
    pub titles: &'t [&'static str],
    pub columns: &'t [Column],
}

impl Table<'_> {
    /// The width of each column in so many cells; none = it is left out.
    fn widths(&self, room: usize) -> Vec<Option<usize>> {
        let mut widths: Vec<Option<usize>> = self.columns.iter().map(|c| Some(c.least)).collect();
        let used = |widths: &[Option<usize>]| widths.iter().flatten().map(|w| w + 1).sum::<usize>();
        while used(&widths) > room + 1 {
            let kept = self.columns.iter().enumerate();
            let kept = kept.filter(|(at, c)| c.priority > 0 && widths.get(*at) != Some(&None));
            let Some((at, _)) = kept.max_by_key(|(_, column)| column.priority) else {
                break;
            };
            if let Some(width) = widths.get_mut(at) {
                *width = None;
            }
        }
        let used = used(&widths);
        let rest = self
            .columns
            .iter()
            .position(|column| column.fit == Fit::Rest);
        // Where nothing more can go, the one with the rest gets narrower than it should be.
        let Some((rest, least)) = rest.and_then(|at| Some((at, (*widths.get(at)?)?))) else {
            return widths;
        };
        let mut left = (least + room + 1).saturating_sub(used).max(1);
        // Texts are cut less where there is much room: half of what the rest does not need.
        let mut spare = left.saturating_sub(READABLE) / 2;
        for (width, column) in widths.iter_mut().zip(self.columns) {
            if let (Some(width), Fit::Left) = (width, column.fit) {
                let more = spare.min(column.least);
                *width += more;
                spare -= more;
                left -= more;
            }
        }
        if let Some(width) = widths.get_mut(rest) {
            *width = Some(left);
        }
        widths
    }

    /// Draws the head and the rows that fit into `inner`; what is below is noted on the border of `panel`.
    pub fn draw(
        &self,
        buf: &mut Buffer,
        (panel, inner): (Rect, Rect),
        (count, chosen): (usize, Option<usize>),
        row: impl Fn(usize) -> Row,
        report: &mut FrameReport,
    ) {
        let widths = self.widths(usize::from(inner.width).saturating_sub(2));
        let fitted = |texts: &mut dyn Iterator<Item = &str>| -> Vec<(usize, String)> {
            let shown = texts.zip(self.columns).zip(&widths).enumerate();
            shown
                .filter_map(|(at, ((text, column), width))| {
                    let width = (*width)?;
                    let text = match column.fit {
                        Fit::Right => format!("{:>width$}", sanitize::line(text, width)),
                        Fit::Left | Fit::Rest => sanitize::column(text, width),
                    };
                    Some((at, text))
                })
                .collect()
        };
        // Heads that the command line shares are capitals there.
        let titles: Vec<String> = self
            .titles
            .iter()
            .map(|title| {
                if title.chars().any(char::is_lowercase) {
                    (*title).to_owned()
                } else {
                    title.to_lowercase()
                }
            })
            .collect();
        let head = fitted(&mut titles.iter().map(String::as_str));
        let head: Vec<String> = head.into_iter().map(|(_, text)| text).collect();
        let head = span(self.theme, Role::TableHead, head.join(" "));
        paint::line(buf, inner, 0, &Line::from(vec!["  ".into(), head]));
        let height = usize::from(inner.height.saturating_sub(1));
        let first = paint::first_row(chosen, count, height);
        for index in first..count.min(first + height) {
            let at = 1 + paint::cells(index - first);
            match row(index) {
                Row::Heading(text) => paint::put(buf, inner, at, self.theme, Role::Title, &text),
                Row::Cells {
                    cells,
                    roles,
                    region,
                } => {
                    let mut spans = Vec::new();
                    let texts = fitted(&mut cells.iter().map(|cell| cell.text.as_str()));
                    for (shown, (column, text)) in texts.into_iter().enumerate() {
                        if shown > 0 {
                            spans.push(Span::raw(" "));
                        }
                        let own = roles.iter().find(|(of, _)| *of == column);
                        let role = own.map(|(_, role)| *role);
                        let role = role.or_else(|| self.columns.get(column).map(|c| c.role));
                        spans.push(span(self.theme, role.unwrap_or(Role::Text), text));
                    }
                    let is_chosen = chosen == Some(index);
                    paint::choice(buf, inner, at, self.theme, is_chosen, spans);
                    if let Some(region) = region {
                        report.region(paint::row(inner, at), || region);
                    }
                }
            }
        }
        more_below(buf, panel, self.theme, count.saturating_sub(first + height));
    }
}

/// Says on the border of a panel how many rows are below.
pub fn more_below(buf: &mut Buffer, panel: Rect, theme: &Theme, hidden: usize) {
    if hidden > 0 {
        let note = format!("{hidden} more below");
        paint::panel_note(buf, panel, theme, Role::TextMuted, &note);
    }
}
