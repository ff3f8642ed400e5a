//! The commands that people send in a chat, in one table. The parser, the platforms' menus, `/help`
//! and the reference come from it.
//!
//! Every command works in direct messages and in groups. A forwarded, quoted or edited command has
//! no effect.

use std::fmt;

macro_rules! commands {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $arguments:literal, $summary:literal;)+) => {
        /// A chat command.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum SlashCommand { $($(#[$doc])* $variant),+ }

        impl SlashCommand {
            /// Every command, in the order of menus and help.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Name without the slash.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Arguments; empty = none.
            pub const fn arguments(self) -> &'static str {
                match self { $(Self::$variant => $arguments),+ }
            }

            /// What it does, in one line.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary),+ }
            }
        }
    };
}

commands! {
    /// Ends the session.
    New = "new", "", "start a new session; the old one is kept";
    /// Lists sessions.
    Sessions = "sessions", "", "your sessions in this conversation";
    /// Goes back to an earlier session.
    Resume = "resume", "CODE", "go back to an earlier session of /sessions";
    /// Goes on with an interrupted request.
    Continue = "continue", "", "go on with an interrupted request";
    /// Names the session.
    Rename = "rename", "TITLE", "name this session";
    /// Shows what is happening.
    Status = "status", "", "what is going on here";
    /// Lists pending approvals.
    Pending = "pending", "", "decisions this conversation waits for";
    /// Allows a call.
    Approve = "approve", "CODE", "allow a call once, when its card was shown to you";
    /// Denies a call.
    Deny = "deny", "CODE [reason]", "refuse a call, when its card was shown to you";
    /// Answers a question of the agent.
    Answer = "answer", "CODE TEXT", "answer a question of the agent, when its card was shown to you";
    /// Cancels what runs or waits.
    Cancel = "cancel", "[reason]", "end what runs or waits here";
    /// Asks the last request again.
    Retry = "retry", "", "ask the last ended request again";
    /// Asks without the cache.
    Fresh = "fresh", "TEXT", "ask, and take no answer that was kept";
    /// Shows and runs routines.
    Routines = "routines", "[run, enable or disable NAME]", "what runs by itself (owners)";
    /// Lists the commands.
    Help = "help", "", "this text";
}

impl SlashCommand {
    /// The command with this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|command| command.as_str().eq_ignore_ascii_case(name))
    }

    /// Its usage: `/deny CODE [reason]`.
    pub fn usage(self) -> String {
        match self.arguments() {
            "" => format!("/{self}"),
            arguments => format!("/{self} {arguments}"),
        }
    }

    /// Text beside its name in a platform's menu.
    pub fn menu_text(self) -> String {
        match self.arguments() {
            "" => self.summary().to_owned(),
            _ => format!("{}: {}", self.summary(), self.usage()),
        }
    }
}

impl fmt::Display for SlashCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
