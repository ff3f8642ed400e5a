//! Words about agents of other makers whose calls pass the gate.

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
}
