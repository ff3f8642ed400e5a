//! What `doctor` says about tool servers.

use crate::config::mcp::McpPlace;
use crate::config::settings::Settings;
use crate::protocol::doctor::Finding;
use crate::protocol::enums::McpServerState;
use crate::protocol::mcp::McpServer;

fn warn(name: &str, detail: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding::warn(format!("tool server {name}"), detail, fix)
}

/// What the configuration alone tells: programs outside of the sandbox, and variables that are not set.
pub fn configured(settings: &Settings) -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, server) in &settings.mcp {
        if let McpPlace::Program(program) = &server.place
            && !program.sandbox
        {
            found.push(warn(
                name,
                "its program runs outside of the sandbox: it reads and changes what this user can",
                "leave `sandbox = false` out; read, write and network say what it needs",
            ));
        }
    }
    for (name, variable) in &settings.mcp_secrets.missing {
        found.push(warn(
            name,
            format!("its program does without {variable}: the daemon's environment has no such variable"),
            format!("set {variable} where the daemon starts, or name a file in environment_files, and reload"),
        ));
    }
    found
}

/// How servers are, and what waits for an operator.
pub fn running(servers: &[McpServer]) -> Vec<Finding> {
    let mut found = Vec::new();
    for server in servers {
        let name = server.name.as_str();
        let problem = server.problem.as_deref().unwrap_or("nobody knows why");
        match server.state {
            McpServerState::Failed => found.push(warn(
                name,
                format!("cannot connect: {problem}"),
                format!("`leverframe mcp show {name}` has the newest lines of its log; then `leverframe mcp start {name}`"),
            )),
            McpServerState::NeedsLogin => found.push(warn(
                name,
                "wants a login",
                format!("`leverframe mcp login {name}`"),
            )),
            McpServerState::Stopped => found.push(warn(
                name,
                server.problem.as_deref().unwrap_or("a person stopped it"),
                format!("`leverframe mcp start {name}`"),
            )),
            McpServerState::Idle | McpServerState::Starting | McpServerState::Running => {}
        }
        let review = format!("`leverframe mcp trust {name}` shows it and asks");
        if server.identity_changed {
            let detail = "is another server than the trusted one: agents get none of its tools";
            found.push(warn(name, detail, review));
        } else if server.trusted_at.is_none() {
            let detail = "nobody trusts it yet: agents get none of its tools";
            found.push(warn(name, detail, review));
        } else if server.quarantined > 0 {
            let detail = format!("{} of its tools wait for an operator", server.quarantined);
            found.push(warn(name, detail, review));
        } else if found
            .last()
            .is_none_or(|last| !last.about.ends_with(&format!(" {name}")))
        {
            let detail = format!("{}, agents get {} tools", server.state, server.tools);
            found.push(Finding::ok(format!("tool server {name}"), detail));
        }
    }
    found
}
