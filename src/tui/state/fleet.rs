//! The fleet board: every channel of every daemon. It holds only what the console does not keep for each daemon.

use std::collections::BTreeMap;

use crate::console::ids::HostId;
use crate::protocol::fleet::FleetChannel;
use crate::tui::state::list::ListDetail;

/// A channel of a daemon.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FleetKey {
    pub host: HostId,
    pub channel: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetPanel {
    /// The channels.
    pub list: ListDetail<FleetKey>,
    /// What each daemon counted last, or why it did not.
    pub figures: BTreeMap<HostId, Result<Vec<FleetChannel>, String>>,
    /// Each daemon is to be asked, whenever it was asked last.
    pub stale: bool,
    /// The minute in which each daemon was asked last.
    pub(super) asked: BTreeMap<HostId, i64>,
}

impl FleetPanel {
    /// What was counted of a channel.
    pub fn figures_of(&self, key: &FleetKey) -> Option<&FleetChannel> {
        let of_host = self.figures.get(&key.host)?.as_ref().ok()?;
        of_host.iter().find(|one| one.name == key.channel)
    }
}
