//! Pages after a key. A caller's cursor is opaque; here it is a position in digits. Batches are read by the program itself,
//! so that no transaction is long.

use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;

/// Items a page holds: 1–500, default 100.
pub(crate) fn page_limit(page: &PageRequest) -> u32 {
    page.limit.unwrap_or(100).clamp(1, 500)
}

/// The position after which the page begins.
pub(crate) fn page_start(page: &PageRequest, first: i64) -> Result<i64, StoreError> {
    match &page.cursor {
        None => Ok(first),
        Some(text) => text
            .parse()
            .map_err(|_| StoreError::not_found("page", text.chars().take(64).collect::<String>())),
    }
}

/// A page from one more row than it may hold.
pub(crate) fn page_of<T>(mut rows: Vec<(i64, T)>, limit: u32) -> Page<T> {
    let limit = limit as usize;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = if more {
        rows.last().map(|(position, _)| position.to_string())
    } else {
        None
    };
    Page {
        items: rows.into_iter().map(|(_, item)| item).collect(),
        next_cursor,
    }
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
