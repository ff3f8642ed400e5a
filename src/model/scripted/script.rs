//! What a message makes the scripted model do, as data.

use serde_json::Value;

use crate::model::request::StopReason;

/// How long the refusal of `FAIL:rate_limit` asks to wait, in milliseconds.
pub const RATE_LIMIT_WAIT_MS: u64 = 100;

/// What a message makes the model do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// One answer with calls each, in order.
    pub steps: Vec<Step>,
    /// The final text; none = made from the tool results, or an echo where there are none.
    pub ending: Option<String>,
    /// Whether the ending says that a change was made, which is said only when it was.
    pub claims_success: bool,
    /// Extra paced pieces before the end of each answer.
    pub slow: u32,
    /// How it fails, instead of answering.
    pub failure: Option<ScriptedFailure>,
    /// Why the last answer ends; none = naturally.
    pub stop: Option<StopReason>,
    /// Whether the ending says how often this model has answered so, which shows whether it was asked.
    pub numbered: bool,
}

/// One answer with calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// Text beside the calls.
    pub say: String,
    pub calls: Vec<ScriptedCall>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedCall {
    pub name: String,
    pub args: ScriptedArgs,
}

/// Where the arguments of a call come from.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedArgs {
    Given(Value),
    /// Raw text that is not complete JSON.
    Malformed(String),
    /// `write_file` of the file that the step before read, with `lines` put behind the first line that
    /// begins with `after` (at the end where there is none).
    Insert {
        path: String,
        /// Beginning of the line it goes behind.
        after: String,
        /// What to insert.
        lines: String,
    },
}

/// A way to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptedFailure {
    /// How.
    pub kind: FailureKind,
    /// How many tries fail; none = all.
    pub times: Option<u32>,
    /// Whether it fails again the next time it is asked, after it has worked.
    pub again: bool,
    /// What a refusal for too many requests asks to wait, in milliseconds.
    pub wait_ms: u64,
}

/// The words of `FAIL:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The key is wrong.
    Auth,
    /// Too many requests.
    RateLimit,
    /// A 529.
    Overloaded,
    /// The connection breaks after some text.
    Cut,
    /// Silence.
    Timeout,
}
