//! What is asked of the response cache, what it keeps and what it answers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Timestamp;
use crate::protocol::enums::CacheScope;
use crate::protocol::session::Usage;
use crate::store::response_cache::counters::Row;

/// SHA-256 over everything an answer depends on.
pub type Key = [u8; 32];

/// Where the file is and how much it may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `response_cache.db`.
    pub path: PathBuf,
    /// Milliseconds a response stays cached.
    pub ttl_ms: u64,
    /// Most entries, at least 1.
    pub max_entries: u64,
    /// Most bytes of questions and answers.
    pub max_bytes: u64,
    /// Most results of tools.
    pub max_results: u64,
    /// Most bytes of them.
    pub max_result_bytes: u64,
}

/// An answer to keep.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntry {
    pub key: Key,
    /// Digest of scope and question alone: tells a question that is known under other circumstances.
    pub asked: [u8; 16],
    pub channel: String,
    /// Whom it may be given to.
    pub scope: CacheScope,
    /// Who asked: outside text.
    pub requester: String,
    /// `<provider>/<model>`.
    pub model: String,
    /// The question, redacted: outside text.
    pub question: String,
    /// The answer, redacted: outside text.
    pub answer: String,
    /// What the call used.
    pub usage: Usage,
    /// When it was made.
    pub stored_at: Timestamp,
}

/// An answer that was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredAnswer {
    /// The answer: outside text.
    pub answer: String,
    /// `<provider>/<model>`.
    pub model: String,
    /// What the call had used.
    pub usage: Usage,
    /// When it was made.
    pub stored_at: Timestamp,
}

/// What a look found.
#[derive(Debug, Clone, PartialEq)]
pub enum CacheState {
    /// An answer that may be given.
    Found(StoredAnswer),
    /// One that was too old; it is gone now.
    Expired,
    /// None, but the same question is kept under another model, prompt, set of tools or policy.
    Changed,
    /// None.
    Nothing,
    /// The file cannot be used, or did not answer in time.
    Unusable,
}

/// How much is kept, and everything that was counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Picture {
    pub entries: u64,
    /// Those of them that are pinned.
    pub pinned: u64,
    /// Bytes of questions and answers.
    pub bytes: u64,
    /// Results of tools.
    pub results: u64,
    pub result_bytes: u64,
    /// Counters, also those that are not on disk yet.
    pub rows: Vec<Row>,
    /// Why the file cannot be used.
    pub problem: Option<String>,
}

/// Why a person was not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CacheError {
    /// The file cannot be used.
    #[error("the response cache cannot be used: {0}")]
    Unusable(String),
    /// No such entry.
    #[error("there is no cached response `{0}`")]
    NotFound(String),
    /// The beginning of a key fits several entries.
    #[error("`{0}` fits more than one cached response")]
    Ambiguous(String),
}

/// Under what a result was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made {
    /// Epoch of the process.
    pub epoch: u64,
    /// How often its workspace had changed in that process.
    pub changes: u64,
}

/// A result to keep.
#[derive(Debug, Clone, PartialEq)]
pub struct NewResult {
    pub key: Key,
    /// The key without the versions of policies: tells a call that is known under another policy.
    pub asked: Key,
    pub channel: String,
    /// What the model read, redacted: outside text.
    pub content: String,
    /// Milliseconds the run took.
    pub ran_ms: u64,
    /// Under what it was made.
    pub made: Made,
    /// When.
    pub stored_at: Timestamp,
}

/// A result that was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptResult {
    /// What the model read: outside text.
    pub content: String,
    /// Milliseconds the run took.
    pub ran_ms: u64,
    /// When it ran.
    pub stored_at: Timestamp,
}

/// What a look for a result found.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultLookup {
    /// One that may be given.
    Found(KeptResult),
    /// One that was too old; it is gone now.
    Expired,
    /// One from before something changed; it is gone now.
    Stale,
    /// None, but the same call is kept under another policy.
    OtherPolicy,
    /// None.
    Nothing,
    /// The file cannot be used, or did not answer in time.
    Unusable,
}

/// Why the file cannot be used, known without asking the thread; none = it could be used last, or nobody did.
pub(super) type Problem = Arc<Mutex<Option<String>>>;

/// The value behind a lock: it is valid however a holder of the lock ended.
pub(super) fn unpoisoned<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
