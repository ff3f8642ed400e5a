//! `leverframe leftovers list|dismiss`: what runs of programs left in places from which other programs run code.

use clap::Subcommand;

use crate::cli::exit::Failure;
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::protocol::ids::ToolCallId;
use crate::protocol::leftovers::Leftovers;
use crate::protocol::request::{DismissLeftovers, ListLeftovers};
use crate::text::untrusted::limit_line;

/// `leftovers`.
#[derive(Debug, Subcommand)]
pub enum LeftoverCommands {
    /// List the files that the daemon set aside, newest first
    List {
        /// Also those that a person dismissed
        #[arg(long)]
        all: bool,
    },
    /// Dismiss from the Queue the files that a call left; changes no file
    Dismiss {
        /// Id of the call
        call: ToolCallId,
    },
}

/// Columns of a path or a name.
const WIDTH: usize = 120;

/// Lists it, the newest first.
pub async fn list(cli: &mut Cli<'_>, all: bool) -> Result<(), Failure> {
    let page = cli.client.call(ListLeftovers { all }).await?;
    if cli.terminal.format == Format::Human && page.items.is_empty() {
        return cli.terminal.line("no command left files to review");
    }
    let mut items = page.items.iter();
    items.try_for_each(|item| cli.terminal.show(item, show))
}

/// Takes what a call left off the Queue.
pub async fn dismiss(cli: &mut Cli<'_>, tool_call_id: ToolCallId) -> Result<(), Failure> {
    cli.submit(DismissLeftovers { tool_call_id }, show).await
}

fn show(terminal: &mut Terminal<'_>, item: &Leftovers) -> Result<(), Failure> {
    let state = match (&item.dismissed_at, &item.by) {
        (Some(at), Some(by)) => format!("dismissed by {} at {at}", cell(by)),
        (Some(_), None) | (None, _) => "waits for a person".to_owned(),
    };
    terminal.line(&format!("{}  {state}", item.tool_call_id))?;
    terminal.line(&format!(
        "call       {} {}",
        cell(&item.tool),
        limit_line(&item.preview, WIDTH)
    ))?;
    terminal.line(&format!(
        "session    {} on {}",
        item.session_id,
        cell(&item.channel)
    ))?;
    terminal.line(&format!(
        "workspace  {}",
        limit_line(&item.workspace, WIDTH)
    ))?;
    terminal.line(&format!(
        "found      {}{}",
        item.found_at,
        if item.new.interrupted {
            ", after the process died during the run"
        } else {
            ""
        }
    ))?;
    for one in &item.new.set_aside {
        terminal.line(&format!(
            "set aside  {} is now named {}",
            limit_line(&one.path, WIDTH),
            limit_line(&one.name, WIDTH)
        ))?;
    }
    if item.new.more > 0 {
        terminal.line(&format!("set aside  {} more", item.new.more))?;
    }
    for one in &item.new.in_place {
        terminal.line(&format!(
            "DANGER     {} is still in place: {}",
            limit_line(&one.path, WIDTH),
            limit_line(&one.problem, WIDTH)
        ))?;
    }
    if let Some(problem) = &item.new.incomplete {
        terminal.line(&format!(
            "DANGER     the scan is incomplete: {}",
            limit_line(problem, WIDTH)
        ))?;
    }
    Ok(())
}
