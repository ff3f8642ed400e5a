//! Memory: what people do with it, and what it answers.
//!
//! Secrets are taken out of every text before it is stored, whoever wrote it.

use crate::clock::Timestamp;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::embeddings::{self, Searcher};
use crate::protocol::command::Actor;
use crate::protocol::enums::{MemoryAuthor, MemoryKind};
use crate::protocol::ids::MemoryId;
use crate::protocol::memory::Memory;
use crate::protocol::memory::{
    MAX_IMPORT, MAX_TEXT, MemoryFilter, MemoryImport, MemoryImportResult, MemoryMatch,
    MemoryReview, MemoryStats,
};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{self, EditMemory};
use crate::store::commands::add_memory::{AddMemory, NewMemory};
use crate::store::commands::change_memory::{ChangeMemory, MemoryChange};
use crate::store::commands::import_memories::ImportMemories;

/// Writes one.
pub async fn add(
    engine: &Engine,
    caller: &Caller,
    memory: request::AddMemory,
) -> Result<Memory, Problem> {
    check_end(engine, memory.expires_at)?;
    let item = MemoryImport {
        place: memory.place,
        text: memory.text,
        kind: memory.kind,
        pinned: memory.pinned,
        author: None,
        author_id: None,
        person_id: None,
        confidence: None,
        created_at: None,
        expires_at: memory.expires_at,
    };
    let new = new(engine, caller, item)?;
    let write = AddMemory {
        new,
        by: caller.reference(),
        audited: true,
    };
    let (memory, _) = engine.write(write).await?;
    Ok(memory)
}

/// Changes one; what is absent stays.
pub async fn edit(
    engine: &Engine,
    caller: &Caller,
    EditMemory {
        id,
        text,
        kind,
        expires_at,
    }: EditMemory,
) -> Result<Memory, Problem> {
    if text.is_none() && kind.is_none() && expires_at.is_none() {
        return Err(Problem::invalid(
            "nothing to change: give a text, a kind or an end",
        ));
    }
    check_end(engine, expires_at)?;
    let text = text.map(|text| checked(engine, &text)).transpose()?;
    let edit = MemoryChange::Edit {
        text,
        kind,
        expires_at,
    };
    change(engine, caller, id, edit).await
}

/// One says it better than others: they are superseded.
pub async fn supersede(
    engine: &Engine,
    caller: &Caller,
    id: MemoryId,
    others: Vec<MemoryId>,
) -> Result<Memory, Problem> {
    if others.is_empty() || others.len() > MAX_OTHERS {
        return Err(Problem::invalid(format!(
            "name 1 to {MAX_OTHERS} memories that this one replaces"
        )));
    }
    change(engine, caller, id, MemoryChange::Supersede(others)).await
}

/// Most memories that one replaces at once.
const MAX_OTHERS: usize = 100;

/// Changes one in one way.
pub async fn change(
    engine: &Engine,
    caller: &Caller,
    id: MemoryId,
    change: MemoryChange,
) -> Result<Memory, Problem> {
    let by = caller.reference();
    engine.write(ChangeMemory { id, change, by }).await
}

/// A text without secrets that may be stored.
fn checked(engine: &Engine, text: &str) -> Result<String, Problem> {
    if text.len() > MAX_TEXT {
        return Err(Problem::invalid(format!(
            "the text has {} bytes; a remembered one has at most {MAX_TEXT}",
            text.len()
        ))
        .hint("shorten it, or put it into a file of the channel's workspace"));
    }
    let text = crate::text::fold::kept(&engine.redactor.redact(text));
    if text.is_empty() {
        return Err(Problem::invalid(
            "there is nothing to remember: the text is empty",
        ));
    }
    Ok(text)
}

