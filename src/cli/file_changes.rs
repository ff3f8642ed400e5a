//! `leverframe files list|diff|undo`: what tools did to files.

use clap::Subcommand;

use crate::cli::exit::{Failure, usage};
use crate::cli::find;
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::protocol::file_change::{CallDiff, FileChange};
use crate::protocol::ids::ToolCallId;
use crate::protocol::request::{
    GetCallDiff, GetContinuation, ListContinuations, ListFileChanges, UndoFileChange,
};
use crate::protocol::session::Continuation;
use crate::protocol::snapshot::PageRequest;
use crate::text::untrusted::{limit_line, reveal_line};

/// `files`.
#[derive(Debug, Subcommand)]
pub enum FileCommands {
    /// List the changes of edit_file, apply_patch, move_file and delete_file, newest first
    List,
    /// Show the recorded file changes of a call, or of each call of a continuation or session
    Diff {
        /// Id of the call, of the continuation or of the session
        id: String,
    },
    /// Restore the files of a call as they were before it; restores none if one changed since
    Undo {
        /// Id of the call
        call: ToolCallId,
    },
}

/// Columns of a path.
const WIDTH: usize = 120;

/// Lists it, the newest first.
pub async fn list(cli: &mut Cli<'_>) -> Result<(), Failure> {
    let page = cli.client.call(ListFileChanges {}).await?;
    if cli.terminal.format == Format::Human && page.items.is_empty() {
        return cli.terminal.line("no recorded file changes");
    }
    let mut items = page.items.iter();
    items.try_for_each(|item| cli.terminal.show(item, show))
}

/// Puts the files of a call back.
pub async fn undo(cli: &mut Cli<'_>, tool_call_id: ToolCallId) -> Result<(), Failure> {
    cli.submit(UndoFileChange { tool_call_id }, show).await
}

/// Shows what a call did to files, or what each call of a continuation or session did.
pub async fn diff(cli: &mut Cli<'_>, id: &str) -> Result<(), Failure> {
    let mut calls = Vec::new();
    if id.starts_with("call_") {
        calls.push(
            id.parse()
                .map_err(|_| usage!("`{}` is no id of a call", limit_line(id, 64)))?,
        );
    } else if id.starts_with("ses_") {
        let session_id = Some(find::session(cli.client, id).await?);
        let mut page = PageRequest::default();
        loop {
            let state = None;
            let list = ListContinuations {
                state,
                session_id,
                page: page.clone(),
            };
            let turns = cli.client.call(list).await?;
            let of_turn = |turn: &Continuation| -> Vec<ToolCallId> {
                turn.tool_calls.iter().rev().map(|call| call.id).collect()
            };
            calls.extend(turns.items.iter().flat_map(of_turn));
            if turns.next_cursor.is_none() {
                break;
            }
            page.cursor = turns.next_cursor;
        }
        // Listed are the newest first.
        calls.reverse();
    } else {
        let id = find::continuation(cli.client, id).await?;
        let turn = cli.client.call(GetContinuation { id }).await?;
        calls.extend(turn.tool_calls.iter().map(|call| call.id));
    }
    let several = calls.len() > 1;
    for tool_call_id in calls {
        let diff = cli.client.call(GetCallDiff { tool_call_id }).await?;
        // Of many calls most only read.
        if several && diff.unified.is_empty() && diff.source.is_none() {
            continue;
        }
        cli.terminal.show(&diff, show_diff)?;
    }
    Ok(())
}

fn show_diff(terminal: &mut Terminal<'_>, diff: &CallDiff) -> Result<(), Failure> {
    let undone = if diff.undone { "  undone" } else { "" };
    let source = diff.source.map_or("", |source| source.as_str());
    terminal.line(&format!(
        "{}  {}  {}{undone}  {source}",
        diff.tool_call_id,
        cell(&diff.tool),
        diff.state
    ))?;
    for missing in &diff.missing {
        terminal.line(&format!("missing    {}", limit_line(missing, WIDTH)))?;
    }
    for line in diff.unified.lines() {
        terminal.line(&reveal_line(line))?;
    }
    Ok(())
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
