//! Takes in a message that queues a turn: inbox row, session, continuation and channel cursor in one transaction.

use crate::protocol::ids::{ContinuationId, InboxId, SessionId};
use crate::protocol::words::{ContinuationState, Disposition};
use crate::store::input::{NewNotice, Origin, SessionChoice, TurnLimits};

/// A user message. Durable: acknowledge the platform only after this.
#[derive(Debug, Clone)]
pub struct IngestTurn {
    /// Where it came from.
    pub origin: Origin,
    /// Which session it belongs to.
    pub session: SessionChoice,
    /// The text: outside text.
    pub text: String,
    /// Model of this turn only.
    pub model: Option<String>,
    /// Budgets.
    pub limits: TurnLimits,
    /// How many continuations may wait in the session.
    pub max_queue: u32,
    /// The engine is held: queue without limit, drop nothing.
    pub unlimited_queue: bool,
    /// The terminal continuation it repeats.
    pub retry_of: Option<ContinuationId>,
    /// Queued as a notice when the queue is full.
    pub queue_full_notice: Option<NewNotice>,
    /// Title of a session that starts here.
    pub title: Option<String>,
}

/// What became of an inbound item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestOutcome {
    /// Its row.
    pub inbox_id: InboxId,
    /// What became of it.
    pub disposition: Disposition,
    /// Its session.
    pub session_id: Option<SessionId>,
    /// The turn it queued.
    pub continuation_id: Option<ContinuationId>,
    /// State of that turn now.
    pub state: Option<ContinuationState>,
    /// Whether it had been taken in before; then nothing changed.
    pub repeated: bool,
}
