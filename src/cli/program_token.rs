//! `leverframe mcp token` and `leverframe gate token`: programs that may reach `/mcp` or `/v1/gate` over HTTP. Talks to no daemon: one that runs sees a change at once.

use std::path::Path;

use clap::Subcommand;
use serde_json::json;

use crate::cli::exit::Failure;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::runtime::program_tokens::ProgramTokens;

/// `mcp token`, `gate token`.
#[derive(Debug, Subcommand)]
pub enum TokenCommands {
    /// Make one, and print it: it is shown this once
    Add {
        /// Name of the program; programs with other tokens do not see its sessions
        name: String,
    },
    /// List their names
    List,
    /// Remove one: its program is refused from now on
    Remove {
        /// Name of the program
        name: String,
    },
}

/// Carries out the command.
pub fn run(
    terminal: &mut Terminal<'_>,
    format: Format,
    data_dir: &Path,
    tokens: &ProgramTokens,
    command: TokenCommands,
) -> Result<(), Failure> {
    let usage = |error: anyhow::Error| Failure::Usage(format!("{error:#}"));
    match command {
        TokenCommands::Add { name } => {
            crate::config::paths::prepare_data_dir(data_dir)
                .map_err(|error| Failure::Usage(error.to_string()))?;
            let token = tokens.add(&name).map_err(usage)?;
            match format {
                Format::Json => terminal.json(&json!({ "name": name, "token": token })),
                Format::Human => terminal.line(&token),
            }
        }
        TokenCommands::List => {
            for name in tokens.names().map_err(usage)? {
                match format {
                    Format::Json => terminal.json(&json!({ "name": name }))?,
                    Format::Human => terminal.line(&cell(&name))?,
                }
            }
            Ok(())
        }
        TokenCommands::Remove { name } => {
            tokens.remove(&name).map_err(usage)?;
            match format {
                Format::Json => terminal.json(&json!({ "removed": name })),
                Format::Human => terminal.line(&format!("removed {}", cell(&name))),
            }
        }
    }
}
