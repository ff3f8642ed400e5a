//! One of everything the protocol has about models.

use leverframe::protocol::models::{
    CheckVerdict, Discovery, FoundModel, FoundServer, KeyState, ModelCheck, ModelEntry, ModelPrice,
    ModelProfile, ModelTest, OfferedServer, ProviderModels,
};
use leverframe::protocol::request::{Answer, Command, ListModels, Outcome, Query, TestModel};
use leverframe::protocol::snapshot::Page;

use crate::api_http::samples::{NASTY, at, usage};

pub fn command() -> Command {
    Command::TestModel(TestModel {
        model: Some(format!("local/{NASTY}")),
    })
}

pub fn outcome() -> Outcome {
    Outcome::TestModel(ModelTest {
        model: "local/m".to_owned(),
        at: at(),
        took_ms: u64::MAX,
        calls: 3,
        usage: usage(),
        checks: vec![ModelCheck {
            check: "streaming".to_owned(),
            verdict: CheckVerdict::Unknown,
            detail: NASTY.to_owned(),
        }],
    })
}

pub fn discovery() -> Outcome {
    let model = FoundModel {
        id: NASTY.to_owned(),
        tools: None,
        context_window: Some(4096),
        elsewhere: true,
    };
    let server = FoundServer {
        name: "ollama".to_owned(),
        title: "Ollama".to_owned(),
        kind: "ollama".to_owned(),
        base_url: "http://127.0.0.1:11434".to_owned(),
        models: vec![model],
    };
    Outcome::DiscoverModels(Discovery {
        at: at(),
        servers: vec![OfferedServer {
            server,
            provider: None,
            config: NASTY.to_owned(),
        }],
        notes: vec![NASTY.to_owned()],
    })
}

pub fn query() -> (Query, Answer) {
    let entry = ModelEntry {
        model: format!("local/{NASTY}"),
        used_for: vec!["default".to_owned()],
        profile: ModelProfile {
            context_window: 1 << 40,
            max_output_tokens: 8192,
            tools: Some(false),
            parallel_tool_calls: None,
            pictures: None,
            reasoning: true,
            effort: Some("low".to_owned()),
            prompt_cache: "key".to_owned(),
            source: NASTY.to_owned(),
        },
        price: Some(ModelPrice {
            input: 0.1,
            output: 1e-9,
            cache_read: None,
            cache_write: Some(0.3),
            max_input: Some(1),
            as_of: Some("2026-11-22".to_owned()),
            source: "shipped".to_owned(),
        }),
        note: None,
    };
    let provider = ProviderModels {
        provider: "local".to_owned(),
        kind: "openai-chat".to_owned(),
        address: "http://127.0.0.1:8080/v1".to_owned(),
        local: true,
        key: KeyState::Missing,
        key_from: Some(NASTY.to_owned()),
        models: vec![entry],
    };
    let page = Page {
        items: vec![provider],
        next_cursor: None,
    };
    (Query::ListModels(ListModels {}), Answer::ListModels(page))
}
