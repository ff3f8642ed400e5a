//! Values about sessions, continuations, steps and calls.

string_enum!(/// State of a continuation (turn).
    ContinuationState as "continuation state" {
    /// Accepted and not started, or ready to go on.
    Pending = "pending",
    /// A worker of the daemon runs it.
    Running = "running",
    /// It runs with an open model stream. The API and events report this value; the database never stores it.
    Streaming = "streaming",
    /// Nothing runs; at least one approval waits for a person.
    AwaitingApproval = "awaiting_approval",
    /// The process died or stopped while it ran; it can be resumed.
    Interrupted = "interrupted",
    /// It ended with a final answer.
    Completed = "completed",
    /// It ended with an error.
    Failed = "failed",
    /// A person ended it.
    Cancelled = "cancelled",
    /// It ended because nobody decided an approval before the deadline.
    Expired = "expired",
});

impl ContinuationState {
    /// Whether a continuation in this state has ended for good.
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
    /// It accepts messages.
    Active = "active",
    /// A person ended it (`/new`, `DELETE`).
    Ended = "ended",
    /// It was idle for too long.
    Expired = "expired",
});

string_enum!(/// State of a tool call.
    ToolCallState as "tool call state" {
    /// The model proposed it; the verdict is not recorded yet.
    Proposed = "proposed",
    /// A rule refused it without asking.
    Blocked = "blocked",
    /// A person refused it.
    Denied = "denied",
    /// It may start without asking.
    Ready = "ready",
    /// It waits for an approval.
    Awaiting = "awaiting",
    /// Approved and not started.
    Approved = "approved",
    /// It started; its effect may have happened.
    Started = "started",
    /// It ended with a result.
    Succeeded = "succeeded",
    /// It ended with an error result.
    Failed = "failed",
    /// It was in flight when the process died; nobody knows its outcome.
    Indeterminate = "indeterminate",
    /// An operator said that it happened.
    SucceededByNote = "succeeded_by_note",
    /// An operator gave it up.
    Abandoned = "abandoned",
    /// Its turn was cancelled before it started.
    Cancelled = "cancelled",
    /// Nobody decided its approval before the deadline.
    Expired = "expired",
});

impl ToolCallState {
    /// Whether nothing more will happen to the call and the model has, or must get, a result.
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

string_enum!(/// Kind of a source that an answer cites.
    CitationKind as "kind of source" {
    /// A file in the workspace.
    File = "file",
    /// Content stored under its hash.
    Artifact = "artifact",
    /// A memory.
    Memory = "memory",
});

string_enum!(/// Kind of a step in a continuation's log.
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
    /// In progress.
    Running = "running",
    /// The summary covers its turns.
    Done = "done",
    /// It changed nothing.
    Failed = "failed",
});

string_enum!(/// Kind of an interpreter that a session keeps between its calls.
    InterpreterKind as "kind of interpreter" {
    /// A shell, for the tool `bash`.
    Bash = "bash",
    /// A Python process, for the tool `python`.
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
    /// Its name in a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Bash => "the shell",
            Self::Python => "Python",
        }
    }

    /// What is lost when it ends, in words.
    pub const fn state(self) -> &'static str {
        match self {
            Self::Bash => "variables, functions, background jobs and the working directory",
            Self::Python => "variables, functions and imports",
        }
    }
}

string_enum!(/// Whether an interpreter is busy.
    InterpreterState as "state of an interpreter" {
    /// It waits for the next command.
    Idle = "idle",
    /// It runs a command.
    Running = "running",
});
