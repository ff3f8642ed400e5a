//! The arguments of `memory` (clap). Nothing here acts.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::protocol::enums::{MemoryKind, MemoryScope, MemoryState};
use crate::protocol::ids::SessionId;

/// `memory`.
#[derive(Debug, Subcommand)]
pub enum MemoryCommands {
    /// Show the summary that replaces the oldest turns of a session
    Summary {
        /// Id or unique prefix
        session: String,
    },
    /// Compact a session now: its summary replaces all turns but the newest
    Compact {
        /// Id or unique prefix
        session: String,
    },
    /// List compactions, newest first, with the size of the next prompt before and after
    Compactions {
        /// Only of this session: id or unique prefix
        #[arg(long)]
        session: Option<String>,
        /// At most this many
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: Option<u32>,
    },
    /// Show memory hygiene: settings, last and next run, growth; it runs every 12 hours
    Hygiene(HygieneArguments),
    /// List memories, newest change first
    List {
        /// Only this state; without it, all but archived ones
        #[arg(long)]
        state: Option<MemoryState>,
        /// Which
        #[command(flatten)]
        which: Which,
        /// At most this many
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: Option<u32>,
    },
    /// Search memories, best first; any text is a valid search
    Search {
        /// Text to search for
        #[arg(required = true)]
        text: Vec<String>,
        /// Only this state; without it, all but archived ones
        #[arg(long)]
        state: Option<MemoryState>,
        /// Which
        #[command(flatten)]
        which: Which,
        /// At most this many
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: Option<u32>,
    },
    /// Show a memory
    Show {
        /// Id or unique prefix
        id: String,
    },
    /// Add a memory: everywhere, or in a channel or session
    Add {
        /// Text of the memory; `-` reads standard input
        #[arg(required = true)]
        text: Vec<String>,
        /// Only in this channel
        #[arg(long, conflicts_with = "session")]
        channel: Option<String>,
        /// Only in this session
        #[arg(long)]
        session: Option<SessionId>,
        /// Kind
        #[arg(long)]
        kind: Option<MemoryKind>,
        /// Add it to every context of its scope
        #[arg(long)]
        pin: bool,
        /// When it expires: RFC 3339, or how long from now (2h, 3d, 1w)
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// Change the text, kind or expiry of a memory
    Edit {
        /// Id or unique prefix
        id: String,
        /// New text; `-` reads standard input
        #[arg(long)]
        text: Option<String>,
        /// New kind
        #[arg(long)]
        kind: Option<MemoryKind>,
        /// New expiry: RFC 3339, or how long from now (2h, 3d, 1w)
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// Pin a memory: every context of its scope gets it
    Pin {
        /// Id or unique prefix
        id: String,
    },
    /// Unpin a memory
    Unpin {
        /// Id or unique prefix
        id: String,
    },
    /// Accept a proposed memory; `delete` rejects it
    Accept {
        /// Id or unique prefix
        id: String,
    },
    /// Replace memories with a better one: agents no longer recall the others
    Supersede {
        /// Id or unique prefix of the better one
        id: String,
        /// Ids or unique prefixes of the others
        #[arg(required = true)]
        others: Vec<String>,
    },
    /// Delete a memory for good
    Delete {
        /// Id or unique prefix
        id: String,
    },
    /// Erase all data of a user: memories, sessions, artifacts and caches; first shows what it would delete
    EraseUser {
        /// Platform id of the user, for example telegram:123456
        user: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Show proposed, duplicate, contradictory and unused memories
    Review {
        /// At most this many of each
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: Option<u32>,
    },
    /// Export all memories that agents recall, one JSON object a line
    Export {
        /// New file; `-` writes to standard output
        #[arg(default_value = "-")]
        file: PathBuf,
        /// Which
        #[command(flatten)]
        which: Which,
    },
    /// Import memories from an export: all or none
    Import {
        /// File; `-` reads standard input
        file: PathBuf,
    },
    /// Show counts and sizes
    Stats,
}

/// Which memories.
#[derive(Debug, Args)]
pub struct Which {
    /// Only this scope
    #[arg(long)]
    pub scope: Option<MemoryScope>,
    /// Only this channel
    #[arg(long)]
    pub channel: Option<String>,
    /// Only this session
    #[arg(long)]
    pub session: Option<SessionId>,
    /// Only of this person (platform id)
    #[arg(long)]
    pub person: Option<String>,
    /// Only pinned ones
    #[arg(long)]
    pub pinned: bool,
}

/// `memory hygiene`.
#[derive(Debug, Args)]
pub struct HygieneArguments {
    /// List what a run would remove, by scope, reason and size; changes nothing
    #[arg(long, conflicts_with_all = ["run", "undo", "runs"])]
    pub preview: bool,
    /// Archive old and surplus memories now, and delete those archived long ago
    #[arg(long, conflicts_with_all = ["undo", "runs"])]
    pub run: bool,
    /// Also if a scope would lose more than half of its memories
    #[arg(long, requires = "run")]
    pub yes: bool,
    /// Bring back what a run archived; id or unique prefix
    #[arg(long, value_name = "RUN", conflicts_with = "runs")]
    pub undo: Option<String>,
    /// List runs, newest first
    #[arg(long)]
    pub runs: bool,
    /// At most this many runs
    #[arg(long, requires = "runs", value_parser = clap::value_parser!(u32).range(1..=500))]
    pub limit: Option<u32>,
}
