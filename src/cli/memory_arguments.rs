//! The arguments of `memory` (clap). Nothing here acts.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::protocol::enums::{MemoryKind, MemoryScope, MemoryState};
use crate::protocol::ids::SessionId;

/// `memory`.
#[derive(Debug, Subcommand)]
pub enum MemoryCommands {
    /// Show the summary that stands for the oldest turns of a session
    Summary {
        /// Id or unique prefix
        session: String,
    },
    /// Put the older turns of a session into its summary now; all but the newest turn
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
    /// How the memory is kept in order: settings, last and next run, growth; it runs by itself every 12 hours
    Hygiene(HygieneArguments),
    /// List what is remembered, newest change first
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
    /// Search; best first. Any text is a valid search
    Search {
        /// What for
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
    /// Show one
    Show {
        /// Id or unique prefix
        id: String,
    },
    /// Remember something: everywhere, or in a channel or session
    Add {
        /// What it says; `-` reads standard input
        #[arg(required = true)]
        text: Vec<String>,
        /// Only in this channel
        #[arg(long, conflicts_with = "session")]
        channel: Option<String>,
        /// Only in this session
        #[arg(long)]
        session: Option<SessionId>,
        /// What kind
        #[arg(long)]
        kind: Option<MemoryKind>,
        /// Into every context of its scope
        #[arg(long)]
        pin: bool,
        /// When it ends by itself: RFC 3339, or how long from now (2h, 3d, 1w)
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// Change the text, kind or end of one
    Edit {
        /// Id or unique prefix
        id: String,
        /// New text; `-` reads standard input
        #[arg(long)]
        text: Option<String>,
        /// New kind
        #[arg(long)]
        kind: Option<MemoryKind>,
        /// New end: RFC 3339, or how long from now (2h, 3d, 1w)
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// Put one into every context of its scope
    Pin {
        /// Id or unique prefix
        id: String,
    },
    /// No longer
    Unpin {
        /// Id or unique prefix
        id: String,
    },
    /// Accept a proposed one; `delete` refuses it
    Accept {
        /// Id or unique prefix
        id: String,
    },
    /// Say that one says better what others say: they are recalled no longer
    Supersede {
        /// Id or unique prefix of the better one
        id: String,
        /// Ids or unique prefixes of the others
        #[arg(required = true)]
        others: Vec<String>,
    },
    /// Delete one for good
    Delete {
        /// Id or unique prefix
        id: String,
    },
    /// Erase everything of a user: memories, sessions, artifacts and caches; shows first what would go
    EraseUser {
        /// Platform id of the user, for example telegram:123456
        user: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Show what waits, says the same, contradicts, or was never used
    Review {
        /// At most this many of each
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: Option<u32>,
    },
    /// Write everything that is recalled, one JSON object a line
    Export {
        /// New file; `-` writes to standard output
        #[arg(default_value = "-")]
        file: PathBuf,
        /// Which
        #[command(flatten)]
        which: Which,
    },
    /// Remember what an export holds: all of it or nothing
    Import {
        /// File; `-` reads standard input
        file: PathBuf,
    },
    /// Counts and sizes
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
    /// List what would go by scope, reason and size; changes nothing
    #[arg(long, conflicts_with_all = ["run", "undo", "runs"])]
    pub preview: bool,
    /// Archived now what is old or too much; remove for good what was archived long ago
    #[arg(long, conflicts_with_all = ["undo", "runs"])]
    pub run: bool,
    /// Also where a scope would lose more than half of what it holds to retention
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
