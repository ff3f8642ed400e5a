//! A session of any length, served in pages as the engine does it.

use std::sync::Mutex;

use async_trait::async_trait;
use leverframe::client::console_client::{ConsoleClient, EventStream};
use leverframe::protocol::event::EventFilter;
use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{
    Answer, Envelope, GetTranscript, GetTranscriptFrom, Outcome, Query,
};
use leverframe::protocol::session::TranscriptEntry;
use leverframe::protocol::snapshot::Page;

use crate::console_frames::fixture;

/// The session and what was asked about it.
pub struct LongSession {
    pub entries: Vec<TranscriptEntry>,
    pub asked: Mutex<Vec<Query>>,
    /// Pages of the transcript that are answered before the connection is lost.
    pub pages_left: Mutex<usize>,
}

impl LongSession {
    pub fn new(entries: Vec<TranscriptEntry>) -> Self {
        Self {
            entries,
            asked: Mutex::default(),
            pages_left: Mutex::new(usize::MAX),
        }
    }

    fn page(&self, from: usize, to: usize, next_cursor: Option<u64>) -> Page<TranscriptEntry> {
        Page {
            items: self.entries[from..to].to_vec(),
            next_cursor: next_cursor.map(|position| position.to_string()),
        }
    }

    /// The answer that the engine would give.
    pub fn answer(&self, query: &Query) -> Option<Answer> {
        match query {
            Query::GetSession(_) => Some(Answer::GetSession(fixture::session(
                1, "desk", "Bo", "line",
            ))),
            Query::GetTranscript(GetTranscript { before, limit, .. }) => {
                let end = before.map_or(self.entries.len(), |before| {
                    self.entries.partition_point(|e| e.position < before)
                });
                let start = end.saturating_sub(limit.unwrap_or(100) as usize);
                let next = (start > 0).then(|| self.entries[start].position);
                Some(Answer::GetTranscript(self.page(start, end, next)))
            }
            Query::GetTranscriptFrom(GetTranscriptFrom { from, limit, .. }) => {
                let start = self.entries.partition_point(|e| e.position < *from);
                let end = (start + limit.unwrap_or(100) as usize).min(self.entries.len());
                let next = self.entries.get(end).map(|entry| entry.position);
                Some(Answer::GetTranscriptFrom(self.page(start, end, next)))
            }
            _ => None,
        }
    }
}

#[async_trait]
impl ConsoleClient for LongSession {
    async fn submit(&self, _: Envelope) -> Result<Outcome, Problem> {
        Err(Problem::internal("nothing is submitted here"))
    }

    async fn query(&self, query: Query) -> Result<Answer, Problem> {
        self.asked.lock().unwrap().push(query.clone());
        if matches!(query, Query::GetTranscriptFrom(_)) {
            let mut left = self.pages_left.lock().unwrap();
            *left = left
                .checked_sub(1)
                .ok_or_else(|| Problem::internal("the connection was lost"))?;
        }
        self.answer(&query)
            .ok_or_else(|| Problem::internal("not asked here"))
    }

    async fn events(&self, _: EventFilter) -> Result<EventStream, Problem> {
        Err(Problem::internal("nothing happens here"))
    }

    fn description(&self) -> String {
        "a long session".to_owned()
    }
}
