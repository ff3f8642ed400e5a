//! Tool servers in words, for the console and the command line.

use crate::protocol::enums::{McpEra, McpServerState, McpToolState};
use crate::protocol::mcp::{McpClaims, McpServer, McpTool};

/// What a server does, in a few words.
pub fn state_words(server: &McpServer) -> &'static str {
    match server.state {
        McpServerState::Idle => "idle",
        McpServerState::Starting => "starting",
        McpServerState::Running => "running",
        McpServerState::Failed => "failed",
        McpServerState::NeedsLogin => "needs a login",
        McpServerState::Stopped => "stopped",
    }
}

/// Which generation of the protocol, for people.
pub fn era_words(era: McpEra) -> &'static str {
    match era {
        McpEra::Handshake => "with a handshake",
        McpEra::Stateless => "stateless",
    }
}

/// How a tool stands to what is trusted, in words.
pub fn tool_words(state: McpToolState) -> &'static str {
    match state {
        McpToolState::Trusted => "trusted",
        McpToolState::New => "new: agents do not get it yet",
        McpToolState::Changed => "changed: agents do not get it",
        McpToolState::Missing => "gone: agents do not get it",
        McpToolState::Blocked => "blocked by the configuration",
        McpToolState::Invalid => "cannot be used",
    }
}

/// What a server claims about a tool, in words; empty = nothing.
pub fn claims_words(claims: &McpClaims) -> String {
    let claim = |value: Option<bool>, yes: &'static str, no: &'static str| match value {
        Some(true) => Some(yes),
        Some(false) => Some(no),
        None => None,
    };
    let words = [
        claim(claims.read_only, "only reads", "changes something"),
        claim(claims.destructive, "may destroy", "destroys nothing"),
        claim(claims.idempotent, "repeatable", "not repeatable"),
        claim(
            claims.open_world,
            "reaches the outside world",
            "stays inside",
        ),
    ];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    words.join(", ")
}

/// A tool in one line: its name on the server, its state, what a call is taken for, and what its server claims.
pub fn tool_line(tool: &McpTool) -> String {
    let claims = claims_words(&tool.definition.claims);
    let claims = if claims.is_empty() {
        "no claims".to_owned()
    } else {
        format!("claims: {claims}")
    };
    format!(
        "{} · {} · {} · {claims}",
        tool.definition.name,
        tool_words(tool.state),
        tool.access
    )
}
