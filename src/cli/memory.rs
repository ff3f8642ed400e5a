//! `leverframe memory …`: looking at what is remembered, changing and deleting it, taking it out and in.

use std::io::Read as _;

use crate::cli::compaction;
use crate::cli::exit::{Failure, usage};
use crate::cli::find::{self, submit};
use crate::cli::hygiene;
use crate::cli::list;
use crate::cli::memory_arguments::{MemoryCommands, Which};
use crate::cli::table;
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::cli::{memory_erase, memory_lines};
use crate::client::listing::TableRow;
use crate::clock::{Clock, Timestamp};
use crate::protocol::duration;
use crate::protocol::enums::{MemoryScope, MemoryState, SearchMethod};
use crate::protocol::ids::MemoryId;
use crate::protocol::memory::{
    MAX_TEXT, Memory, MemoryFilter, MemoryMatch, MemoryReview, MemoryStats, MemoryTarget,
};
use crate::protocol::request::Request;
use crate::protocol::request::{
    AcceptMemory, AddMemory, Command, DeleteMemory, EditMemory, GetMemory, GetMemoryStats,
    ListMemories, Outcome, PinMemory, ReviewMemories, SearchMemories, SupersedeMemories,
};
use crate::protocol::snapshot::PageRequest;
use crate::text::untrusted::{limit_line, reveal};

/// Carries out one of the commands.
pub async fn run(cli: &mut Cli<'_>, command: MemoryCommands) -> Result<(), Failure> {
    match command {
        MemoryCommands::Summary { session } => {
            let session = find::session(cli.client, &session).await?;
            compaction::summary(cli, session).await
        }
        MemoryCommands::Compact { session } => {
            let session = find::session(cli.client, &session).await?;
            compaction::compact(cli, session).await
        }
        MemoryCommands::Compactions { session, limit } => {
            let session_id = match session {
                Some(session) => Some(find::session(cli.client, &session).await?),
                None => None,
            };
            compaction::list(cli, session_id, limit).await
        }
        MemoryCommands::Hygiene(given) => hygiene::run(cli, given).await,
        MemoryCommands::List {
            state,
            which,
            limit,
        } => {
            let page = PageRequest::first(limit);
            let filter = filter(which, state);
            list::run(cli, ListMemories { filter, page }, false).await
        }
        MemoryCommands::Search {
            text,
            state,
            which,
            limit,
        } => {
            let query = SearchMemories {
                text: text.join(" "),
                filter: filter(which, state),
                limit,
            };
            let found = cli.client.call(query).await?;
            hits(&mut cli.terminal, &found)
        }
        MemoryCommands::Show { id } => {
            let id = find::memory(cli.client, &id).await?;
            cli.query(GetMemory { id }, show).await
        }
        MemoryCommands::Add {
            text,
            channel,
            session,
            kind,
            pin,
            expires,
        } => {
            let place = match (channel, session) {
                (_, Some(session_id)) => MemoryTarget::Session { session_id },
                (Some(channel), None) => MemoryTarget::Channel { channel },
                (None, None) => MemoryTarget::Global,
            };
            let command = AddMemory {
                place,
                text: given(&mut cli.terminal, text.join(" "))?,
                kind,
                pinned: pin,
                expires_at: end(expires.as_deref())?,
            };
            change(cli, command).await
        }
        MemoryCommands::Edit {
            id,
            text,
            kind,
            expires,
        } => {
            let text = text
                .map(|text| given(&mut cli.terminal, text))
                .transpose()?;
            let command = EditMemory {
                id: find::memory(cli.client, &id).await?,
                text,
                kind,
                expires_at: end(expires.as_deref())?,
            };
            change(cli, command).await
        }
        MemoryCommands::Pin { id } => pin(cli, &id, true).await,
        MemoryCommands::Unpin { id } => pin(cli, &id, false).await,
        MemoryCommands::Accept { id } => {
            let id = find::memory(cli.client, &id).await?;
            change(cli, AcceptMemory { id }).await
        }
        MemoryCommands::Supersede { id, others } => {
            let id = find::memory(cli.client, &id).await?;
            let mut found = Vec::with_capacity(others.len());
            for other in &others {
                found.push(find::memory(cli.client, other).await?);
            }
            let others = found;
            change(cli, SupersedeMemories { id, others }).await
        }
        MemoryCommands::Delete { id } => {
            let id = find::memory(cli.client, &id).await?;
            delete(cli, id).await
        }
        MemoryCommands::EraseUser { user, yes } => memory_erase::user(cli, user, yes).await,
        MemoryCommands::Review { limit } => cli.query(ReviewMemories { limit }, review).await,
        MemoryCommands::Export { file, which } => {
            let filter = filter(which, Some(MemoryState::Active));
            memory_lines::export(cli, &file, &filter).await
        }
        MemoryCommands::Import { file } => memory_lines::import(cli, &file).await,
        MemoryCommands::Stats => cli.query(GetMemoryStats {}, stats).await,
    }
}

