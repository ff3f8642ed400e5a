//! Providers by name, their limits and prices.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt;
use leverframe::config::model_tables::{OwnTables, Rates};
use leverframe::config::settings::{
    ApprovalSettings, AttachmentSettings, BudgetSettings, DatasetSettings, EngineSettings,
    HygieneSettings, McpSecrets, MemorySettings, Paths, ProviderKind, ProviderSettings,
    ResponseCacheSettings, RetentionSettings, SelfApproval, Settings, Source,
};
use leverframe::model::prices;
use leverframe::model::profiles::Profile;
use leverframe::model::registry::{ModelLookupError, Models};
use leverframe::model::request::ModelEvent;
use leverframe::protocol::budget::{Limit, TurnLimits};
use leverframe::protocol::session::Usage;

use crate::models::helpers::{request, settings, user};

/// A configuration with just these providers.
pub fn all_settings(providers: Vec<(&str, ProviderSettings)>) -> Settings {
    Settings {
        paths: Paths {
            config_file: PathBuf::from("/nowhere/config.toml"),
            config_dir: PathBuf::from("/nowhere"),
            data_dir: PathBuf::from("/nowhere/data"),
            runtime_dir: None,
        },
        instance: "test".to_owned(),
        key_files: Vec::new(),
        skills: leverframe::config::settings::SkillSettings {
            folders: Vec::new(),
            instructions: true,
        },
        transcription: None,
        datasets: DatasetSettings {
            keep_days: 30,
            max_bytes: 1 << 28,
            max_total_bytes: 1 << 30,
        },
        attachments: AttachmentSettings {
            max_files: 10,
            max_bytes: 8 * 1024 * 1024,
        },
        model: "scripted/demo".to_owned(),
        fallback: Vec::new(),
        providers: providers
            .into_iter()
            .map(|(name, provider)| (name.to_owned(), provider))
            .collect(),
        tables: OwnTables::default(),
        channels: BTreeMap::new(),
        people: BTreeMap::new(),
        escalation: BTreeMap::new(),
        approvals: ApprovalSettings {
            self_approval: SelfApproval::Console,
            life_seconds: 60,
            high_risk_life_seconds: 60,
            approve_grace_seconds: 0,
            reminder_seconds: Vec::new(),
            max_pending_per_session: 10,
            max_pending_per_channel: 10,
        },
        budgets: BudgetSettings {
            turn: TurnLimits {
                max_steps: 8,
                max_tool_calls: 16,
                max_active_ms: 120_000,
                max_tokens: 100_000,
                max_cost_usd: None,
            },
            session: Limit::default(),
            channel: Limit::default(),
            day: Limit::default(),
        },
        engine: EngineSettings {
            max_running: 4,
            one_tool_per_step: false,
            max_model_attempts: 3,
            history_exchanges: 6,
            history_share: 50,
            shutdown_grace_seconds: 20,
            run_growth_mib: 1024,
        },
        retention: RetentionSettings {
            events: 30,
            event_archive: 90,
            file_changes: 30,
            history: 30,
            session_idle: 7,
            audit: 400,
        },
        hooks: leverframe::config::settings::HookSettings::default(),
        memory: MemorySettings {
            embeddings: None,
            compaction: true,
            compaction_model: None,
            compaction_share: 70,
            compaction_exchanges: 40,
        },
        response_cache: ResponseCacheSettings {
            ttl_minutes: 60,
            max_entries: 500,
        },
        hygiene: HygieneSettings {
            session_days: 30,
            channel_days: 30,
            global_days: 30,
            max_memories: 10_000,
            undo_days: 7,
        },
        fetch: None,
        bash: None,
        python: None,
        http_tools: BTreeMap::new(),
        mcp: BTreeMap::new(),
        mcp_secrets: McpSecrets::default(),
        tool_risk: BTreeMap::new(),
        listen: None,
        tls: None,
        listener_limits: leverframe::config::server::ListenerLimits::default(),
        log_filter: "info".to_owned(),
        log_json: false,
        telemetry: None,
        backup: None,
        log_file: leverframe::config::log::LogFileSettings {
            path: None,
            max_bytes: 1 << 24,
            keep: 1,
        },
        demo: false,
        source: Source::default(),
    }
}

fn three() -> Vec<(&'static str, ProviderSettings)> {
    let mut openai = settings(ProviderKind::OpenAiChat, "http://127.0.0.1:9/v1");
    let rates = Rates {
        input: 1.0,
        output: 2.0,
        ..Rates::default()
    };
    openai.prices.insert("house-model".to_owned(), rates);
    vec![
        ("openai", openai),
        (
            "anthropic",
            settings(ProviderKind::Anthropic, "https://api.example.org"),
        ),
        (
            "responses",
            settings(ProviderKind::OpenAiResponses, "https://api.example.org/v1"),
        ),
        ("scripted", settings(ProviderKind::Scripted, "")),
    ]
}

#[test]
fn found_by_provider_and_model() {
    let models = Models::new(&all_settings(three())).unwrap();
    let (model, id) = models.get("openai/org/name-7b").unwrap();
    assert_eq!(
        (model.provider(), model.family(), id.as_str()),
        ("openai", "openai-chat", "org/name-7b")
    );
    let (model, _) = models.get("anthropic/x").unwrap();
    assert_eq!(
        (model.provider(), model.family()),
        ("anthropic", "anthropic")
    );
    assert_eq!(models.profile("openai/x").context_window, 100_000);
    assert_eq!(models.profile("scripted/x").max_output_tokens, 1000);
    assert_eq!(models.profile("none/x"), Profile::default());
    let (model, _) = models.get("responses/x").unwrap();
    assert_eq!(
        (model.provider(), model.family()),
        ("responses", "openai-responses")
    );
}

