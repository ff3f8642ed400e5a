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
