//! Resources: the rows of one resource of the table in `client::listing`.
//!
//! Nothing here knows a resource by name but the first one.

use crate::client::listing::{RESOURCES, Resource, ResourceRow, resource};
use crate::tui::state::list::ListDetail;

/// The resource that the screen shows first.
const FIRST: &str = "tools";

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourcesPanel {
    /// The resource that is shown; none = the first one.
    pub shown: Option<&'static Resource>,
    /// Its rows; none = not answered yet.
    pub rows: Option<Vec<ResourceRow>>,
    /// The list of them, by the first cell.
    pub list: ListDetail<String>,
    /// Why they could not be read.
    pub problem: Option<String>,
}

impl ResourcesPanel {
    pub fn resource(&self) -> Option<&'static Resource> {
        self.shown
            .or_else(|| resource(FIRST))
            .or_else(|| RESOURCES.first())
    }

    pub fn heads(&self) -> &'static [&'static str] {
        self.resource().map_or(&[], |resource| resource.heads)
    }

    /// A row by its first cell.
    pub fn row(&self, key: &str) -> Option<&ResourceRow> {
        let rows = self.rows.iter().flatten();
        rows.into_iter()
            .find(|row| row.cells.first().is_some_and(|cell| cell == key))
    }

    pub(super) fn selected(&self) -> Option<&ResourceRow> {
        self.row(self.list.selected.as_deref()?)
    }
}
