//! A list with the detail of what is selected, the same on every screen.
//!
//! The selection is an id. While a row is selected, every row keeps its place: a new row comes last, a row that is gone
//! leaves. Without a selection the list is in its order. Pure: it knows keys and cells, no screen.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::console::arming;
use crate::console::queue::Step;

/// What a row shows in a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub text: String,
    /// What the column is sorted by; none = by the text.
    pub rank: Option<f64>,
}

impl Cell {
    /// A cell that is sorted by its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            rank: None,
        }
    }

    /// A cell that is sorted by a number.
    pub fn ranked(text: impl Into<String>, rank: f64) -> Self {
        Self {
            text: text.into(),
            rank: Some(rank),
        }
    }
}

/// A column to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    /// Its position among the columns.
    pub column: usize,
    /// Whether the largest comes first.
    pub descending: bool,
}

impl Sort {
    /// The column that `NAME` or `-NAME` names, by its start; an error lists the columns.
    pub fn parse(text: &str, columns: &[&str]) -> Result<Self, String> {
        let name = text.strip_prefix('-').unwrap_or(text);
        let exact = columns
            .iter()
            .position(|column| column.eq_ignore_ascii_case(name));
        let begins = || {
            let name = name.to_ascii_lowercase();
            columns
                .iter()
                .position(|column| column.to_ascii_lowercase().starts_with(&name))
        };
        match exact.or_else(begins).filter(|_| !name.is_empty()) {
            Some(column) => Ok(Self {
                column,
                descending: text.starts_with('-'),
            }),
            None => Err(format!(
                "expected a column, `-` before it for the largest first: {}",
                columns.join(", ")
            )),
        }
    }

    fn compare(self, one: &[Cell], other: &[Cell]) -> Ordering {
        let ordering = match (one.get(self.column), other.get(self.column)) {
            (Some(one), Some(other)) => match (one.rank, other.rank) {
                (Some(one), Some(other)) => one.total_cmp(&other),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => one.text.to_lowercase().cmp(&other.text.to_lowercase()),
            },
            (one, other) => one.is_none().cmp(&other.is_none()),
        };
        if self.descending {
            ordering.reverse()
        } else {
            ordering
        }
    }
}

/// A list and the detail of its selected row.
#[derive(Debug, Clone, PartialEq)]
pub struct ListDetail<K> {
    /// Rows that are listed, in display order.
    pub order: Vec<K>,
    pub selected: Option<K>,
    /// Whether the detail has the keys, and fills the screen.
    pub zoomed: bool,
    /// Lines by which the detail is scrolled down.
    pub scroll: usize,
    /// Words that a listed row contains.
    pub filter: String,
    /// The column that the list is sorted by; none = its own order.
    pub sort: Option<Sort>,
    /// Rows there are, listed or not.
    pub total: usize,
}

impl<K> Default for ListDetail<K> {
    fn default() -> Self {
        Self {
            order: Vec::new(),
            selected: None,
            zoomed: false,
            scroll: 0,
            filter: String::new(),
            sort: None,
            total: 0,
        }
    }
}

impl<K: Clone + Ord> ListDetail<K> {
    /// Selects a row, or none.
    pub fn select(&mut self, key: Option<K>) {
        if self.selected != key {
            self.scroll = 0;
        }
        self.zoomed &= key.is_some();
        self.selected = key;
    }

    /// Where the selected row is listed.
    pub fn position(&self) -> Option<usize> {
        let key = self.selected.as_ref()?;
        self.order.iter().position(|listed| listed == key)
    }

    /// Takes the rows there are, in the order of the list. `cells` says what a row shows.
    pub fn arrange(&mut self, all: Vec<K>, cells: impl Fn(&K) -> Vec<Cell>) {
        if self.selected.as_ref().is_none_or(|key| !all.contains(key)) {
            self.select(None);
            return self.arrange_afresh(all, cells);
        }
        self.total = all.len();
        let there: BTreeSet<&K> = all.iter().collect();
        self.order.retain(|key| there.contains(key));
        let listed: BTreeSet<K> = self.order.iter().cloned().collect();
        let wanted = self.wanted(all, cells);
        self.order
            .extend(wanted.into_iter().filter(|key| !listed.contains(key)));
    }

    /// The same, where the operator changed the filter or the order: every row goes to its place. The selection stays
    /// while its row is listed.
    pub fn arrange_afresh(&mut self, all: Vec<K>, cells: impl Fn(&K) -> Vec<Cell>) {
        self.total = all.len();
        self.order = self.wanted(all, cells);
        if self.position().is_none() {
            self.select(None);
        }
    }

    /// Takes the rows there are. `afresh` = the operator changed what is listed.
    pub fn take(&mut self, all: Vec<K>, afresh: bool, cells: impl Fn(&K) -> Vec<Cell>) {
        if afresh {
            self.arrange_afresh(all, cells);
        } else {
            self.arrange(all, cells);
        }
    }

