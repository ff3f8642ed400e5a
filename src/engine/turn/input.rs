//! What can happen to a turn. Facts only, already durable where they matter.

use crate::protocol::ids::ToolCallId;
use crate::store::input::BudgetKind;

/// How a call stands, as far as the machine cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    /// Has its result (whatever it says).
    Settled,
    /// Allowed by policy; may start without a person.
    Ready,
    /// Waits for a person.
    Awaiting,
    /// Allowed by a person, not started.
    Approved,
    /// Started by this driver, not settled.
    Started,
    /// Nobody knows what happened; waits for a person.
    Indeterminate,
}

/// One call of the current step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub id: ToolCallId,
    /// How it stands.
    pub status: CallStatus,
    /// Read-only: may run beside others and before gates are decided.
    pub parallel: bool,
}

/// Why a turn must let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// A person ended it; the store already says so.
    Cancelled,
    Held,
    /// The process stops.
    ShuttingDown,
    /// A person writes in place of the agent.
    TakenOver,
}

impl Halt {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Held => "emergency stop",
            Self::ShuttingDown => "the process stops",
            Self::TakenOver => "a person took the conversation over",
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The turn was claimed.
    Claimed,
    /// The model answered without calls.
    ModelSaid {
        /// Tokens used by all tries.
        tokens: u64,
    },
    /// The model proposed calls, or wants to go on with what it said (then there are none).
    ModelProposed {
        /// Tokens used by all tries.
        tokens: u64,
        /// How many.
        calls: u32,
    },
    /// The model could not be had.
    ModelFailed {
        /// Stable word for the error body.
        code: &'static str,
        /// For people, redacted.
        message: String,
    },
    /// A budget forbids the model call: it was not made.
    BudgetReached(BudgetKind),
    /// The answer broke off after some of it was shown, or the model asks for a long wait.
    ModelInterrupted {
        /// Why, for people, redacted.
        reason: String,
        /// What readers saw, redacted.
        partial: String,
    },
    /// The proposed calls are stored with their verdicts.
    CallsRecorded { calls: Vec<Call> },
    /// A call changed without having run here (digest changed, decision too old, refused at start).
    CallBecame {
        id: ToolCallId,
        /// How it stands now.
        status: CallStatus,
    },
    /// A started call ended and is stored.
    ToolEnded {
        id: ToolCallId,
        /// Settled or indeterminate.
        status: CallStatus,
    },
    /// Parking found that all gates had been decided meanwhile.
    GatesDecided {
        /// The calls as they stand.
        calls: Vec<Call>,
    },
    /// The turn must let go.
    Halted(Halt),
    /// Engine and model time passed.
    TimePassed {
        /// Total milliseconds of active time so far.
        active_ms: u64,
    },
}