fn check_end(engine: &Engine, expires_at: Option<Timestamp>) -> Result<(), Problem> {
    match expires_at {
        Some(end) if end <= engine.clock.now() => Err(Problem::invalid(format!(
            "expires_at: {end} is over already"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// What is stored for a line of an import, or for what somebody wrote here.
fn new(engine: &Engine, caller: &Caller, item: MemoryImport) -> Result<NewMemory, Problem> {
    let confidence = item.confidence.unwrap_or(1.0);
    if !(0.0..=1.0).contains(&confidence) {
        return Err(Problem::invalid(format!(
            "confidence: {confidence} is not between 0 and 1"
        )));
    }
    let person = match &caller.actor {
        Actor::Person { platform_id, .. } => Some(platform_id.clone()),
        Actor::Operator { .. } | Actor::Token { .. } | Actor::Engine => None,
    };
    let short = |text: String, what: &str| {
        if text.is_empty() || text.len() > 255 {
            return Err(Problem::invalid(format!("{what}: expected 1 to 255 bytes")));
        }
        Ok(text)
    };
    Ok(NewMemory {
        id: MemoryId::generate(),
        place: item.place,
        kind: item.kind.unwrap_or(MemoryKind::Fact),
        text: checked(engine, &item.text)?,
        author: item.author.unwrap_or(MemoryAuthor::Operator),
        author_id: match item.author_id {
            Some(id) => short(id, "author_id")?,
            None => caller.actor.label(),
        },
        person_id: match item.person_id {
            Some(id) => Some(short(id, "person_id")?),
            None => person,
        },
        source: None,
        message_ref: None,
        confidence,
        taint: Vec::new(),
        pinned: item.pinned,
        proposed: false,
        created_at: item.created_at.map(|at| at.min(engine.clock.now())),
        expires_at: item.expires_at,
    })
}

/// Writes many: all of them or none.
pub async fn import(
    engine: &Engine,
    caller: &Caller,
    items: Vec<MemoryImport>,
) -> Result<MemoryImportResult, Problem> {
    if items.is_empty() || items.len() > MAX_IMPORT {
        return Err(Problem::invalid(format!(
            "an import has {} items; 1 to {MAX_IMPORT} are taken at once",
            items.len()
        ))
        .hint("nothing was imported; split a longer file"));
    }
    let items = items
        .into_iter()
        .enumerate()
        .map(|(n, item)| {
            new(engine, caller, item).map_err(|problem| Problem {
                detail: format!("item {}: {}", n + 1, problem.detail),
                hint: Some("nothing was imported".to_owned()),
                ..problem
            })
        })
        .collect::<Result<_, _>>()?;
    let by = caller.reference();
    engine.write(ImportMemories { items, by }).await
}

/// Counts and sizes.
pub async fn stats(engine: &Engine) -> Result<MemoryStats, Problem> {
    let stats = engine.read(|reader| reader.memory_stats()).await?;
    let stats = embeddings::stats(engine, stats).await?;
    Ok(MemoryStats {
        recalls: engine.embeddings.recalls(),
        ..stats
    })
}

/// What is remembered of something, best first.
pub async fn search(
    engine: &Engine,
    text: String,
    filter: MemoryFilter,
    limit: Option<u32>,
) -> Result<MemoryMatch, Problem> {
    let limit = few(limit)?;
    let now = engine.clock.now();
    let (meaning, words_only) = match embeddings::meaning(engine, &text, Searcher::Person).await {
        Ok(meaning) => (meaning, None),
        Err(why) => (None, Some(why)),
    };
    let items = engine
        .read(move |reader| reader.search_memories(&text, meaning.as_deref(), &filter, limit, now))
        .await?;
    Ok(MemoryMatch {
        items,
        next_cursor: None,
        words_only,
    })
}

/// What a person should look through.
pub async fn review(engine: &Engine, limit: Option<u32>) -> Result<MemoryReview, Problem> {
    let limit = few(limit)?;
    let now = engine.clock.now();
    engine
        .read(move |reader| reader.memory_review(limit, now))
        .await
}

/// 1 to 200, default 20.
fn few(limit: Option<u32>) -> Result<u32, Problem> {
    match limit.unwrap_or(20) {
        limit @ 1..=200 => Ok(limit),
        limit => Err(Problem::new(
            ProblemKind::Invalid,
            "invalid request",
            format!("limit: {limit} is not from 1 to 200"),
        )),
    }
}
