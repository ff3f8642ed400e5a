//! Cache & cost: cached responses, spending, budgets.
//!
//! Nothing here is drawn or asked by itself: `panels` asks, `view::cache_cost` draws. While an answer is selected the
//! list only grows at its end, so that nothing moves under the cursor.

use std::collections::BTreeMap;

use crate::protocol::cache::{CacheEntry, CacheStats};
use crate::protocol::costs::Costs;
use crate::protocol::enums::CostGrouping;
use crate::protocol::request::{ListCacheEntries, Query};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::tui::state::list::ListDetail;

/// Cached responses of a page.
pub const PAGE: u32 = 100;

/// What is known of something that was asked for: itself, or why not.
pub type Known<T> = Option<Result<T, String>>;

/// A cached response that is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    pub id: String,
    /// All of it.
    pub entry: Known<Box<CacheEntry>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CacheCostPanel {
    /// Counters and limits of the cache.
    pub cache: Known<Box<CacheStats>>,
    /// What spending is summed by.
    pub by: CostGrouping,
    /// Spending, by what it is summed by.
    pub costs: BTreeMap<CostGrouping, Result<Box<Costs>, String>>,
    /// Cached responses in the order they are shown in; their texts are cut.
    pub entries: Vec<CacheEntry>,
    /// Whether the list is known.
    pub listed: Known<()>,
    /// Where the next page begins.
    pub more: Option<String>,
    /// The end of the list was reached and the next page is wanted.
    pub(super) wants_more: bool,
    /// Their list, by id.
    pub list: ListDetail<String>,
    /// What is read.
    pub opened: Option<Opened>,
    /// Whether all the numbers are shown in place of the overview.
    pub numbers: bool,
}

impl Default for CacheCostPanel {
    fn default() -> Self {
        Self {
            cache: None,
            by: CostGrouping::Channel,
            costs: BTreeMap::new(),
            entries: Vec::new(),
            listed: None,
            more: None,
            wants_more: false,
            list: ListDetail::default(),
            opened: None,
            numbers: false,
        }
    }
}

impl CacheCostPanel {
    /// The selected answer as it is listed.
    pub fn chosen(&self) -> Option<&CacheEntry> {
        self.entry(self.list.selected.as_ref()?)
    }

    /// A cached response as it is listed.
    pub fn entry(&self, id: &str) -> Option<&CacheEntry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// Takes the first page again, or a further one.
    pub(super) fn take(&mut self, first: bool, page: &Page<CacheEntry>) {
        if first {
            // What this page would hold and does not is gone; what lies beyond it is not known to be.
            let oldest = page.items.last().map(|entry| entry.stored_at);
            let whole = page.next_cursor.is_none();
            self.entries.retain(|known| {
                !whole && oldest.is_some_and(|oldest| known.stored_at < oldest)
                    || page.items.iter().any(|entry| entry.id == known.id)
            });
            if self.entries.len() <= page.items.len() {
                self.more.clone_from(&page.next_cursor);
            }
        } else {
            self.wants_more = false;
            self.more.clone_from(&page.next_cursor);
        }
        for entry in &page.items {
            match self.entries.iter_mut().find(|known| known.id == entry.id) {
                Some(known) => known.clone_from(entry),
                None => self.entries.push(entry.clone()),
            }
        }
        self.entries
            .sort_by_key(|entry| std::cmp::Reverse(entry.stored_at));
    }
}

pub(super) fn entries_query(cursor: Option<String>) -> Query {
    Query::ListCacheEntries(ListCacheEntries {
        channel: None,
        page: PageRequest {
            limit: Some(PAGE),
            cursor,
        },
    })
}