#[test]
fn every_kind_with_an_adapter_is_built() {
    let base = "http://127.0.0.1:9";
    let models = Models::new(&all_settings(vec![
        ("gemini", settings(ProviderKind::Gemini, base)),
        ("ollama", settings(ProviderKind::Ollama, base)),
    ]))
    .unwrap();
    for name in ["gemini", "ollama"] {
        let (model, id) = models.get(&format!("{name}/org/some:7b")).unwrap();
        assert_eq!((model.provider(), model.family()), (name, name));
        assert_eq!(id, "org/some:7b");
    }
}

#[test]
fn not_found_names_what_there_is() {
    let models = Models::new(&all_settings(three())).unwrap();
    let error = |name: &str| models.get(name).err().expect("an error");
    let text = error("antropic/claude").to_string();
    assert!(text.contains("did you mean \"anthropic\""), "{text}");
    assert!(
        text.contains("anthropic, openai, responses, scripted"),
        "{text}"
    );
    assert!(!error("zzz/x").to_string().contains("did you mean"));
    for name in ["openai", "openai/", "/x", ""] {
        assert!(
            matches!(error(name), ModelLookupError::Shape { .. }),
            "{name}"
        );
    }
}

#[test]
fn unusable_settings_name_the_provider_and_not_the_key() {
    let mut bad = settings(ProviderKind::OpenAiChat, "not a url");
    let problem = Models::new(&all_settings(vec![("local", bad.clone())]))
        .err()
        .unwrap();
    assert!(
        problem.to_string().starts_with("providers.local: base_url"),
        "{problem}"
    );
    bad.base_url = "http://user:hunter2@127.0.0.1/v1".to_owned();
    let problem = Models::new(&all_settings(vec![("local", bad.clone())]))
        .err()
        .unwrap();
    assert!(!problem.to_string().contains("hunter2"), "{problem}");
    bad.base_url = "http://127.0.0.1/v1".to_owned();
    bad.api_key = Some(leverframe::config::settings::Secret::new("line\nbreak"));
    let problem = Models::new(&all_settings(vec![("local", bad)]))
        .err()
        .unwrap()
        .to_string();
    assert!(
        problem.contains("api_key") && !problem.contains("break\n"),
        "{problem}"
    );
}

#[test]
fn prices_are_known_or_unknown_but_never_zero() {
    let usage = Usage {
        input_tokens: 1_000_000,
        output_tokens: 1_000_000,
        cached_input_tokens: 400_000,
        cache_write_tokens: 200_000,
        cost_usd: None,
    };
    let models = Models::new(&all_settings(three())).unwrap();
    let cost = |model: &str| models.cost(&format!("openai/{model}"), &usage);
    let near = |found: Option<f64>, expected: f64| {
        assert!(
            (found.unwrap() - expected).abs() < 1e-9,
            "{found:?} {expected}"
        );
    };
    // 400 k plain, 400 k read, 200 k written, 1 M out.
    let opus = 0.4 * 5.0 + 0.4 * 0.5 + 0.2 * 6.25 + 25.0;
    near(cost("claude-opus-4-5-20251101"), opus);
    near(cost("anthropic/claude-opus-4-5"), opus);
    near(
        cost("gpt-5-mini-2025-08-07"),
        0.6 * 0.25 + 0.4 * 0.025 + 2.0,
    );
    // Beyond the tier in the table the price is another one, which is not known.
    let small = Usage {
        input_tokens: 100_000,
        cached_input_tokens: 0,
        cache_write_tokens: 0,
        output_tokens: 0,
        cost_usd: None,
    };
    assert_eq!(cost("gpt-6-sol"), None);
    near(models.cost("openai/gpt-6-sol", &small), 0.2);
    for unknown in [
        "gpt-5.9",
        "gpt-5-pro",
        "gpt-50",
        "claude-opus-4-9",
        "llama3",
        "",
    ] {
        assert_eq!(cost(unknown), None, "{unknown}");
    }
    let reported = Usage {
        cost_usd: Some(0.25),
        ..usage
    };
    assert_eq!(models.cost("openai/llama3", &reported), Some(0.25));
    assert_eq!(prices::as_of().len(), 10);

    near(models.cost("openai/house-model", &usage), 3.0);
    assert_eq!(models.cost("scripted/demo", &usage), Some(0.0));
    assert_eq!(models.cost("openai/unheard-of", &usage), None);
    assert_eq!(models.cost("nobody/x", &usage), None);
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_for_a_place() {
    let mut provider = settings(ProviderKind::Scripted, "");
    provider.max_concurrent = 1;
    let models = Models::new(&all_settings(vec![("scripted", provider)])).unwrap();
    let (model, _) = models.get("scripted/demo").unwrap();
    let mut first = model.stream(request(vec![user("SLOW:1000")]));
    assert!(matches!(
        first.next().await,
        Some(Ok(ModelEvent::TextDelta(_)))
    ));
    let mut second = model.stream(request(vec![user("two")]));
    let early = tokio::time::timeout(Duration::from_millis(100), second.next()).await;
    assert!(early.is_err(), "the place is taken");
    drop(first);
    let next = tokio::time::timeout(Duration::from_secs(5), second.next()).await;
    assert!(matches!(next, Ok(Some(Ok(ModelEvent::TextDelta(_))))));
}
