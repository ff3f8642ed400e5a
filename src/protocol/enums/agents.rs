//! Values about external agents and the gate that checks their calls.

/// Separates the name of a program from the name of its tool.
const BETWEEN: &str = "__";

string_enum!(/// An external agent whose calls the gate checks.
    ExternalAgent as "external agent" {
    /// Claude Code.
    Claude = "claude",
    /// Codex.
    Codex = "codex",
    /// Gemini CLI.
    Gemini = "gemini",
});

impl ExternalAgent {
    /// The name of the product.
    pub const fn product(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// The tool name in Leverframe: `claude__Bash`.
    pub fn tool_name(self, name: &str) -> String {
        format!("{self}{BETWEEN}{name}")
    }

    /// The agent that a tool name belongs to, and the tool's own name; none = a built-in tool or a tool of a server.
    pub fn of_tool(tool: &str) -> Option<(Self, &str)> {
        let (word, name) = tool.split_once(BETWEEN)?;
        Some((word.parse().ok()?, name)).filter(|(_, name)| !name.is_empty())
    }

    /// Its tools that run their argument `command` in a shell.
    pub const fn shells(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["Bash", "Monitor"],
            Self::Codex => &["Bash", "shell", "exec_command"],
            Self::Gemini => &["run_shell_command"],
        }
    }
}

string_enum!(/// The gate's answer to a hook of an external agent.
    GateVerdict as "verdict of the gate" {
    /// The call may run.
    Allow = "allow",
    /// The call must not run.
    Deny = "deny",
    /// The program ends, and asks again after the decision.
    Defer = "defer",
    /// The hook reported something and needs no answer.
    Noted = "noted",
});

string_enum!(/// How a call ended, as an external agent reports it.
    ReportOutcome as "outcome of a report" {
    /// The call ran.
    Succeeded = "succeeded",
    /// The call ran and failed.
    Failed = "failed",
    /// The agent went on without reporting an end.
    Unreported = "unreported",
});

string_enum!(/// State of a job of an external agent.
    AgentJobState as "state of a job" {
    /// The job waits for a free place.
    Queued = "queued",
    /// The program runs.
    Running = "running",
    /// The program has ended, and one of its calls waits for a decision.
    Waiting = "waiting",
    /// The job asks how to go on: its program was killed while it ran, or its start needs an approval.
    Asking = "asking",
    /// The job was stopped before its program started, and somebody must resume it.
    Interrupted = "interrupted",
    /// The program gave its answer.
    Completed = "completed",
    /// The program gave no answer.
    Failed = "failed",
    /// A person ended the job.
    Cancelled = "cancelled",
});

impl AgentJobState {
    /// Whether the job has ended.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Queued | Self::Running | Self::Waiting | Self::Asking | Self::Interrupted => {
                false
            }
        }
    }
}
