//! Searches the parts of a transcript that are not loaded, page by page. Nothing here keeps a page except the one with
//! the match.

use std::collections::BTreeSet;

use crate::clock::Timestamp;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::protocol::request::{GetTranscript, GetTranscriptFrom, Query};
use crate::protocol::session::{StepBody, TranscriptBody, TranscriptEntry};
use crate::tui::state::entries;
use crate::tui::state::jump_target::JumpTarget;

/// Entries asked for at once; also what tells its pages from those that are only scrolled to.
pub const SEARCH_PAGE: u32 = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchTarget {
    /// These words, in small letters.
    Words(String),
    /// The next one of its kind.
    JumpTarget(JumpTarget),
    /// The first entry of this turn.
    Turn(ContinuationId),
    /// The step that proposed this call.
    Call(ToolCallId),
    /// The first entry of all.
    Start,
}

impl SearchTarget {
    /// Whether an entry is it.
    pub fn is(&self, entry: &TranscriptEntry) -> bool {
        match self {
            Self::Words(words) => search_text(entry).to_lowercase().contains(words),
            Self::JumpTarget(jump_target) => jump_target.is(entry),
            Self::Turn(id) => entry.continuation_id == *id,
            Self::Call(id) => entries::calls(entry).iter().any(|call| call.id == *id),
            Self::Start => true,
        }
    }

    /// What was not found, in words.
    pub fn words(&self) -> &str {
        match self {
            Self::Words(_) => "match",
            Self::JumpTarget(jump_target) => jump_target.word(),
            Self::Turn(_) => "entry of this turn",
            Self::Call(_) => "step with this call",
            Self::Start => "entry",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundSearch {
    pub target: SearchTarget,
    /// Towards newer entries.
    pub forward: bool,
    /// Entries looked at.
    pub searched: u64,
    /// When the last one of them was.
    pub reached: Option<Timestamp>,
    /// Where it goes on: entries before this position, or from it on.
    edge: u64,
    asked: bool,
}

/// What a page brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// It is at this position of the page.
    At(u64),
    /// It is not there; the next page is to be asked for.
    NotYet,
    /// It is nowhere in this direction.
    Nowhere,
}

impl BackgroundSearch {
    /// Begins at an edge of what is loaded.
    pub fn new(target: SearchTarget, forward: bool, edge: u64) -> Self {
        Self {
            target,
            forward,
            searched: 0,
            reached: None,
            edge,
            asked: false,
        }
    }

    fn page(&self, session_id: SessionId) -> Query {
        let limit = Some(SEARCH_PAGE);
        if self.forward {
            Query::GetTranscriptFrom(GetTranscriptFrom {
                session_id,
                from: self.edge,
                limit,
            })
        } else {
            Query::GetTranscript(GetTranscript {
                session_id,
                before: Some(self.edge),
                limit,
            })
        }
    }

    /// The query for the next page, when it is not under way.
    pub fn ask(&mut self, session_id: SessionId) -> Option<Query> {
        let asked = std::mem::replace(&mut self.asked, true);
        (!asked).then(|| self.page(session_id))
    }

    /// Whether this is the page that is awaited.
    pub fn has(&self, session_id: SessionId, query: &Query) -> bool {
        self.asked && self.page(session_id) == *query
    }

    pub fn look(&mut self, entries: &[TranscriptEntry]) -> Found {
        self.asked = false;
        let visible = visible_of(entries.iter());
        let is = |position: &&u64| {
            let found = entries.binary_search_by_key(*position, |entry| entry.position);
            found
                .ok()
                .and_then(|index| entries.get(index))
                .is_some_and(|entry| self.target.is(entry))
        };
        // The first entry of a turn is what is gone to, and of a page that ends with it, the first one there.
        let first =
            matches!(self.target, SearchTarget::Turn(_) | SearchTarget::Start) || self.forward;
        let hit = if first {
            visible.iter().find(is)
        } else {
            visible.iter().rev().find(is)
        };
        if let Some(position) = hit {
            return Found::At(*position);
        }
        self.searched += entries.len() as u64;
        let edge = if self.forward {
            entries.last()
        } else {
            entries.first()
        };
        match edge {
            Some(entry) if entries.len() >= SEARCH_PAGE as usize => {
                self.reached = Some(entry.at);
                self.edge = entry.position + u64::from(self.forward);
                Found::NotYet
            }
            _ => Found::Nowhere,
        }
    }
}

/// Positions of entries that are drawn: all but results that a tool card among them shows.
pub fn visible_of<'e>(all: impl Iterator<Item = &'e TranscriptEntry> + Clone) -> Vec<u64> {
    let calls = all.clone().flat_map(entries::calls);
    let shown_calls: BTreeSet<ToolCallId> = calls.map(|call| call.id).collect();
    let is_visible = |entry: &&TranscriptEntry| match entries::step(entry) {
        Some((step, _)) => match &step.body {
            StepBody::ToolResult { call_id, .. } => !shown_calls.contains(call_id),
            StepBody::Model { .. }
            | StepBody::OperatorNote { .. }
            | StepBody::Final { .. }
            | StepBody::Error { .. } => true,
        },
        None => true,
    };
    let visible = all.filter(is_visible);
    visible.map(|entry| entry.position).collect()
}

/// Everything of an entry that search looks at.
pub fn search_text(entry: &TranscriptEntry) -> String {
    match &entry.body {
        TranscriptBody::User { sender, text } => format!("{sender}\n{text}"),
        TranscriptBody::Step { step, tool_calls } => {
            let mut out = match &step.body {
                StepBody::Model { text, .. }
                | StepBody::Final { text, .. }
                | StepBody::OperatorNote { text, .. } => text.clone(),
                StepBody::ToolResult { name, content, .. } => format!("{name}\n{content}"),
                StepBody::Error { error } => format!("{}\n{}", error.code, error.message),
            };
            for call in tool_calls {
                out.push('\n');
                out.push_str(&call.name);
                out.push('\n');
                out.push_str(&call.args.to_string());
                if let Some(result) = &call.result {
                    out.push('\n');
                    out.push_str(result);
                }
            }
            out
        }
        TranscriptBody::State { state, error } => {
            format!(
                "{state} {}",
                error.as_ref().map_or("", |e| e.message.as_str())
            )
        }
        TranscriptBody::Compacted { .. } => "compacted".to_owned(),
    }
}
