//! What is known of the configured models, and what a test of one showed. "Not known" is none, never a number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::session::Usage;

/// Whether a provider has its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// It has one.
    Present,
    /// It cannot be used without one and has none.
    Missing,
    /// It has none; the server may want none.
    None,
}

impl KeyState {
    /// The word shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Missing => "missing",
            Self::None => "none",
        }
    }
}

/// What a model can do, as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelProfile {
    /// Context window in tokens.
    pub context_window: u64,
    /// Output tokens that a call asks for at most.
    pub max_output_tokens: u32,
    /// Whether it takes tools; none = not known, they are sent.
    pub tools: Option<bool>,
    /// Whether it proposes several calls at once; none = not known.
    pub parallel_tool_calls: Option<bool>,
    /// Whether it takes pictures; none = not known, they are sent.
    pub pictures: Option<bool>,
    /// Whether it reasons.
    pub reasoning: bool,
    /// Reasoning effort asked for.
    pub effort: Option<String>,
    /// `none`, `automatic`, `breakpoints` or `key`.
    pub prompt_cache: String,
    /// Where the most specific part of it is from, in words.
    pub source: String,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelPrice {
    /// Input that was not cached.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from the prompt cache; none = as input.
    pub cache_read: Option<f64>,
    /// Input written to the prompt cache; none = as input.
    pub cache_write: Option<f64>,
    /// Most input tokens of one call that this price is for; none = any.
    pub max_input: Option<u64>,
    /// The day it was collected on, `YYYY-MM-DD`; none where the operator set it.
    pub as_of: Option<String>,
    /// Where it is from, in words.
    pub source: String,
}

/// Use of the model that turns texts into vectors.
pub const EMBEDS: &str = "embeddings of memory";

/// One model that the configuration names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEntry {
    /// `<provider>/<model>`.
    pub model: String,
    /// What it is used for: `default`, `channel team`, [`EMBEDS`]; empty = nothing by itself.
    pub used_for: Vec<String>,
    /// What it can do.
    pub profile: ModelProfile,
    /// What it costs; none = not known.
    pub price: Option<ModelPrice>,
    /// What else should be known of it.
    pub note: Option<String>,
}

impl ModelEntry {
    /// Whether all it is used for is comparing what is remembered: it answers nobody.
    pub fn only_embeds(&self) -> bool {
        !self.used_for.is_empty() && self.used_for.iter().all(|what| what == EMBEDS)
    }
}

/// One configured provider. Nothing was asked of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderModels {
    /// Its name.
    pub provider: String,
    /// Wire format: `openai-chat`, `anthropic`, `scripted` …
    pub kind: String,
    /// Base URL; empty for the scripted model.
    pub address: String,
    /// Whether it is on this machine.
    pub local: bool,
    /// Whether it has its key.
    pub key: KeyState,
    /// Where the key is, or would be, from: the name of a variable, a file, a command. Never the key.
    pub key_from: Option<String>,
    /// The models that the configuration names.
    pub models: Vec<ModelEntry>,
}

/// How one part of a test came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// It works.
    Ok,
    /// It does not.
    No,
    /// It could not be told.
    Unknown,
}

impl CheckVerdict {
    /// The word shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// One part of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCheck {
    /// `streaming`, `tools`, `parallel calls`, `cached tokens`, `context size`.
    pub check: String,
    /// How it came out.
    pub verdict: CheckVerdict,
    /// Why, in words. May hold outside text.
    pub detail: String,
}

/// What really asking a model showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelTest {
    /// `<provider>/<model>`.
    pub model: String,
    /// When it began.
    pub at: Timestamp,
    /// Milliseconds it took.
    pub took_ms: u64,
    /// Calls that were made.
    pub calls: u32,
    /// Tokens of all of them, and what they cost; no cost = not known.
    pub usage: Usage,
    /// The parts.
    pub checks: Vec<ModelCheck>,
}

impl ModelTest {
    /// Whether a part came out as `no`.
    pub fn failed(&self) -> bool {
        self.checks
            .iter()
            .any(|check| check.verdict == CheckVerdict::No)
    }
}

/// A model that a server on this machine offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundModel {
    /// Its id.
    pub id: String,
    /// Whether the server says that it takes tools; none = it does not say.
    pub tools: Option<bool>,
    /// Context window that the server says it has, in tokens.
    pub context_window: Option<u64>,
    /// Whether it runs somewhere else although this server offers it.
    pub elsewhere: bool,
}

/// A model server that was found on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundServer {
    /// `ollama`, `lm-studio`, `llama-cpp`, `vllm`: a name for its provider too.
    pub name: String,
    /// For people: `Ollama`, `LM Studio` …
    pub title: String,
    /// Wire format for its provider.
    pub kind: String,
    /// Base URL for its provider.
    pub base_url: String,
    /// What it offers.
    pub models: Vec<FoundModel>,
}

/// A model server that a look found, and how it would be declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfferedServer {
    /// The server.
    pub server: FoundServer,
    /// The configured provider that is at its address; none = it can be used by nobody yet.
    pub provider: Option<String>,
    /// Lines for the configuration that declare it and name its first models; remarks only where it is declared already.
    pub config: String,
}

/// The model servers that answered on the engine's machine. None of them is used by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Discovery {
    /// When it was looked for them.
    pub at: Timestamp,
    /// What was found.
    pub servers: Vec<OfferedServer>,
    /// What else is worth a word, for people.
    pub notes: Vec<String>,
}
