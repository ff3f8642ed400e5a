//! `case.toml`: what is asked, of which adapter, under which settings.

use std::path::{Path, PathBuf};

use leverframe::config::model_tables::PromptCache;
use leverframe::config::settings::{ProviderKind, ProviderSettings, Secret};
use leverframe::model::profiles::Profile;
use leverframe::model::request::{
    AssistantToolCall, ModelMessage, ModelRequest, ToolResultMessage,
};
use leverframe::protocol::session::NativeBlocks;
use serde::Deserialize;
use serde_json::Value;

use crate::conformance::script::{self, Response};
use crate::models::helpers::{self, KEY};

/// The adapters, by the name of their folder.
pub const ADAPTERS: [(&str, ProviderKind); 5] = [
    ("anthropic", ProviderKind::Anthropic),
    ("openai-chat", ProviderKind::OpenAiChat),
    ("openai-responses", ProviderKind::OpenAiResponses),
    ("gemini", ProviderKind::Gemini),
    ("ollama", ProviderKind::Ollama),
];

/// What `case.toml` says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// Numbers in research/models.md § 9.
    pub numbers: Vec<u8>,
    /// Folder of its adapter.
    pub adapter: String,
    /// What it shows, in a sentence.
    pub shows: String,
    /// Most calls, as the engine counts them.
    #[serde(default = "one")]
    pub attempts: u32,
    /// Whether the answer comes again, cut otherwise. Off where the pauses between the bytes are the case.
    #[serde(default = "yes")]
    pub rechunk: bool,
    /// After the answer the conversation goes on, with results of its calls or with a word of the user.
    #[serde(default)]
    pub next: bool,
    /// Longest that one call may take, in milliseconds.
    pub within_ms: Option<u64>,
    /// Settings of the provider.
    #[serde(default)]
    settings: SettingsTable,
    /// The request.
    #[serde(default)]
    request: RequestTable,
    /// The conversation; one word of the user where there is none.
    #[serde(default, rename = "message")]
    messages: Vec<MessageTable>,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsTable {
    base_path: Option<String>,
    api_version: Option<String>,
    idle_timeout_seconds: Option<u64>,
    request_timeout_seconds: Option<u64>,
    first_byte_timeout_seconds: Option<u64>,
    #[serde(default)]
    without_key: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestTable {
    effort: Option<String>,
    #[serde(default)]
    reasoning: bool,
    prompt_cache: Option<String>,
    prompt_cache_key: Option<String>,
    context_window: Option<u64>,
    #[serde(default)]
    one_tool_per_step: bool,
    max_output_tokens: Option<u32>,
    tools: Option<Vec<String>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageTable {
    user: Option<String>,
    assistant: Option<String>,
    #[serde(default)]
    calls: Vec<CallTable>,
    native: Option<NativeTable>,
    #[serde(default)]
    results: Vec<ResultTable>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallTable {
    id: String,
    name: String,
    #[serde(default)]
    args: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct NativeTable {
    family: String,
    content: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultTable {
    id: String,
    name: String,
    content: String,
    #[serde(default)]
    error: bool,
}

/// One directory.
#[derive(Debug, Clone)]
pub struct Case {
    /// `<adapter>/<case>`.
    pub name: String,
    /// `case.toml`.
    pub file: CaseFile,
    /// Wire format.
    pub kind: ProviderKind,
    /// What must be sent, one for each request; the last one counts for all that follow.
    pub requests: Vec<Value>,
    /// What is answered.
    pub responses: Vec<Response>,
    /// What comes of it.
    pub outcome: Value,
}

/// Where the cases are.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/conformance")
}

/// All cases of an adapter, in order.
pub fn cases_of(adapter: &str) -> Vec<Case> {
    let Ok(entries) = std::fs::read_dir(root().join(adapter)) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| read(adapter, path)).collect()
}

fn read(adapter: &str, path: &Path) -> Case {
    let name = format!(
        "{adapter}/{}",
        path.file_name().unwrap().to_str().expect("a plain name")
    );
    let text = |file: &str| {
        std::fs::read_to_string(path.join(file))
            .unwrap_or_else(|error| panic!("{name}/{file}: {error}"))
    };
    let json = |file: &str| -> Value {
        serde_json::from_str(&text(file)).unwrap_or_else(|error| panic!("{name}/{file}: {error}"))
    };
    let file: CaseFile =
        toml::from_str(&text("case.toml")).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(
        file.adapter, adapter,
        "{name} lies in the folder of its adapter"
    );
    assert!(!file.numbers.is_empty() && !file.shows.is_empty(), "{name}");
    let kind = ADAPTERS
        .iter()
        .find(|(folder, _)| *folder == adapter)
        .map_or_else(|| panic!("{name}: no such adapter"), |(_, kind)| *kind);
    let requests = match json("request.expect.json") {
        Value::Array(each) => each,
        one => vec![one],
    };
    Case {
        outcome: json("outcome.json"),
        responses: script::parse(&std::fs::read(path.join("response.http")).unwrap()),
        requests,
        kind,
        file,
        name,
    }
}

impl Case {
    /// Settings of the provider at `base_url`.
    pub fn settings(&self, base_url: &str) -> ProviderSettings {
        let table = &self.file.settings;
        let path = table.base_path.as_deref().unwrap_or(match self.kind {
            ProviderKind::OpenAiChat | ProviderKind::OpenAiResponses => "/v1",
            ProviderKind::Anthropic
            | ProviderKind::Gemini
            | ProviderKind::Ollama
            | ProviderKind::Scripted => "",
        });
        let mut settings = helpers::settings(self.kind, &format!("{base_url}{path}"));
        settings.api_version.clone_from(&table.api_version);
        settings.api_key = (!table.without_key).then(|| Secret::new(KEY));
        settings.idle_timeout_seconds = table.idle_timeout_seconds.unwrap_or(60);
        settings.request_timeout_seconds = table.request_timeout_seconds.unwrap_or(60);
        settings.first_byte_timeout_seconds = table.first_byte_timeout_seconds.unwrap_or(60);
        settings
    }

    /// The first request.
    pub fn request(&self) -> ModelRequest {
        let table = &self.file.request;
        let mut messages: Vec<ModelMessage> = self.file.messages.iter().map(message).collect();
        if messages.is_empty() {
            messages.push(helpers::user("hi"));
        }
        let mut request = helpers::request(messages);
        if let Some(tools) = &table.tools {
            request.tools = tools.iter().map(|name| helpers::tool(name)).collect();
        }
        request.max_output_tokens = table.max_output_tokens.unwrap_or(500);
        request.one_tool_per_step = table.one_tool_per_step;
        request.prompt_cache_key.clone_from(&table.prompt_cache_key);
        request.profile = Profile {
            context_window: table.context_window.unwrap_or(100_000),
            effort: table.effort.clone(),
            reasoning: table.reasoning,
            prompt_cache: match table.prompt_cache.as_deref() {
                None => PromptCache::None,
                Some("automatic") => PromptCache::Automatic,
                Some("breakpoints") => PromptCache::Breakpoints,
                Some("key") => PromptCache::Key,
                Some(other) => panic!("{}: no prompt cache {other:?}", self.name),
            },
            ..Profile::default()
        };
        request
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn message(table: &MessageTable) -> ModelMessage {
    if let Some(text) = &table.user {
        return helpers::user(text);
    }
    if !table.results.is_empty() {
        let results = table.results.iter().map(|result| ToolResultMessage {
            provider_call_id: result.id.clone(),
            name: result.name.clone(),
            content: result.content.clone(),
            is_error: result.error,
        });
        return ModelMessage::ToolResults {
            results: results.collect(),
        };
    }
    let calls = table.calls.iter().map(|call| AssistantToolCall {
        provider_call_id: call.id.clone(),
        name: call.name.clone(),
        args: json(call.args.as_deref().unwrap_or("{}")),
    });
    ModelMessage::Assistant {
        text: table.assistant.clone().expect("user, assistant or results"),
        tool_calls: calls.collect(),
        native: table.native.as_ref().map(|native| NativeBlocks {
            family: native.family.clone(),
            content: json(&native.content),
        }),
    }
}
