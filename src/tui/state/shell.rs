//! The shell or Python of one session, as this console knows it: its newest commands, and the output of this console's
//! last one.

use crate::protocol::enums::InterpreterKind;
use crate::protocol::ids::SessionId;
use crate::protocol::tool::{Interpreter, ShellRun};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShellPanel {
    /// Whose; none = nobody has looked.
    pub session: Option<SessionId>,
    pub kind: InterpreterKind,
    /// What the daemon says of it; none = not answered yet, or there is none.
    pub row: Option<Interpreter>,
    /// The command of this console that is under way.
    pub running: Option<String>,
    /// What it wrote so far: outside text, at most 64 KiB of its end.
    pub output: String,
    /// What the last one of this console said, or why it did not run.
    pub answer: Option<Result<ShellRun, String>>,
}

/// Most bytes of the output of a command that runs.
const OUTPUT_KEPT: usize = 64 * 1024;

impl ShellPanel {
    /// Adds what a command wrote that runs.
    pub fn hear(&mut self, text: &str) {
        self.output.push_str(text);
        let over = self.output.len().saturating_sub(OUTPUT_KEPT);
        if over > 0 {
            let from = self.output.ceil_char_boundary(over);
            self.output.drain(..from);
        }
    }

    /// Begins with an interpreter of a session; what is known of another one goes.
    pub fn show(&mut self, session: SessionId, kind: InterpreterKind) {
        if self.session != Some(session) || self.kind != kind {
            *self = Self {
                session: Some(session),
                kind,
                ..Self::default()
            };
        }
    }
}
