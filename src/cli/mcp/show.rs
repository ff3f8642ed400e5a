//! What the command line says of tool servers.

use crate::cli::exit::Failure;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::client::server_lines;
use crate::protocol::mcp::{McpPrompt, McpResource, McpServer, McpServerReview};
use crate::text::untrusted::{limit_line, reveal_line};

/// Columns of a description.
const WIDTH: usize = 160;

/// A server without its tools.
pub fn server(terminal: &mut Terminal<'_>, server: &McpServer) -> Result<(), Failure> {
    for line in server_lines::server(server) {
        terminal.line(&line)?;
    }
    Ok(())
}

/// A server with its tools, the difference and the end of its log.
pub fn review(terminal: &mut Terminal<'_>, review: &McpServerReview) -> Result<(), Failure> {
    terminal.show(&review.server, server)?;
    if let Some(sha256) = &review.offered_sha256 {
        terminal.line(&format!("{:<15} {sha256}", "digest"))?;
    }
    for warning in &review.warnings {
        terminal.line(&format!("{:<15} {}", "warning", limit_line(warning, WIDTH)))?;
    }
    for tool in &review.tool_list {
        for line in server_lines::tool(tool) {
            terminal.line(&line)?;
        }
    }
    for line in review.diff.lines() {
        terminal.line(&reveal_line(line))?;
    }
    if review.server.problem.is_some() {
        for line in &review.log {
            terminal.line(&format!("{:<15} {}", "log", limit_line(line, WIDTH)))?;
        }
    }
    Ok(())
}

/// Resources, one a line.
pub fn resources(terminal: &mut Terminal<'_>, resources: &[McpResource]) -> Result<(), Failure> {
    for one in resources {
        terminal.show(one, |terminal, _| {
            let about = [one.name.as_str(), one.description.as_str()];
            let about: Vec<&str> = about.into_iter().filter(|text| !text.is_empty()).collect();
            let about = limit_line(&about.join(", "), WIDTH);
            terminal.line(&format!("{}  {about}", cell(&one.uri)))
        })?;
    }
    if resources.is_empty() && terminal.format == Format::Human {
        terminal.note("it has no resources")?;
    }
    Ok(())
}

/// Prompts with their arguments, one a line.
pub fn prompts(terminal: &mut Terminal<'_>, prompts: &[McpPrompt]) -> Result<(), Failure> {
    for one in prompts {
        terminal.show(one, |terminal, _| {
            let mut words = vec![cell(&one.name)];
            for argument in &one.arguments {
                let name = cell(&argument.name);
                words.push(if argument.required {
                    format!("{name}=…")
                } else {
                    format!("[{name}=…]")
                });
            }
            let about = limit_line(&one.description, WIDTH);
            terminal.line(&format!("{}  {about}", words.join(" ")))
        })?;
    }
    if prompts.is_empty() && terminal.format == Format::Human {
        terminal.note("it has no prompts")?;
    }
    Ok(())
}
