//! The models dialog: configured models, a look for servers, and what a refusal says; clean whatever servers are called.

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::models::{
    Discovery, FoundModel, FoundServer, KeyState, ModelEntry, ModelPrice, ModelProfile,
    OfferedServer, ProviderModels,
};
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{Answer, Command, DiscoverModels, ListModels, Outcome, Query};
use leverframe::protocol::snapshot::Page;

use crate::console_frames::any_size::{HOSTILE, assert_clean};
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::{self, busy};
use crate::console_frames::screens::check;

fn entry(model: &str, used: &[&str], window: u64, price: Option<(f64, f64)>) -> ModelEntry {
    ModelEntry {
        model: model.to_owned(),
        used_for: used.iter().map(|what| (*what).to_owned()).collect(),
        profile: ModelProfile {
            context_window: window,
            max_output_tokens: 4096,
            tools: Some(true),
            parallel_tool_calls: None,
            pictures: None,
            reasoning: false,
            effort: None,
            prompt_cache: "none".to_owned(),
            source: "shipped".to_owned(),
        },
        price: price.map(|(input, output)| ModelPrice {
            input,
            output,
            cache_read: None,
            cache_write: None,
            max_input: None,
            as_of: None,
            source: "configuration".to_owned(),
        }),
        note: None,
    }
}

fn provider(name: &str, key: KeyState, models: Vec<ModelEntry>) -> ProviderModels {
    ProviderModels {
        provider: name.to_owned(),
        kind: "openai-chat".to_owned(),
        address: "http://127.0.0.1:8080/v1".to_owned(),
        local: false,
        key,
        key_from: None,
        models,
    }
}

pub fn known() -> Vec<ProviderModels> {
    vec![
        provider(
            "anthropic",
            KeyState::Missing,
            vec![entry(
                "anthropic/claude-sonnet-5",
                &["fallback 1"],
                200_000,
                Some((3.0, 15.0)),
            )],
        ),
        provider(
            "local",
            KeyState::None,
            vec![
                entry("local/qwen3:8b", &["default", "channel team"], 40_960, None),
                entry("local/small", &[], 8_192, Some((0.0, 0.0))),
            ],
        ),
    ]
}

pub fn found() -> Discovery {
    Discovery {
        at: fixture::NOW,
        servers: vec![OfferedServer {
            server: FoundServer {
                name: "ollama".to_owned(),
                title: "Ollama".to_owned(),
                kind: "ollama".to_owned(),
                base_url: "http://127.0.0.1:11434".to_owned(),
                models: vec![FoundModel {
                    id: "gemma3:4b".to_owned(),
                    tools: Some(false),
                    context_window: Some(131_072),
                    elsewhere: false,
                }],
            },
            provider: None,
            config: "# under [model]: default = \"ollama/gemma3:4b\"\n[providers.ollama]\nkind = \"ollama\"\n\
                base_url = \"http://127.0.0.1:11434\"\n\
                models.\"gemma3:4b\" = { tools = false, context_window = 131072 }\n"
                .to_owned(),
        }],
        notes: vec![
            "http://127.0.0.1:8000: something listens there and does not answer within 300 ms, so it is not offered as vLLM"
                .to_owned(),
        ],
    }
}

/// Opens the dialog on the first session of Live and answers what it asks.
pub fn opened(driver: &mut Driver, known: Vec<ProviderModels>) {
    driver.press("2 j M");
    let page = Page {
        items: known,
        next_cursor: None,
    };
    driver.answer(Query::ListModels(ListModels {}), Answer::ListModels(page));
    driver.draw();
}

pub fn ended(driver: &mut Driver, command: Command, result: Result<Outcome, Problem>) {
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(command),
        result: result.map(Box::new).map_err(Box::new),
    });
    driver.draw();
}

#[test]
fn configured_models() {
    check("models", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        opened(&mut driver, known());
        driver
    });
}

#[test]
fn what_was_found() {
    check("models_found", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        opened(&mut driver, known());
        driver.press("d");
        ended(
            &mut driver,
            Command::DiscoverModels(DiscoverModels {}),
            Ok(Outcome::DiscoverModels(found())),
        );
        driver
    });
}

#[test]
fn hostile_names_are_revealed_at_any_size() {
    let mut hostile_known = known();
    for (n, provider) in hostile_known.iter_mut().enumerate() {
        for model in &mut provider.models {
            model.model = HOSTILE.concat();
            model.used_for = vec![HOSTILE[n].to_owned()];
        }
    }
    let mut hostile_found = found();
    let offered = &mut hostile_found.servers[0];
    offered.server.title = HOSTILE.concat();
    offered.server.base_url = HOSTILE.concat();
    offered.provider = Some(HOSTILE.concat());
    offered.config = HOSTILE.join("\n");
    hostile_found.notes = HOSTILE.iter().map(|text| (*text).to_owned()).collect();
    for (w, h) in [(1, 1), (7, 3), (30, 8), (48, 14), (80, 24), (200, 50)] {
        let mut driver = Driver::with(w, h, busy());
        opened(&mut driver, hostile_known.clone());
        assert_clean(&mut driver, "models");
        driver.press("d");
        let done = Ok(Outcome::DiscoverModels(hostile_found.clone()));
        ended(
            &mut driver,
            Command::DiscoverModels(DiscoverModels {}),
            done,
        );
        assert_clean(&mut driver, "found");
        let problem = Problem::new(ProblemKind::Forbidden, "no", HOSTILE.concat());
        ended(
            &mut driver,
            Command::DiscoverModels(DiscoverModels {}),
            Err(problem),
        );
        assert_clean(&mut driver, "failed");
    }
}
