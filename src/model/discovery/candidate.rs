//! One place where a model server may be: which server, what was found there, and how JSON is asked of it.

use std::time::Duration;

use reqwest::{Client, Url};
use serde_json::Value;

use crate::config::settings::Secret;
use crate::model::http::client_for;
use crate::protocol::models::FoundServer;

/// Longest time for one server, from connecting to the last byte.
pub const LIMIT: Duration = Duration::from_millis(300);
/// Most bytes of an answer that are read.
const MOST_BYTES: usize = 4 << 20;

/// The servers that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    Ollama,
    LmStudio,
    /// llama.cpp's `llama-server`.
    LlamaCpp,
    Vllm,
}

impl ServerKind {
    pub const ALL: [Self; 4] = [Self::Ollama, Self::LmStudio, Self::LlamaCpp, Self::Vllm];

    /// A name for its provider.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LmStudio => "lm-studio",
            Self::LlamaCpp => "llama-cpp",
            Self::Vllm => "vllm",
        }
    }

    /// For people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::LlamaCpp => "llama.cpp",
            Self::Vllm => "vLLM",
        }
    }

    #[cfg(feature = "test-hooks")]
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Where a server may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub kind: ServerKind,
    /// `http://127.0.0.1:11434`, without a slash at its end.
    pub root: String,
}

/// What was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The server, with what it offers.
    Found(FoundServer),
    /// Nobody listens.
    Closed,
    /// Somebody answers, but not as this server does.
    Other,
    /// No answer in time.
    Slow,
    /// The address is not on this machine: not asked.
    Elsewhere,
}

/// Why there is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoJson {
    /// Nobody could be connected to.
    Closed,
    /// The server wants a key, or another one: status 401 or 403.
    Unauthorized,
    /// Somebody answered something else.
    Other,
}

/// The JSON under an address; `body` is posted when there is one. Only a status of success counts.
pub async fn json_at(
    address: &str,
    body: Option<&Value>,
    key: Option<&Secret>,
) -> Result<Value, NoJson> {
    let url = Url::parse(address).map_err(|_| NoJson::Other)?;
    let client: Client = client_for(&url, LIMIT * 10).map_err(|_| NoJson::Other)?;
    let request = match body {
        Some(body) => client.post(url).json(body),
        None => client.get(url),
    };
    let request = match key {
        Some(key) => request.bearer_auth(key.expose()),
        None => request,
    };
    let mut response = request.send().await.map_err(|error| {
        if error.is_connect() {
            NoJson::Closed
        } else {
            NoJson::Other
        }
    })?;
    match response.status().as_u16() {
        200..=299 => {}
        401 | 403 => return Err(NoJson::Unauthorized),
        _ => return Err(NoJson::Other),
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| NoJson::Other)? {
        if bytes.len() + chunk.len() > MOST_BYTES {
            return Err(NoJson::Other);
        }
        bytes.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&bytes).map_err(|_| NoJson::Other)
}
