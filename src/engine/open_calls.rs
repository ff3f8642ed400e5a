//! The model calls of turns while they are under way: what each costs so far, and what was shown of its answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::engine::lock::lock;
use crate::engine::turn::chat_progress::ChatProgress;
use crate::protocol::ids::{ContinuationId, ModelAttemptId};
use crate::protocol::session::Usage;
use crate::protocol::snapshot::OpenStream;

/// A model call under way.
#[derive(Debug, Clone)]
pub struct OpenCall {
    pub attempt_id: ModelAttemptId,
    /// `<provider>/<model>`.
    pub model: String,
    /// Number of the try, from 1.
    pub attempt: u32,
    /// Estimated input tokens.
    pub input_tokens: u64,
    /// Signs of life that showed no text: reasoning or arguments under way, at least a token each.
    pub signs: u64,
    /// When it began.
    pub started: Instant,
    /// What it used, once its answer is complete.
    pub usage: Option<Usage>,
}

/// What a turn has under way.
#[derive(Debug, Default)]
struct Live {
    call: Option<OpenCall>,
    stream: Option<OpenStream>,
    /// How long it waited for a place among a provider's calls, until its driver takes it off its time.
    waited: Option<Duration>,
    /// What a chat sees of it.
    progress: Option<Arc<ChatProgress>>,
}

/// The model calls of all turns.
#[derive(Debug, Default)]
pub struct OpenCalls {
    turns: Mutex<HashMap<ContinuationId, Live>>,
}

impl OpenCalls {
    fn with<T>(&self, id: ContinuationId, act: impl FnOnce(&mut Live) -> T) -> Option<T> {
        lock(&self.turns).get_mut(&id).map(act)
    }

    /// A turn's call begins.
    pub fn begin(&self, id: ContinuationId, call: OpenCall) {
        lock(&self.turns).entry(id).or_default().call = Some(call);
    }

    /// Changes the open call of a turn.
    pub fn update(&self, id: ContinuationId, act: impl FnOnce(&mut OpenCall)) {
        self.with(id, |live| live.call.as_mut().map(act));
    }

    /// The open call of a turn.
    pub fn call(&self, id: ContinuationId) -> Option<OpenCall> {
        self.with(id, |live| live.call.clone()).flatten()
    }

    /// Takes the open call of a turn: it is settled.
    pub fn take(&self, id: ContinuationId) -> Option<OpenCall> {
        self.with(id, |live| live.call.take()).flatten()
    }

    /// An answer begins to be shown.
    pub fn open_stream(&self, stream: OpenStream) {
        let id = stream.continuation_id;
        lock(&self.turns).entry(id).or_default().stream = Some(stream);
    }

    /// More of an answer is shown.
    pub fn show(&self, id: ContinuationId, text: &str) {
        self.with(id, |live| {
            if let Some(stream) = &mut live.stream {
                stream.text.push_str(text);
                stream.offset += text.len() as u64;
                if let Some(progress) = &live.progress {
                    progress.wrote(stream.step, text);
                }
            }
        });
    }

    /// An answer is shown no more.
    pub fn close_stream(&self, id: ContinuationId) {
        self.with(id, |live| live.stream = None);
    }

    /// What is shown of a turn's answer.
    pub fn shown(&self, id: ContinuationId) -> String {
        self.with(id, |live| {
            live.stream
                .as_ref()
                .map(|stream| stream.text.clone())
                .unwrap_or_default()
        })
        .unwrap_or_default()
    }

    /// Every answer that is being shown.
    pub fn streams(&self) -> Vec<OpenStream> {
        lock(&self.turns)
            .values()
            .filter_map(|live| live.stream.clone())
            .collect()
    }

    /// Adds to how long a turn waited for a place.
    pub fn add_wait(&self, id: ContinuationId, wait: Duration) {
        *lock(&self.turns)
            .entry(id)
            .or_default()
            .waited
            .get_or_insert_default() += wait;
    }

    /// How long a turn has waited for places since this was asked last, if it has.
    pub fn take_wait(&self, id: ContinuationId) -> Option<Duration> {
        self.with(id, |live| live.waited.take()).flatten()
    }

    /// A chat sees how far a turn has come, until the turn is over.
    pub fn show_progress(&self, id: ContinuationId, progress: ChatProgress) {
        lock(&self.turns).entry(id).or_default().progress = Some(Arc::new(progress));
    }

    /// What a chat sees of a turn, if it sees any of it.
    pub fn progress(&self, id: ContinuationId) -> Option<Arc<ChatProgress>> {
        self.with(id, |live| live.progress.clone()).flatten()
    }

    /// A turn is over.
    pub fn forget(&self, id: ContinuationId) {
        lock(&self.turns).remove(&id);
    }
}
