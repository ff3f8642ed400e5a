//! Hooks, routines and reloads of the configuration.

string_enum!(/// When a hook is called.
    HookPoint as "hook point" {
    /// Before a model is asked; may change or cancel.
    BeforeLlmCall = "before_llm_call",
    /// Before a proposed call is checked; may change or cancel. Called again at the start, where it may only veto.
    BeforeToolCall = "before_tool_call",
    /// After a call ended.
    AfterToolCall = "after_tool_call",
    /// A session was opened.
    SessionStart = "session_start",
    /// A session ended.
    SessionEnd = "session_end",
    /// A person is asked.
    ApprovalRequested = "approval_requested",
    /// A person answered.
    ApprovalDecided = "approval_decided",
    /// A message was accepted.
    MessageReceived = "message_received",
    /// A reply was accepted by the platform.
    ReplySent = "reply_sent",
});

string_enum!(/// What happens to runs of a routine that were due while nothing ran.
    MissedRuns as "policy for missed runs" {
    /// Nothing.
    Skip = "skip",
    /// One run makes up for all of them.
    RunOnce = "run_once",
});

string_enum!(/// State of a run of a routine.
    RoutineRunState as "routine run state" {
    /// It became a turn.
    Started = "started",
    /// It did not run, for a reason that is no fault.
    Skipped = "skipped",
    /// It could not be started.
    Failed = "failed",
});

string_enum!(/// When a setting comes into use that a reload of the configuration changes.
    ReloadEffect as "effect" {
    /// With the reload. Turns under way end under the old setting.
    Now = "now",
    /// What is stricter, with the reload; what is looser waits for an approval in the Queue.
    Policy = "policy",
    /// In consoles that are opened from now on.
    NextConsole = "next_console",
    /// With the next start of the process.
    Restart = "restart",
});
