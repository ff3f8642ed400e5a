//! `leverframe memory …`: looking at what is remembered, changing and deleting it, taking it out and in.

use std::io::Read as _;

use crate::cli::compaction;
use crate::cli::exit::Failure;
use crate::cli::find::{self, submit};
use crate::cli::hygiene;
use crate::cli::memory_arguments::{MemoryCommands, Which};
use crate::cli::table;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::cli::{memory_erase, memory_lines};
use crate::client::console_client::ConsoleClient;
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
pub async fn run(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    command: MemoryCommands,
) -> Result<(), Failure> {
    match command {
        MemoryCommands::Summary { session } => {
            let session = find::session(client, &session).await?;
            compaction::summary(client, terminal, format, session).await
        }
        MemoryCommands::Compact { session } => {
            let session = find::session(client, &session).await?;
            compaction::compact(client, terminal, format, session).await
        }
        MemoryCommands::Compactions { session, limit } => {
            let session_id = match session {
                Some(session) => Some(find::session(client, &session).await?),
                None => None,
            };
            compaction::list(client, terminal, format, session_id, limit).await
        }
        MemoryCommands::Hygiene(given) => hygiene::run(client, terminal, format, given).await,
        MemoryCommands::List {
            state,
            which,
            limit,
        } => {
            let page = PageRequest {
                limit,
                cursor: None,
            };
            let filter = filter(which, state);
            let page = client.call(ListMemories { filter, page }).await?;
            table::page(terminal, format, &page)
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
            let found = client.call(query).await?;
            hits(terminal, format, &found)
        }
        MemoryCommands::Show { id } => {
            let id = find::memory(client, &id).await?;
            let memory = client.call(GetMemory { id }).await?;
            show(terminal, format, &memory)
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
                text: given(terminal, text.join(" "))?,
                kind,
                pinned: pin,
                expires_at: end(expires.as_deref())?,
            };
            change(client, terminal, format, command).await
        }
        MemoryCommands::Edit {
            id,
            text,
            kind,
            expires,
        } => {
            let text = text.map(|text| given(terminal, text)).transpose()?;
            let command = EditMemory {
                id: find::memory(client, &id).await?,
                text,
                kind,
                expires_at: end(expires.as_deref())?,
            };
            change(client, terminal, format, command).await
        }
        MemoryCommands::Pin { id } => pin(client, terminal, format, &id, true).await,
        MemoryCommands::Unpin { id } => pin(client, terminal, format, &id, false).await,
        MemoryCommands::Accept { id } => {
            let id = find::memory(client, &id).await?;
            change(client, terminal, format, AcceptMemory { id }).await
        }
        MemoryCommands::Supersede { id, others } => {
            let id = find::memory(client, &id).await?;
            let mut found = Vec::with_capacity(others.len());
            for other in &others {
                found.push(find::memory(client, other).await?);
            }
            let others = found;
            change(client, terminal, format, SupersedeMemories { id, others }).await
        }
        MemoryCommands::Delete { id } => {
            let id = find::memory(client, &id).await?;
            delete(client, terminal, format, id).await
        }
        MemoryCommands::EraseUser { user, yes } => {
            memory_erase::user(client, terminal, format, user, yes).await
        }
        MemoryCommands::Review { limit } => {
            let found = client.call(ReviewMemories { limit }).await?;
            review(terminal, format, &found)
        }
        MemoryCommands::Export { file, which } => {
            let filter = filter(which, Some(MemoryState::Active));
            memory_lines::export(client, terminal, &file, &filter).await
        }
        MemoryCommands::Import { file } => {
            memory_lines::import(client, terminal, format, &file).await
        }
        MemoryCommands::Stats => {
            let found = client.call(GetMemoryStats {}).await?;
            stats(terminal, format, &found)
        }
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
        return Err(Failure::Usage(format!(
            "the text has {} bytes{}; a remembered one has at most {MAX_TEXT}: shorten it, or keep it in a file",
            read.len(),
            if read.len() == MAX_TEXT * 1024 {
                " or more"
            } else {
                ""
            }
        )));
    }
    Ok(read)
}

fn end(text: Option<&str>) -> Result<Option<Timestamp>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let end = duration::time(text).or_else(|| {
        duration::seconds(text).map(|seconds| Clock::System.now().plus_seconds(seconds))
    });
    end.map(Some).ok_or_else(|| {
        Failure::Usage(format!(
            "--expires {}: expected a time like 2026-01-31T12:00:00Z, or how long from now: 2h, 3d, 1w",
            limit_line(text, 64)
        ))
    })
}

async fn change<C>(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    command: C,
) -> Result<(), Failure>
where
    C: Request<Wire = Command, Answer = Outcome, Reply = Memory>,
{
    let memory = submit(client, command).await?;
    show(terminal, format, &memory)
}

async fn pin(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    id: &str,
    pinned: bool,
) -> Result<(), Failure> {
    let id = find::memory(client, id).await?;
    change(client, terminal, format, PinMemory { id, pinned }).await
}

async fn delete(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    id: MemoryId,
) -> Result<(), Failure> {
    let id = submit(client, DeleteMemory { id }).await?;
    match format {
        Format::Json => terminal.json(&serde_json::json!({ "id": id })),
        Format::Human => terminal.line(&format!("{id}  deleted for good")),
    }
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
fn hits(terminal: &mut Terminal<'_>, format: Format, found: &MemoryMatch) -> Result<(), Failure> {
    let items = &found.items;
    if format == Format::Json {
        items.iter().try_for_each(|hit| terminal.json(hit))?;
    } else if items.iter().all(|hit| hit.found_by == SearchMethod::Words) {
        let memories: Vec<Memory> = items.iter().map(|hit| hit.memory.clone()).collect();
        table::list(terminal, format, &memories)?;
    } else {
        let heads = ["ID", "WHERE", "STATE", "FOUND BY", "TEXT"];
        let rows: Vec<Vec<String>> = items
            .iter()
            .map(|hit| {
                let mut cells = hit.memory.cells();
                cells.splice(3..6, [hit.found_by.to_string()]);
                cells
            })
            .collect();
        table::print(terminal, &heads, &rows, "nothing remembered")?;
    }
    match &found.words_only {
        Some(why) => terminal.note(&format!("searched by words only: {}", cell(why))),
        None => Ok(()),
    }
}

fn show(terminal: &mut Terminal<'_>, format: Format, memory: &Memory) -> Result<(), Failure> {
    if format == Format::Json {
        return terminal.json(memory);
    }
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

fn review(
    terminal: &mut Terminal<'_>,
    format: Format,
    found: &MemoryReview,
) -> Result<(), Failure> {
    if format == Format::Json {
        return terminal.json(found);
    }
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
        table::list(terminal, Format::Human, &memories)?;
    }
    if !any {
        terminal.note("nothing to review")?;
    }
    Ok(())
}

fn stats(terminal: &mut Terminal<'_>, format: Format, stats: &MemoryStats) -> Result<(), Failure> {
    if format == Format::Json {
        return terminal.json(stats);
    }
    let rows: Vec<Vec<String>> = stats
        .groups
        .iter()
        .map(|group| {
            vec![
                group.scope.to_string(),
                group.channel.as_deref().map_or_else(String::new, cell),
                group.state.to_string(),
                group.count.to_string(),
                group.pinned.to_string(),
                group.bytes.to_string(),
            ]
        })
        .collect();
    let heads = ["SCOPE", "CHANNEL", "STATE", "COUNT", "PINNED", "BYTES"];
    table::print(terminal, &heads, &rows, "nothing remembered")?;
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
