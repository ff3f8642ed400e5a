//! Configured models and model tests. An unknown number is none, never a guess.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::session::Usage;

/// Whether a provider has its API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// The key is available.
    Present,
    /// The provider needs a key and has none.
    Missing,
    /// There is no key; the server may not need one.
    None,
}

impl KeyState {
    /// The word on screen.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Missing => "missing",
            Self::None => "none",
        }
    }
}

/// Capabilities of a model, as configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelProfile {
    /// Context window in tokens.
    pub context_window: u64,
    /// Most output tokens that a call requests.
    pub max_output_tokens: u32,
    /// Whether it supports tools; none = not known, and calls send them.
    pub tools: Option<bool>,
    /// Whether it proposes several calls at once; none = not known.
    pub parallel_tool_calls: Option<bool>,
    /// Whether it accepts images; none = not known, and calls send them.
    pub pictures: Option<bool>,
    /// Whether it reasons.
    pub reasoning: bool,
    /// Requested reasoning effort; none = calls request none.
    pub effort: Option<String>,
    /// Prompt cache of the provider: `none`, `automatic`, `breakpoints` or `key`.
    pub prompt_cache: String,
    /// Source of the most specific part of the profile, in words.
    pub source: String,
}

/// Price of a model in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelPrice {
    /// Input tokens that were not cached.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens read from the prompt cache; none = the price of input.
    pub cache_read: Option<f64>,
    /// Input tokens written to the prompt cache; none = the price of input.
    pub cache_write: Option<f64>,
    /// Most input tokens of one call at this price; none = any number.
    pub max_input: Option<u64>,
    /// Date of the price, `YYYY-MM-DD`; none = the operator set the price.
    pub as_of: Option<String>,
    /// Source of the price, in words.
    pub source: String,
}

/// Use of the embedding model.
pub const EMBEDS: &str = "embeddings of memory";

/// A model that the configuration names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEntry {
    /// `<provider>/<model>`.
    pub model: String,
    /// Uses of the model: `default`, `channel team`, [`EMBEDS`]; empty = nothing uses it by itself.
    pub used_for: Vec<String>,
    /// Capabilities of the model.
    pub profile: ModelProfile,
    /// Price of the model; none = not known.
    pub price: Option<ModelPrice>,
    /// Note about the model; none = nothing to note.
    pub note: Option<String>,
}

impl ModelEntry {
    /// Whether its only use is embeddings, so that it answers nobody.
    pub fn only_embeds(&self) -> bool {
        !self.used_for.is_empty() && self.used_for.iter().all(|what| what == EMBEDS)
    }
}

/// A configured provider. The engine does not contact it for this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderModels {
    /// Provider name.
    pub provider: String,
    /// Wire format: `openai-chat`, `anthropic`, `scripted` …
    pub kind: String,
    /// Base URL; empty for the scripted model.
    pub address: String,
    /// Whether its server runs on this machine.
    pub local: bool,
    /// Whether it has its API key.
    pub key: KeyState,
    /// Source of the key: the name of a variable, a file, a command. Never the key itself.
    pub key_from: Option<String>,
    /// The models that the configuration names.
    pub models: Vec<ModelEntry>,
}

/// Verdict of one check of a model test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// It works.
    Ok,
    /// It does not work.
    No,
    /// The test could not find out.
    Unknown,
}

impl CheckVerdict {
    /// The word on screen.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// One check of a model test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCheck {
    /// Name of the check: `streaming`, `tools`, `parallel calls`, `cached tokens`, `context size`.
    pub check: String,
    /// Verdict of the check.
    pub verdict: CheckVerdict,
    /// Why, in words. May contain untrusted text.
    pub detail: String,
}

/// Result of a model test with real calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelTest {
    /// `<provider>/<model>`.
    pub model: String,
    /// When the test began.
    pub at: Timestamp,
    /// Duration in milliseconds.
    pub took_ms: u64,
    /// Number of model calls.
    pub calls: u32,
    /// Tokens and cost of all calls; no cost = the price is not known.
    pub usage: Usage,
    /// The checks.
    pub checks: Vec<ModelCheck>,
}

impl ModelTest {
    /// Whether a check has the verdict `no`.
    pub fn failed(&self) -> bool {
        self.checks
            .iter()
            .any(|check| check.verdict == CheckVerdict::No)
    }
}

/// A model that a server on this machine offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundModel {
    /// Model id.
    pub id: String,
    /// Whether the server reports support for tools; none = it reports nothing.
    pub tools: Option<bool>,
    /// Context window that the server reports, in tokens.
    pub context_window: Option<u64>,
    /// Whether the model runs on another machine although this server offers it.
    pub elsewhere: bool,
}

/// A model server on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundServer {
    /// `ollama`, `lm-studio`, `llama-cpp` or `vllm`; also a suggested provider name.
    pub name: String,
    /// Product name: `Ollama`, `LM Studio` …
    pub title: String,
    /// Wire format for its provider entry.
    pub kind: String,
    /// Base URL for its provider entry.
    pub base_url: String,
    /// Models that it offers.
    pub models: Vec<FoundModel>,
}

/// A model server that discovery found, with the configuration that declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfferedServer {
    /// The server.
    pub server: FoundServer,
    /// The configured provider with its address; none = no provider uses it yet.
    pub provider: Option<String>,
    /// Configuration lines that declare it and name its first models; only comments when it is
    /// declared already.
    pub config: String,
}

/// Model servers that answered on the machine of the daemon. The engine uses none of them by
/// itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Discovery {
    /// When the discovery ran.
    pub at: Timestamp,
    /// The servers.
    pub servers: Vec<OfferedServer>,
    /// Further notes for people.
    pub notes: Vec<String>,
}
