//! Sessions, continuations, their steps and calls.

string_enum!(/// State of a continuation.
    ContinuationState as "continuation state" {
    /// Accepted, not started, or ready to go on.
    Pending = "pending",
    /// A worker of this process is on it.
    Running = "running",
    /// Running with an open model stream. Reported by API and events, never stored.
    Streaming = "streaming",
    /// Nothing runs; at least one gate waits for a person.
    AwaitingApproval = "awaiting_approval",
    /// Its process died or was stopped while it ran; it can be resumed.
    Interrupted = "interrupted",
    /// Ended with a final answer.
    Completed = "completed",
    /// Ended by an error.
    Failed = "failed",
    /// Ended by a person.
    Cancelled = "cancelled",
    /// Ended because a gate was not answered in time.
    Expired = "expired",
});

impl ContinuationState {
    /// Whether nothing can be added to a continuation in this state any more.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled | Self::Expired => true,
            Self::Pending
            | Self::Running
            | Self::Streaming
            | Self::AwaitingApproval
            | Self::Interrupted => false,
        }
    }
}

string_enum!(/// State of a session.
    SessionState as "session state" {
    /// Accepts messages.
    Active = "active",
    /// Ended by a person (`/new`, `DELETE`).
    Ended = "ended",
    /// Ended by idleness.
    Expired = "expired",
});

string_enum!(/// State of a tool call.
    ToolCallState as "tool call state" {
    /// Written by the model, verdict not yet recorded.
    Proposed = "proposed",
    /// Refused by a rule; never asked.
    Blocked = "blocked",
    /// Refused by a person.
    Denied = "denied",
    /// May start without asking.
    Ready = "ready",
    /// Waits for an approval.
    Awaiting = "awaiting",
    /// Approved, not started.
    Approved = "approved",
    /// Its effect may have happened.
    Started = "started",
    /// Ended with a result.
    Succeeded = "succeeded",
    /// Ended with an error result.
    Failed = "failed",
    /// Was in flight when the process died; nobody knows.
    Indeterminate = "indeterminate",
    /// An operator said it happened.
    SucceededByNote = "succeeded_by_note",
    /// An operator gave it up.
    Abandoned = "abandoned",
    /// Its continuation was cancelled before it started.
    Cancelled = "cancelled",
    /// Its approval was not answered in time.
    Expired = "expired",
});

impl ToolCallState {
    /// Whether the model has (or must get) a result and nothing more will happen.
    pub const fn is_settled(self) -> bool {
        match self {
            Self::Blocked
            | Self::Denied
            | Self::Succeeded
            | Self::Failed
            | Self::SucceededByNote
            | Self::Abandoned
            | Self::Cancelled
            | Self::Expired => true,
            Self::Proposed
            | Self::Ready
            | Self::Awaiting
            | Self::Approved
            | Self::Started
            | Self::Indeterminate => false,
        }
    }
}

string_enum!(/// What an answer can cite.
    CitationKind as "kind of source" {
    /// A file of the workspace.
    File = "file",
    /// Content that is kept under its hash.
    Artifact = "artifact",
    /// Something remembered.
    Memory = "memory",
});

string_enum!(/// Kind of a step of a continuation's log.
    StepKind as "step kind" {
    /// The model answered: text, tool calls, usage.
    Model = "model",
    /// A tool call got its result.
    ToolResult = "tool_result",
    /// An operator intervened (answer, edit, unknown outcome).
    OperatorNote = "operator_note",
    /// The final answer.
    Final = "final",
    /// The error that ended the continuation.
    Error = "error",
});

string_enum!(/// State of a compaction.
    CompactionState as "compaction state" {
    /// Under way.
    Running = "running",
    /// Its turns are covered by the summary.
    Done = "done",
    /// Nothing changed.
    Failed = "failed",
});

string_enum!(/// What a session keeps running between its calls.
    InterpreterKind as "kind of interpreter" {
    /// A shell, of the tool `bash`.
    Bash = "bash",
    /// A Python, of the tool `python`.
    Python = "python",
});

#[allow(
    clippy::derivable_impls,
    reason = "the macro that declares it takes no attributes of values"
)]
impl Default for InterpreterKind {
    fn default() -> Self {
        Self::Bash
    }
}

impl InterpreterKind {
    /// What it is called in a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Bash => "the shell",
            Self::Python => "Python",
        }
    }

    /// What ends with it, in words.
    pub const fn state(self) -> &'static str {
        match self {
            Self::Bash => "variables, functions, background jobs and the working directory",
            Self::Python => "variables, functions and imports",
        }
    }
}

string_enum!(/// Whether an interpreter runs something.
    InterpreterState as "state of an interpreter" {
    /// It waits for the next command.
    Idle = "idle",
    /// It runs one.
    Running = "running",
});
