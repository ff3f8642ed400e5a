//! Takes in an inbound item that queues no turn: a command, a click, an unknown sender, something not for us.

use crate::protocol::words::Disposition;
use crate::store::input::{NewNotice, Origin};

/// An inbound item without a turn. Durable; answers like [`crate::store::commands::ingest_turn::IngestTurn`].
#[derive(Debug, Clone)]
pub struct IngestRecord {
    /// Where it came from.
    pub origin: Origin,
    /// What became of it; not `turn`.
    pub disposition: Disposition,
    /// A few words on it.
    pub detail: String,
    /// Words to send back.
    pub notices: Vec<NewNotice>,
}