    /// Rows with every word of the filter, sorted.
    fn wanted(&self, mut all: Vec<K>, cells: impl Fn(&K) -> Vec<Cell>) -> Vec<K> {
        let words = self.filter.to_lowercase();
        if !words.trim().is_empty() {
            all.retain(|key| {
                let texts: Vec<String> = cells(key).into_iter().map(|cell| cell.text).collect();
                let row = texts.join(" ").to_lowercase();
                words.split_whitespace().all(|word| row.contains(word))
            });
        }
        let Some(sort) = self.sort else {
            return all;
        };
        let mut rows: Vec<(Vec<Cell>, K)> = all.into_iter().map(|key| (cells(&key), key)).collect();
        rows.sort_by(|(one, _), (other, _)| sort.compare(one, other));
        rows.into_iter().map(|(_, key)| key).collect()
    }

    /// How many rows are listed: `12`, or `3 of 12` where a filter leaves some out.
    pub fn count(&self) -> String {
        if self.filter.is_empty() {
            self.order.len().to_string()
        } else {
            format!("{} of {}", self.order.len(), self.total)
        }
    }

    /// What the head says of the filter and the order.
    pub fn note(&self, columns: &[&str]) -> String {
        let mut note = String::new();
        if !self.filter.is_empty() {
            note = format!("  filter: {}", self.filter);
        }
        if let Some(sort) = self.sort
            && let Some(column) = columns.get(sort.column)
        {
            let minus = if sort.descending { "-" } else { "" };
            note.push_str(&format!("  sort: {minus}{column}"));
        }
        note
    }
}

/// What keys do to a list, whatever its keys are.
pub trait List {
    /// Moves the selection, or scrolls the detail that has the keys.
    fn step(&mut self, step: Step);
    /// The same by lines: down where positive.
    fn page(&mut self, lines: i64);
    /// Gives the keys to the detail of what is selected; false when nothing is.
    fn open(&mut self) -> bool;
    /// Moves the keys between the list and the detail.
    fn turn_pane(&mut self);
    /// Closes the detail, then the selection; false when nothing was left to close.
    fn back(&mut self) -> bool;
    /// Words that a listed row contains.
    fn filter(&mut self) -> &mut String;
    fn sort(&mut self) -> &mut Option<Sort>;
    /// Keeps the scroll within what there is.
    fn scrolls_at_most(&mut self, most: usize);
    /// Whether the detail has the keys, and lines by which it is scrolled down.
    fn detail(&self) -> (bool, usize);
}

impl<K: Clone + Ord> List for ListDetail<K> {
    fn step(&mut self, step: Step) {
        if self.zoomed {
            self.scroll = scrolled(self.scroll, step);
        } else {
            let key = stepped(&self.order, self.position(), step);
            self.select(key);
        }
    }

    fn page(&mut self, lines: i64) {
        let step = if lines > 0 { Step::Down } else { Step::Up };
        for _ in 0..lines.unsigned_abs() {
            self.step(step);
        }
    }

    fn open(&mut self) -> bool {
        self.zoomed = self.selected.is_some();
        self.zoomed
    }

    fn turn_pane(&mut self) {
        self.zoomed = self.selected.is_some() && !self.zoomed;
    }

    fn back(&mut self) -> bool {
        if self.zoomed {
            self.zoomed = false;
            return true;
        }
        let selected = self.selected.is_some();
        self.select(None);
        selected
    }

    fn filter(&mut self) -> &mut String {
        &mut self.filter
    }

    fn sort(&mut self) -> &mut Option<Sort> {
        &mut self.sort
    }

    fn scrolls_at_most(&mut self, most: usize) {
        self.scroll = self.scroll.min(most);
    }

    fn detail(&self) -> (bool, usize) {
        (self.zoomed, self.scroll)
    }
}

/// The row that a movement leads to. Without a selection, down and top lead to the first row, up and bottom to the last.
pub fn stepped<K: Clone>(order: &[K], at: Option<usize>, step: Step) -> Option<K> {
    let last = order.len().saturating_sub(1);
    let index = match (step, at) {
        (Step::Down, Some(at)) => (at + 1).min(last),
        (Step::Up, Some(at)) => at.saturating_sub(1),
        (Step::Down | Step::Top, _) => 0,
        (Step::Up | Step::Bottom, _) => last,
    };
    order.get(index).cloned()
}

/// The next of so many choices, or the one before; the first and the last stay.
pub fn neighbor(at: usize, count: usize, forward: bool) -> usize {
    if forward {
        (at + 1).min(count.saturating_sub(1))
    } else {
        at.saturating_sub(1)
    }
}

/// The first of so many rows that is shown after scrolling by lines.
pub fn scrolled_by(first: usize, lines: i64, rows: usize) -> usize {
    arming::scrolled(first, lines, None).min(rows.saturating_sub(1))
}

/// Lines by which a text is scrolled after a movement. The next frame keeps that within the text.
pub const fn scrolled(scroll: usize, step: Step) -> usize {
    match step {
        Step::Down => scroll.saturating_add(1),
        Step::Up => scroll.saturating_sub(1),
        Step::Top => 0,
        Step::Bottom => usize::MAX / 2,
    }
}
