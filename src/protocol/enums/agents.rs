//! Words about agents of other makers whose calls pass the gate.

/// What stands between the word of a program and the name of its tool.
const BETWEEN: &str = "__";

string_enum!(/// A program whose calls are judged here.
    ExternalAgent as "external agent" {
    /// Claude Code.
    Claude = "claude",
    /// Codex.
    Codex = "codex",
    /// Gemini CLI.
    Gemini = "gemini",
});

impl ExternalAgent {
    /// The name that its makers give it.
    pub const fn product(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// The name that its tool has here: `claude__Bash`.
    pub fn tool_name(self, name: &str) -> String {
        format!("{self}{BETWEEN}{name}")
    }

    /// Whose tool a name is, and how its program calls it; none = it is a tool of ours or of a server.
    pub fn of_tool(tool: &str) -> Option<(Self, &str)> {
        let (word, name) = tool.split_once(BETWEEN)?;
        Some((word.parse().ok()?, name)).filter(|(_, name)| !name.is_empty())
    }

    /// Its tools that give a shell what stands in their argument `command`.
    pub const fn shells(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["Bash", "Monitor"],
            Self::Codex => &["Bash", "shell", "exec_command"],
            Self::Gemini => &["run_shell_command"],
        }
    }
}

string_enum!(/// What a hook of an external agent is told.
    GateVerdict as "verdict of the gate" {
    /// The call may run.
    Allow = "allow",
    /// The call must not run.
    Deny = "deny",
    /// The program ends, and asks again once there is a decision.
    Defer = "defer",
    /// It was a report, which needs no answer.
    Noted = "noted",
});

string_enum!(/// How a call ended, as an external agent reports it.
    ReportOutcome as "outcome of a report" {
    /// It ran.
    Succeeded = "succeeded",
    /// It ran and failed.
    Failed = "failed",
    /// The agent went on and never reported an end.
    Unreported = "unreported",
});

string_enum!(/// Where a job of an external agent stands.
    AgentJobState as "state of a job" {
    /// It waits for its turn.
    Queued = "queued",
    /// Its program runs.
    Running = "running",
    /// Its program has ended, and a call of it waits for a decision.
    Waiting = "waiting",
    /// It asks how to go on: its program was stopped in the midst of it, or its start needs an approval.
    Asking = "asking",
    /// It was stopped before its program started, and somebody has to let it go on.
    Interrupted = "interrupted",
    /// Its program gave its answer.
    Completed = "completed",
    /// Its program gave no answer.
    Failed = "failed",
    /// Somebody ended it.
    Cancelled = "cancelled",
});

impl AgentJobState {
    /// Whether nothing of it goes on any more.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Queued | Self::Running | Self::Waiting | Self::Asking | Self::Interrupted => {
                false
            }
        }
    }
}
