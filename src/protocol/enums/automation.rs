//! Values about hooks, routines and configuration reloads.

string_enum!(/// When the engine calls a hook.
    HookPoint as "hook point" {
    /// Before a model call; may change or cancel it.
    BeforeLlmCall = "before_llm_call",
    /// Before the policy checks a proposed call; may change or cancel it. Called again right before the start, where
    /// it may only cancel.
    BeforeToolCall = "before_tool_call",
    /// After a tool call ended.
    AfterToolCall = "after_tool_call",
    /// After a session was opened.
    SessionStart = "session_start",
    /// After a session ended.
    SessionEnd = "session_end",
    /// When the engine asks a person.
    ApprovalRequested = "approval_requested",
    /// When a person decided.
    ApprovalDecided = "approval_decided",
    /// When the engine accepted a message.
    MessageReceived = "message_received",
    /// When the platform accepted a reply.
    ReplySent = "reply_sent",
});

string_enum!(/// What happens to runs of a routine that were due while the daemon was off.
    MissedRuns as "policy for missed runs" {
    /// They are skipped.
    Skip = "skip",
    /// One run replaces them all.
    RunOnce = "run_once",
});

string_enum!(/// State of a run of a routine.
    RoutineRunState as "routine run state" {
    /// It started a turn.
    Started = "started",
    /// It was skipped for an expected reason.
    Skipped = "skipped",
    /// It could not start.
    Failed = "failed",
});

string_enum!(/// When a changed setting takes effect after a reload.
    ReloadEffect as "effect" {
    /// At once. Running turns end under the old setting.
    Now = "now",
    /// Stricter values at once; looser values wait for an approval in the Queue.
    Policy = "policy",
    /// In consoles that are opened from now on.
    NextConsole = "next_console",
    /// At the next start of the daemon.
    Restart = "restart",
});
