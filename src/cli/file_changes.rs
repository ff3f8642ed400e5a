//! `leverframe files list|undo`: what tools did to files.

use clap::Subcommand;

use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::protocol::file_change::FileChange;
use crate::protocol::ids::ToolCallId;
use crate::protocol::request::{ListFileChanges, UndoFileChange};
use crate::text::untrusted::limit_line;

/// `files`.
#[derive(Debug, Subcommand)]
pub enum FileCommands {
    /// List what edit_file, apply_patch, move_file and delete_file did, the newest first
    List,
    /// Put the files of a call back as they were before it: all of them, or none where one was changed since
    Undo {
        /// Id of the call
        call: ToolCallId,
    },
}

/// Columns of a path.
const WIDTH: usize = 120;

/// Lists it, the newest first.
pub async fn list(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
) -> Result<(), Failure> {
    let page = client.call(ListFileChanges {}).await?;
    match format {
        Format::Json => page.items.iter().try_for_each(|item| terminal.json(item)),
        Format::Human if page.items.is_empty() => terminal.line("no change of files is kept"),
        Format::Human => page.items.iter().try_for_each(|item| show(terminal, item)),
    }
}

/// Puts the files of a call back.
pub async fn undo(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    tool_call_id: ToolCallId,
) -> Result<(), Failure> {
    let item = submit(client, UndoFileChange { tool_call_id }).await?;
    match format {
        Format::Json => terminal.json(&item),
        Format::Human => show(terminal, &item),
    }
}

fn show(terminal: &mut Terminal<'_>, item: &FileChange) -> Result<(), Failure> {
    let undone = item
        .undone_at
        .map_or_else(String::new, |at| format!("  undone {at}"));
    terminal.line(&format!(
        "{}  {}  {}{undone}",
        item.tool_call_id,
        item.at,
        cell(&item.tool)
    ))?;
    terminal.line(&format!(
        "workspace  {}",
        limit_line(&item.workspace, WIDTH)
    ))?;
    for file in &item.files {
        terminal.line(&format!(
            "{:<9}  {}",
            file.fate.as_str(),
            limit_line(&file.path, WIDTH)
        ))?;
    }
    Ok(())
}