fn filter(which: Which, state: Option<MemoryState>) -> MemoryFilter {
    MemoryFilter {
        scope: which.scope,
        session_id: which.session,
        channel: which.channel,
        state,
        person: which.person,
        pinned: which.pinned.then_some(true),
    }
}

/// The text given, or that of standard input; no longer than one may be.
fn given(terminal: &mut Terminal<'_>, text: String) -> Result<String, Failure> {
    let mut read = text;
    if read == "-" {
        read = String::new();
        let most = MAX_TEXT as u64 * 1024;
        terminal.input.take(most).read_to_string(&mut read)?;
    }
    if read.len() > MAX_TEXT {
        return Err(usage!(
            "the text has {} bytes{}; a remembered one has at most {MAX_TEXT}: shorten it, or keep it in a file",
            read.len(),
            if read.len() == MAX_TEXT * 1024 {
                " or more"
            } else {
                ""
            }
        ));
    }
    Ok(read)
}

fn end(text: Option<&str>) -> Result<Option<Timestamp>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let end = duration::time(text).or_else(|| {
        duration::seconds(text).map(|seconds| Clock::System.now().plus_seconds(seconds))
    });
    end.map(Some).ok_or_else(|| {
        usage!(
            "--expires {}: expected a time like 2026-01-31T12:00:00Z, or how long from now: 2h, 3d, 1w",
            limit_line(text, 64)
        )
    })
}

async fn change<C>(cli: &mut Cli<'_>, command: C) -> Result<(), Failure>
where
    C: Request<Wire = Command, Answer = Outcome, Reply = Memory>,
{
    cli.submit(command, show).await
}

async fn pin(cli: &mut Cli<'_>, id: &str, pinned: bool) -> Result<(), Failure> {
    let id = find::memory(cli.client, id).await?;
    change(cli, PinMemory { id, pinned }).await
}

async fn delete(cli: &mut Cli<'_>, id: MemoryId) -> Result<(), Failure> {
    let id = submit(cli.client, DeleteMemory { id }).await?;
    cli.terminal
        .show_line(&serde_json::json!({ "id": id }), || {
            format!("{id}  deleted for good")
        })
}

/// Where one is recalled, in a few words.
fn place(memory: &Memory) -> String {
    match (memory.scope, &memory.channel) {
        (MemoryScope::Global, _) | (_, None) => "everywhere".to_owned(),
        (MemoryScope::Channel, Some(channel)) => format!("channel {}", cell(channel)),
        (MemoryScope::Session, Some(channel)) => format!("session on {}", cell(channel)),
    }
}

impl TableRow for Memory {
    const HEADS: &'static [&'static str] = &["ID", "WHERE", "STATE", "KIND", "BY", "USES", "TEXT"];
    const NOTHING: &'static str = "nothing remembered";

    fn cells(&self) -> Vec<String> {
        let pin = if self.pinned { " pinned" } else { "" };
        vec![
            self.id.to_string(),
            place(self),
            format!("{}{pin}", self.state),
            self.kind.to_string(),
            cell(&self.author_id),
            self.uses.to_string(),
            limit_line(&self.text, 60),
        ]
    }
}

