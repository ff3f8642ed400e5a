//! Values of what is remembered.

use leverframe::protocol::enums::{
    MemoryAuthor, MemoryKind, MemoryScope, MemoryState, SearchMethod,
};
use leverframe::protocol::ids::MemoryId;
use leverframe::protocol::memory::*;
use leverframe::protocol::request::{
    AcceptMemory, AddMemory, Answer, Command, DeleteMemory, EditMemory, EraseUser, GetMemory,
    GetMemoryStats, ImportMemories, ListMemories, Outcome, PinMemory, PreviewEraseUser, Query,
    ReviewMemories, SearchMemories, SupersedeMemories,
};
use leverframe::protocol::snapshot::{Page, PageRequest};

use crate::api_http::samples::{NASTY, at, continuation_id, session_id};

pub fn id() -> MemoryId {
    MemoryId::from_bytes([9; 16])
}

pub fn memory() -> Memory {
    Memory {
        id: id(),
        scope: MemoryScope::Session,
        session_id: Some(session_id()),
        channel: Some("team".to_owned()),
        kind: MemoryKind::Preference,
        text: NASTY.to_owned(),
        author: MemoryAuthor::Model,
        author_id: NASTY.to_owned(),
        person_id: Some("telegram:1".to_owned()),
        source: Some(continuation_id()),
        message_ref: Some("7".to_owned()),
        confidence: 0.1 + 0.2,
        taint: vec![NASTY.to_owned()],
        pinned: false,
        state: MemoryState::Superseded,
        archived_by: None,
        superseded_by: Some(MemoryId::from_bytes([8; 16])),
        uses: u64::MAX,
        created_at: at(),
        updated_at: at(),
        last_used_at: Some(at()),
        expires_at: Some(at()),
    }
}

fn item() -> MemoryImport {
    MemoryImport {
        place: MemoryTarget::Channel {
            channel: "team".to_owned(),
        },
        text: NASTY.to_owned(),
        kind: Some(MemoryKind::Task),
        pinned: true,
        author: Some(MemoryAuthor::User),
        author_id: Some(NASTY.to_owned()),
        person_id: Some("telegram:1".to_owned()),
        confidence: Some(1e-9),
        created_at: Some(at()),
        expires_at: Some(at()),
    }
}

fn filter() -> MemoryFilter {
    MemoryFilter {
        scope: Some(MemoryScope::Session),
        session_id: Some(session_id()),
        channel: Some("team".to_owned()),
        state: Some(MemoryState::Proposed),
        person: Some("telegram:1".to_owned()),
        pinned: Some(false),
    }
}

pub fn erasure() -> Erasure {
    Erasure {
        person: "telegram:1".to_owned(),
        memories: 1,
        summaries: 2,
        continuations: 3,
        open: 4,
        artifacts: 5,
        datasets: 1,
        cached: 6,
        left: u64::MAX,
    }
}

pub fn commands() -> Vec<Command> {
    [
        Command::AddMemory(AddMemory {
            place: MemoryTarget::Session {
                session_id: session_id(),
            },
            text: NASTY.to_owned(),
            kind: Some(MemoryKind::Person),
            pinned: true,
            expires_at: Some(at()),
        }),
        Command::EditMemory(EditMemory {
            id: id(),
            text: Some(NASTY.to_owned()),
            kind: None,
            expires_at: None,
        }),
        Command::PinMemory(PinMemory {
            id: id(),
            pinned: false,
        }),
        Command::AcceptMemory(AcceptMemory { id: id() }),
        Command::SupersedeMemories(SupersedeMemories {
            id: id(),
            others: vec![id(), id()],
        }),
        Command::DeleteMemory(DeleteMemory { id: id() }),
        Command::EraseUser(EraseUser {
            person: "telegram:1".to_owned(),
        }),
        Command::ImportMemories(ImportMemories {
            items: vec![item()],
        }),
    ]
    .into()
}

pub fn outcomes() -> Vec<Outcome> {
    [
        Outcome::AddMemory(memory()),
        Outcome::EditMemory(memory()),
        Outcome::PinMemory(memory()),
        Outcome::AcceptMemory(memory()),
        Outcome::SupersedeMemories(memory()),
        Outcome::DeleteMemory(id()),
        Outcome::EraseUser(erasure()),
        Outcome::ImportMemories(MemoryImportResult { added: 1, known: 2 }),
    ]
    .into()
}

pub fn stats() -> MemoryStats {
    MemoryStats {
        groups: vec![MemoryGroup {
            scope: MemoryScope::Global,
            channel: None,
            state: MemoryState::Active,
            count: 1,
            pinned: 2,
            bytes: u64::MAX,
        }],
        embeddings: Some(NASTY.to_owned()),
        ..MemoryStats::default()
    }
}

pub fn queries() -> Vec<(Query, Answer)> {
    let page = PageRequest {
        limit: Some(7),
        cursor: Some("c".to_owned()),
    };
    vec![
        (
            Query::GetMemoryStats(GetMemoryStats {}),
            Answer::GetMemoryStats(stats()),
        ),
        (
            Query::ListMemories(ListMemories {
                filter: filter(),
                page,
            }),
            Answer::ListMemories(Page {
                items: vec![memory()],
                next_cursor: Some(NASTY.to_owned()),
            }),
        ),
        (
            Query::SearchMemories(SearchMemories {
                text: "what's \"up\"?".to_owned(),
                filter: filter(),
                limit: Some(3),
            }),
            Answer::SearchMemories(MemoryMatch {
                items: vec![MemoryHit {
                    memory: memory(),
                    found_by: SearchMethod::Both,
                }],
                next_cursor: None,
                words_only: Some(NASTY.to_owned()),
            }),
        ),
        (
            Query::GetMemory(GetMemory { id: id() }),
            Answer::GetMemory(memory()),
        ),
        (
            Query::ReviewMemories(ReviewMemories { limit: None }),
            Answer::ReviewMemories(MemoryReview {
                duplicates: vec![vec![memory()]],
                ..MemoryReview::default()
            }),
        ),
        (
            Query::PreviewEraseUser(PreviewEraseUser {
                person: "telegram:1".to_owned(),
            }),
            Answer::PreviewEraseUser(erasure()),
        ),
    ]
}
