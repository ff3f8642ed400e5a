//! Pages after a key. A caller's cursor is opaque; here it is a position in digits. Batches are read by the program itself,
//! so that no transaction is long.

use crate::clock::Timestamp;
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;

/// Items a page holds: 1–500, default 100.
pub(crate) fn page_limit(page: &PageRequest) -> u32 {
    page.limit.unwrap_or(100).clamp(1, 500)
}

/// The position after which the page begins.
fn page_start(page: &PageRequest, first: i64) -> Result<i64, StoreError> {
    match &page.cursor {
        None => Ok(first),
        Some(text) => text.parse().map_err(|_| no_page(text)),
    }
}

/// A page of what lies behind a position, which begins at `first`. `read` gets that position and how many rows to read.
pub(crate) fn read_page<T>(
    page: &PageRequest,
    first: i64,
    read: impl FnOnce(i64, u32) -> Result<Vec<(i64, T)>, StoreError>,
) -> Result<Page<T>, StoreError> {
    let limit = page_limit(page);
    let rows = read(page_start(page, first)?, limit + 1)?;
    Ok(page_of(rows, limit))
}

/// A page from one more row than it may hold.
fn page_of<T>(mut rows: Vec<(i64, T)>, limit: u32) -> Page<T> {
    let limit = limit as usize;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| more);
    Page {
        next_cursor: last.map(|(position, _)| position.to_string()),
        items: rows.into_iter().map(|(_, item)| item).collect(),
    }
}

/// What a page begins behind whose rows lie in the order of their last change: that time, and the position among equals.
/// None = at the beginning.
pub(crate) fn change_start(page: &PageRequest) -> Result<Option<(i64, i64)>, StoreError> {
    let Some(text) = &page.cursor else {
        return Ok(None);
    };
    let parsed = text
        .split_once('.')
        .and_then(|(at, position)| Some((at.parse().ok()?, position.parse().ok()?)));
    parsed.map(Some).ok_or_else(|| no_page(text))
}

/// Such a page, from one more row than it may hold.
pub(crate) fn change_page<T>(
    mut rows: Vec<(i64, T)>,
    limit: u32,
    changed_at: impl Fn(&T) -> Timestamp,
) -> Page<T> {
    let limit = limit as usize;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| more);
    Page {
        next_cursor: last
            .map(|(position, item)| format!("{}.{position}", changed_at(item).as_millis())),
        items: rows.into_iter().map(|(_, item)| item).collect(),
    }
}

fn no_page(cursor: &str) -> StoreError {
    StoreError::not_found("page", cursor.chars().take(64).collect::<String>())
}

/// Rows that are looked at in one read transaction.
pub(crate) const BATCH: u32 = 4000;

/// What was chosen of the rows of one read transaction.
#[derive(Debug, Clone)]
pub struct Batch<T, K> {
    /// What was chosen.
    pub items: Vec<T>,
    /// The last key that was looked at; none = there is no more.
    pub next: Option<K>,
}

impl<T, K: Copy> Batch<T, K> {
    /// Of at most `limit` rows, each with its key and what is chosen of it.
    pub(crate) fn of(rows: Vec<(K, Option<T>)>, limit: u32) -> Self {
        let full = rows.len() == limit as usize;
        Self {
            next: rows.last().map(|(key, _)| *key).filter(|_| full),
            items: rows.into_iter().filter_map(|(_, item)| item).collect(),
        }
    }
}
