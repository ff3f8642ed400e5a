//! What people read of a tool server, line by line. Outside text in it is revealed.

use crate::protocol::enums::{McpServerState, McpToolState};
use crate::protocol::mcp::{McpServer, McpTool};
use crate::text::untrusted::{limit_line, reveal_line};

/// Columns of a text of a server.
const WIDTH: usize = 160;

/// What a server does, in words.
pub fn state_words(state: McpServerState) -> &'static str {
    match state {
        McpServerState::Idle => "idle",
        McpServerState::Starting => "starting",
        McpServerState::Running => "running",
        McpServerState::Failed => "failed",
        McpServerState::NeedsLogin => "needs a login",
        McpServerState::Stopped => "stopped",
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

/// A number of tools, in words.
fn tools_words(count: u64) -> String {
    match count {
        0 => "no tool".to_owned(),
        1 => "1 tool".to_owned(),
        many => format!("{many} tools"),
    }
}

/// How a server is, in a few words.
pub fn standing(server: &McpServer) -> String {
    if server.identity_changed {
        return "it is another server than the trusted one: agents get none of its tools"
            .to_owned();
    }
    match (server.trusted_at, server.tools, server.quarantined) {
        (None, _, _) => "nobody trusts it yet: agents get none of its tools".to_owned(),
        (Some(_), tools, 0) => format!("agents get {}", tools_words(tools)),
        (Some(_), tools, waiting) => {
            let waits = if waiting == 1 { "waits" } else { "wait" };
            format!(
                "agents get {}; {waiting} {waits} for an operator",
                tools_words(tools)
            )
        }
    }
}

/// A server without its tools.
pub fn server(server: &McpServer) -> Vec<String> {
    let text = |text: &str| limit_line(text, WIDTH);
    let mut lines = vec![format!(
        "{}  {}: {}",
        reveal_line(&server.name),
        state_words(server.state),
        standing(server)
    )];
    let era = server.era.map(|era| match &server.protocol_version {
        Some(version) => format!("{era}, {version}"),
        None => era.to_string(),
    });
    let identity = server.identity.as_ref();
    let identity = identity.map(|one| format!("{} {}", one.name, one.version));
    let trusted = match (&server.trusted_at, &server.trusted_by) {
        (Some(at), Some(by)) => Some(format!("by {} at {at}", reveal_line(by))),
        (Some(_) | None, _) => None,
    };
    let calls = (server.calls > 0).then(|| {
        let p50 = server
            .p50_ms
            .map_or_else(String::new, |ms| format!(", p50 {ms} ms"));
        format!("{}, {} errors{p50}", server.calls, server.errors)
    });
    let claims = if server.claims_count {
        "count: trusted = true"
    } else {
        "do not count"
    };
    let next = match server.state {
        McpServerState::NeedsLogin => Some(format!("leverframe mcp login {}", server.name)),
        McpServerState::Stopped => Some(format!("leverframe mcp start {}", server.name)),
        McpServerState::Idle
        | McpServerState::Starting
        | McpServerState::Running
        | McpServerState::Failed => None,
    };
    for (name, value) in [
        ("place", Some(text(&server.place))),
        ("problem", server.problem.as_deref().map(text)),
        ("next step", next),
        ("era", era),
        ("says it is", identity.as_deref().map(text)),
        ("claims", Some(claims.to_owned())),
        ("sandbox", server.sandbox.as_deref().map(text)),
        ("trusted", trusted),
        ("calls", calls),
        ("process", server.pid.map(|pid| pid.to_string())),
        (
            "restarts",
            (server.restarts > 0).then(|| server.restarts.to_string()),
        ),
    ] {
        if let Some(value) = value {
            lines.push(format!("{name:<15} {value}"));
        }
    }
    lines
}

/// A tool: its state, what it claims, and what is wrong with it.
pub fn tool(tool: &McpTool) -> Vec<String> {
    let state = match tool.state {
        McpToolState::Trusted => "trusted",
        McpToolState::New => "NEW",
        McpToolState::Changed => "CHANGED",
        McpToolState::Missing => "GONE",
        McpToolState::Blocked => "blocked",
        McpToolState::Invalid => "INVALID",
    };
    let mut lines = vec![format!(
        "{state:<8} {}  {}, {}; claims: {}",
        reveal_line(&tool.name),
        tool.access,
        tool.effect,
        tool.definition.claims.text()
    )];
    let about = limit_line(&tool.definition.description, WIDTH);
    if !about.is_empty() {
        lines.push(format!("         {about}"));
    }
    if let Some(problem) = &tool.problem {
        lines.push(format!("         problem: {}", limit_line(problem, WIDTH)));
    }
    lines
}
