//! What the suites of this folder share.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt;
use leverframe::config::settings::{ModelTuning, ProviderKind, ProviderSettings, Secret};
use leverframe::model::anthropic::Anthropic;
use leverframe::model::gemini::Gemini;
use leverframe::model::ollama::Ollama;
use leverframe::model::openai_chat::OpenAiChat;
use leverframe::model::openai_responses::OpenAiResponses;
use leverframe::model::profiles::Profile;
use leverframe::model::request::{
    AssistantToolCall, Model, ModelAnswer, ModelError, ModelEvent, ModelMessage, ModelRequest,
    ToolDefinition, ToolResultMessage,
};
use serde_json::{Value, json};

pub const KEY: &str = "sk-test-0123456789abcdef";

pub fn settings(kind: ProviderKind, base_url: &str) -> ProviderSettings {
    ProviderSettings {
        kind,
        base_url: base_url.to_owned(),
        api_key: Some(Secret::new(KEY)),
        api_version: None,
        connect_timeout_seconds: 5,
        first_byte_timeout_seconds: 20,
        idle_timeout_seconds: 20,
        request_timeout_seconds: 60,
        max_output_tokens: 1000,
        context_window: 100_000,
        max_concurrent: 4,
        prices: BTreeMap::new(),
        tuning: ModelTuning::default(),
    }
}

pub fn adapter(kind: ProviderKind, settings: &ProviderSettings) -> Box<dyn Model> {
    match kind {
        ProviderKind::OpenAiChat => Box::new(OpenAiChat::new("peer", settings).unwrap()),
        ProviderKind::Anthropic => Box::new(Anthropic::new("peer", settings).unwrap()),
        ProviderKind::OpenAiResponses => Box::new(OpenAiResponses::new("peer", settings).unwrap()),
        ProviderKind::Gemini => Box::new(Gemini::new("peer", settings).unwrap()),
        ProviderKind::Ollama => Box::new(Ollama::new("peer", settings).unwrap()),
        ProviderKind::Scripted => panic!("no network adapter"),
    }
}

pub fn user(text: &str) -> ModelMessage {
    ModelMessage::user(text.to_owned())
}

pub fn request(messages: Vec<ModelMessage>) -> ModelRequest {
    ModelRequest {
        model: "test-model".to_owned(),
        system: "You help.".to_owned(),
        messages,
        tools: vec![tool("read_file"), tool("list_files")],
        max_output_tokens: 500,
        one_tool_per_step: false,
        profile: Profile::default(),
        parameters: leverframe::protocol::options::ModelParameters::default(),
        prompt_cache_key: None,
    }
}

pub fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: format!("the tool {name}"),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    }
}

/// One exchange with two calls and their results, the second an error.
pub fn exchange(ids: [&str; 2]) -> Vec<ModelMessage> {
    let call = |id: &str, name: &str, args: Value| AssistantToolCall {
        provider_call_id: id.to_owned(),
        name: name.to_owned(),
        args,
    };
    let result = |id: &str, name: &str, content: &str, is_error| ToolResultMessage {
        provider_call_id: id.to_owned(),
        name: name.to_owned(),
        content: content.to_owned(),
        is_error,
    };
    vec![
        user("look at both"),
        ModelMessage::Assistant {
            text: "I look.".to_owned(),
            tool_calls: vec![
                call(ids[0], "read_file", json!({"path": "a"})),
                call(ids[1], "list_files", json!({})),
            ],
            native: None,
        },
        ModelMessage::ToolResults {
            results: vec![
                result(ids[0], "read_file", "content of a", false),
                result(ids[1], "list_files", "denied by operator: not now", true),
            ],
        },
    ]
}

/// Everything that a call gave.
#[derive(Debug)]
pub struct Outcome {
    pub deltas: Vec<String>,
    pub heartbeats: usize,
    pub end: Result<ModelAnswer, ModelError>,
}

impl Outcome {
    pub fn shown(&self) -> String {
        self.deltas.concat()
    }

    pub fn answer(&self) -> &ModelAnswer {
        self.end.as_ref().expect("an answer")
    }

    pub fn error(&self) -> &ModelError {
        self.end.as_ref().expect_err("an error")
    }
}

/// Runs one call to its end; fails when it takes longer than 30 seconds or breaks the stream contract.
pub async fn run(model: &dyn Model, request: ModelRequest) -> Outcome {
    let mut stream = model.stream(request);
    let mut deltas = Vec::new();
    let mut heartbeats = 0;
    let mut end = None;
    let reading = async {
        while let Some(item) = stream.next().await {
            assert!(end.is_none(), "nothing comes after the end: {item:?}");
            match item {
                Ok(ModelEvent::TextDelta(text)) => deltas.push(text),
                Ok(ModelEvent::Heartbeat) => heartbeats += 1,
                Ok(ModelEvent::Finished(answer)) => end = Some(Ok(*answer)),
                Err(error) => end = Some(Err(error)),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reading)
        .await
        .expect("the call ends");
    let end = end.expect("a stream ends with an answer or an error");
    if let Ok(answer) = &end {
        assert_eq!(answer.text, deltas.concat(), "what was shown is the answer");
    }
    Outcome {
        deltas,
        heartbeats,
        end,
    }
}

/// The messages that carry on after `answer`: it, and one result per call.
pub fn answered(answer: &ModelAnswer, results: &[&str]) -> [ModelMessage; 2] {
    assert_eq!(answer.tool_calls.len(), results.len());
    let calls = answer.tool_calls.iter();
    [
        ModelMessage::Assistant {
            text: answer.text.clone(),
            tool_calls: calls
                .clone()
                .map(|call| AssistantToolCall {
                    provider_call_id: call.provider_call_id.clone(),
                    name: call.name.clone(),
                    args: call.args.clone().unwrap_or_else(|_| json!({})),
                })
                .collect(),
            native: answer.native.clone(),
        },
        ModelMessage::ToolResults {
            results: calls
                .zip(results)
                .map(|(call, content)| ToolResultMessage {
                    provider_call_id: call.provider_call_id.clone(),
                    name: call.name.clone(),
                    content: (*content).to_owned(),
                    is_error: content.contains("denied"),
                })
                .collect(),
        },
    ]
}