/// What a search found; how, where meaning was looked for.
fn hits(terminal: &mut Terminal<'_>, found: &MemoryMatch) -> Result<(), Failure> {
    let items = &found.items;
    if terminal.format == Format::Json {
        items.iter().try_for_each(|hit| terminal.json(hit))?;
    } else if items.iter().all(|hit| hit.found_by == SearchMethod::Words) {
        let memories: Vec<Memory> = items.iter().map(|hit| hit.memory.clone()).collect();
        table::list(terminal, &memories)?;
    } else {
        let heads = ["ID", "WHERE", "STATE", "FOUND BY", "TEXT"];
        table::rows(terminal, &heads, "nothing remembered", items, |hit| {
            let mut cells = hit.memory.cells();
            cells.splice(3..6, [hit.found_by.to_string()]);
            cells
        })?;
    }
    match &found.words_only {
        Some(why) => terminal.note(&format!("searched by words only: {}", cell(why))),
        None => Ok(()),
    }
}

fn show(terminal: &mut Terminal<'_>, memory: &Memory) -> Result<(), Failure> {
    let pin = if memory.pinned { ", pinned" } else { "" };
    terminal.line(&format!(
        "{}  {} {}{pin}, {}",
        memory.id,
        memory.state,
        memory.kind,
        place(memory)
    ))?;
    let from = memory
        .person_id
        .as_ref()
        .map_or_else(String::new, |person| format!(", from {}", cell(person)));
    terminal.line(&format!(
        "by        {} {}{from}, confidence {:.2}",
        memory.author,
        cell(&memory.author_id),
        memory.confidence
    ))?;
    let mut times = format!("written   {}", memory.created_at);
    if memory.updated_at != memory.created_at {
        times.push_str(&format!(", changed {}", memory.updated_at));
    }
    if let Some(end) = memory.expires_at {
        times.push_str(&format!(", ends {end}"));
    }
    terminal.line(&times)?;
    let last = memory
        .last_used_at
        .map_or_else(String::new, |at| format!(", last {at}"));
    terminal.line(&format!("used      {} times{last}", memory.uses))?;
    if let Some(source) = memory.source {
        terminal.line(&format!("source    {source}"))?;
    }
    if let Some(by) = memory.superseded_by {
        terminal.line(&format!("replaced  by {by}"))?;
    }
    for taint in &memory.taint {
        terminal.line(&format!("tainted   {}", cell(taint)))?;
    }
    terminal.line(&format!("text      {}", reveal(&memory.text)))
}

fn review(terminal: &mut Terminal<'_>, found: &MemoryReview) -> Result<(), Failure> {
    let groups = |groups: &[Vec<Memory>]| groups.concat();
    let lists = [
        ("proposed: accept or delete each", found.proposed.clone()),
        (
            "say the same: supersede the others",
            groups(&found.duplicates),
        ),
        (
            "seem to contradict each other",
            groups(&found.contradictions),
        ),
        ("unused for a week", found.never_used.clone()),
    ];
    let mut any = false;
    for (title, memories) in lists {
        if memories.is_empty() {
            continue;
        }
        if any {
            terminal.line("")?;
        }
        any = true;
        terminal.line(title)?;
        table::list(terminal, &memories)?;
    }
    if !any {
        terminal.note("nothing to review")?;
    }
    Ok(())
}

fn stats(terminal: &mut Terminal<'_>, stats: &MemoryStats) -> Result<(), Failure> {
    let heads = ["SCOPE", "CHANNEL", "STATE", "COUNT", "PINNED", "BYTES"];
    table::rows(
        terminal,
        &heads,
        "nothing remembered",
        &stats.groups,
        |group| {
            vec![
                group.scope.to_string(),
                group.channel.as_deref().map_or_else(String::new, cell),
                group.state.to_string(),
                group.count.to_string(),
                group.pinned.to_string(),
                group.bytes.to_string(),
            ]
        },
    )?;
    terminal.line(&format!(
        "summaries {} standing for {} turns; compactions {} done, {} failed",
        stats.summaries, stats.covered, stats.compactions, stats.failed_compactions
    ))?;
    let embeddings = stats.embeddings.as_deref().map_or_else(
        || "off".to_owned(),
        |model| {
            let waiting = match stats.unembedded {
                0 => String::new(),
                count => format!(", {count} memories wait for theirs"),
            };
            format!("{} by {}{waiting}", stats.vectors, cell(model))
        },
    );
    if let Some(error) = &stats.embedding_error {
        terminal.line(&format!(
            "embedding failed {} times since the start, last: {}",
            stats.embedding_failures,
            cell(error)
        ))?;
    }
    terminal.line(&format!(
        "embeddings {embeddings}; searches of the agent since the start {}",
        stats.recalls
    ))
}
