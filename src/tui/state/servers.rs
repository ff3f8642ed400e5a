//! Servers: the tool servers of the configuration, and the selected one with what it offers.

use crate::protocol::mcp::{McpServer, McpServerReview};
use crate::tui::state::list::ListDetail;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServersPanel {
    /// Servers; none = not answered yet.
    pub servers: Option<Vec<McpServer>>,
    /// The list of them, by name.
    pub list: ListDetail<String>,
    /// The selected one with its tools, differences and log.
    pub review: Option<(String, Result<McpServerReview, String>)>,
    /// Digest of an offer that was shown to its end.
    pub read: Option<String>,
    /// Why the list could not be read.
    pub problem: Option<String>,
}

impl ServersPanel {
    pub fn server(&self, name: &str) -> Option<&McpServer> {
        self.servers.iter().flatten().find(|one| one.name == name)
    }

    pub fn selected(&self) -> Option<&McpServer> {
        self.server(self.list.selected.as_deref()?)
    }

    /// Notes how far the detail can be scrolled: what is shown to its end counts as read.
    pub fn shown(&mut self, most: usize) {
        let offered = match self.review() {
            Some(Ok(review)) => review.offered_sha256.clone(),
            Some(Err(_)) | None => None,
        };
        if self.list.scroll >= most && offered.is_some() {
            self.read = offered;
        }
    }

    /// What is known of the selected one.
    pub fn review(&self) -> Option<&Result<McpServerReview, String>> {
        let (name, review) = self.review.as_ref()?;
        (Some(name) == self.list.selected.as_ref()).then_some(review)
    }
}
