//! Short names for what these tests do.

use leverframe::protocol::enums::{MemoryAuthor, MemoryKind};
use leverframe::protocol::ids::{MemoryId, SessionId};
use leverframe::protocol::memory::{Memory, MemoryFilter, MemoryTarget};
use leverframe::store::commands::add_memory::{AddMemory, NewMemory};
use leverframe::store::commands::change_memory::{ChangeMemory, MemoryChange};

use crate::support::world::{World, by};

pub(crate) fn new(place: MemoryTarget, text: &str) -> NewMemory {
    NewMemory {
        id: MemoryId::generate(),
        place,
        kind: MemoryKind::Fact,
        text: text.to_owned(),
        author: MemoryAuthor::Operator,
        author_id: "anna".to_owned(),
        person_id: None,
        source: None,
        message_ref: None,
        confidence: 1.0,
        taint: Vec::new(),
        pinned: false,
        proposed: false,
        created_at: None,
        expires_at: None,
    }
}

pub(crate) fn global(text: &str) -> NewMemory {
    new(MemoryTarget::Global, text)
}

pub(crate) fn in_channel(text: &str) -> NewMemory {
    new(
        MemoryTarget::Channel {
            channel: "team".to_owned(),
        },
        text,
    )
}

pub(crate) fn in_session(session_id: SessionId, text: &str) -> NewMemory {
    new(MemoryTarget::Session { session_id }, text)
}

pub(crate) fn adding(new: NewMemory) -> AddMemory {
    AddMemory {
        new,
        by: by("anna"),
        audited: true,
    }
}

pub(crate) async fn add(world: &World, new: NewMemory) -> Memory {
    world.ok(adding(new)).await.0
}

pub(crate) fn change(id: MemoryId, change: MemoryChange) -> ChangeMemory {
    ChangeMemory {
        id,
        change,
        by: by("anna"),
    }
}

/// Texts that a search finds, best first.
pub(crate) async fn search(world: &World, text: &str) -> Vec<String> {
    let (text, now) = (text.to_owned(), world.clock.now());
    world
        .store
        .read(move |reader| reader.search_memories(&text, None, &MemoryFilter::default(), 20, now))
        .await
        .unwrap()
        .into_iter()
        .map(|hit| hit.memory.text)
        .collect()
}
