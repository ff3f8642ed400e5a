//! What reading from a homeserver works with, and why it stops.

use std::sync::Arc;
use std::time::Duration;

use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::matrix::api::Api;
use crate::channels::matrix::events::Me;
use crate::channels::matrix::joins::Joins;
use crate::channels::matrix::lookup::{FailedReads, Targets};
use crate::channels::matrix::rooms::Rooms;
use crate::client::channel_port::ChannelPort;
use crate::protocol::problem::Problem;

/// What is heard of rooms: everything a person does that could be meant for us, and what changes what we know.
pub const TYPES: &[&str] = &[
    "m.poll.start",
    "m.reaction",
    "m.room.canonical_alias",
    "m.room.encrypted",
    "m.room.encryption",
    "m.room.member",
    "m.room.message",
    "m.room.name",
    "m.room.redaction",
    "m.room.tombstone",
    "m.sticker",
    "org.matrix.msc3381.poll.start",
];

/// What the sync loop works with.
pub struct Syncer {
    /// Platform side.
    pub api: Api,
    /// Engine side.
    pub port: Arc<dyn ChannelPort>,
    /// Where exchanges are noted.
    pub health: Arc<HealthLog>,
    /// Who we are.
    pub me: Me,
    /// What is known of rooms.
    pub rooms: Arc<Rooms>,
    /// Invites and successors.
    pub joins: Joins,
    /// Events that others point to.
    pub targets: Targets,
    /// How long the server may hold a sync.
    pub hold: Duration,
    /// How long after that an answer is still waited for.
    pub margin: Duration,
    /// Rest before each page of missed messages.
    pub page_rest: Duration,
    /// Reads that failed in earlier runs.
    pub failed: Arc<FailedReads>,
}

/// Why a batch was not taken in to its end.
pub enum Halt {
    /// We are to stop.
    Stopped,
    /// It could not be stored, and comes again.
    Store(Problem),
    /// The homeserver could not be asked about something in it.
    Call(CallError),
}

impl From<CallError> for Halt {
    fn from(error: CallError) -> Self {
        Halt::Call(error)
    }
}
