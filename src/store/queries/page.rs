//! Keyset pages. A cursor is opaque to callers; here it is a position in digits.

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
