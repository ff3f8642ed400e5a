//! The shell of one session, as this console knows it: its newest commands, and what the last one of here said.

use crate::protocol::ids::SessionId;
use crate::protocol::tool::{Interpreter, ShellRun};

/// What is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShellPanel {
    /// Whose shell; none = nobody has looked.
    pub session: Option<SessionId>,
    /// What the daemon says of it; none = not answered yet, or there is none.
    pub row: Option<Interpreter>,
    /// The command of this console that is under way.
    pub running: Option<String>,
    /// What the last one of this console said, or why it did not run.
    pub answer: Option<Result<ShellRun, String>>,
}

impl ShellPanel {
    /// Begins with a session; what is known of another one goes.
    pub fn show(&mut self, session: SessionId) {
        if self.session != Some(session) {
            *self = Self {
                session: Some(session),
                ..Self::default()
            };
        }
    }
}
