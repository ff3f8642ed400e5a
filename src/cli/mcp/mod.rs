//! `leverframe mcp`: the Model Context Protocol.

use clap::Subcommand;

use crate::cli::mcp_token::McpTokenCommands;

/// `mcp`.
#[derive(Debug, Subcommand)]
pub enum McpCommands {
    /// Speak the Model Context Protocol on standard input and output, for a host that starts this as a program
    Serve {
        /// What this host is called; hosts with other names do not see its sessions
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
    /// Tokens with which hosts reach /mcp over HTTP, and nothing else
    #[command(subcommand)]
    Token(McpTokenCommands),
}
