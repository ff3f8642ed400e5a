//! Which layer decides what.

use leverframe::config::model_tables::{
    OwnTable, OwnTables, ProfilePatch, PromptCache, Rates, Table,
};
use leverframe::config::settings::{ModelTuning, ProviderKind, ProviderSettings};
use leverframe::model::prices::{self, PriceSource};
use leverframe::model::profiles::{self, Profile, Source};
use leverframe::protocol::options::{ModelParameters, ToolChoice};
use leverframe::protocol::session::Usage;

use crate::models::helpers::settings;

fn own(model: &str, patch: ProfilePatch) -> OwnTables {
    OwnTables {
        profiles: Some(OwnTable {
            file: "/etc/models.toml".to_owned(),
            table: Table {
                as_of: "2026-11-01".to_owned(),
                rows: [(model.to_owned(), patch)].into(),
            },
        }),
        prices: None,
    }
}

fn provider(kind: ProviderKind) -> ProviderSettings {
    settings(kind, "http://127.0.0.1:9/v1")
}

#[test]
fn each_layer_comes_before_the_ones_below() {
    let mut chat = provider(ProviderKind::OpenAiChat);
    let none = OwnTables::default();
    // Nothing is known: what is assumed of the kind.
    let (assumed, source) = profiles::resolve(&chat, &none, "house-model");
    assert_eq!(source, Source::Assumed);
    assert_eq!(
        assumed,
        Profile {
            context_window: 100_000,
            max_output_tokens: 1000,
            ..Profile::default()
        }
    );
    // The shipped table.
    let (shipped, source) = profiles::resolve(&chat, &none, "gpt-4.1-mini-2025-04-14");
    assert_eq!(source, Source::Shipped);
    assert_eq!(shipped.context_window, 1_047_576);
    assert_eq!(
        (
            shipped.tools,
            shipped.parallel_tool_calls,
            shipped.reasoning
        ),
        (Some(true), Some(true), false)
    );
    // The operator's table, field by field.
    let patch = ProfilePatch {
        context_window: Some(50_000),
        max_output_tokens: Some(3000),
        effort: Some("low".to_owned()),
        temperature: Some(0.1),
        top_p: Some(0.2),
        tool_choice: Some(ToolChoice::None),
        ..ProfilePatch::default()
    };
    let tables = own("gpt-4.1-mini", patch);
    let (filed, source) = profiles::resolve(&chat, &tables, "gpt-4.1-mini");
    assert_eq!(source, Source::File("/etc/models.toml".to_owned()));
    assert_eq!(
        (filed.context_window, filed.max_output_tokens, filed.tools),
        (50_000, 3000, Some(true))
    );
    assert_eq!(filed.effort.as_deref(), Some("low"));
    // What is set for the provider.
    chat.tuning = ModelTuning {
        context_window: Some(40_000),
        max_output_tokens: Some(6000),
        effort: Some("medium".to_owned()),
        parameters: ModelParameters {
            temperature: Some(0.3),
            top_p: Some(0.4),
            tool_choice: None,
        },
        ..ModelTuning::default()
    };
    let (set, _) = profiles::resolve(&chat, &tables, "gpt-4.1-mini");
    assert_eq!((set.context_window, set.max_output_tokens), (40_000, 6000));
    assert_eq!(set.effort.as_deref(), Some("medium"));
    // What is set for the model under the provider.
    let patch = ProfilePatch {
        context_window: Some(30_000),
        max_output_tokens: Some(20_000),
        tools: Some(false),
        parallel_tool_calls: Some(true),
        pictures: None,
        reasoning: Some(true),
        effort: Some("high".to_owned()),
        prompt_cache: Some(PromptCache::Automatic),
        temperature: Some(0.5),
        ..ProfilePatch::default()
    };
    chat.tuning.models.insert("gpt-4.1-mini".to_owned(), patch);
    let (last, source) = profiles::resolve(&chat, &tables, "gpt-4.1-mini");
    assert_eq!(source, Source::Provider);
    let expected = Profile {
        context_window: 30_000,
        max_output_tokens: 20_000,
        tools: Some(false),
        // Without tools there is nothing to call at once.
        parallel_tool_calls: Some(false),
        pictures: None,
        reasoning: true,
        effort: Some("high".to_owned()),
        prompt_cache: PromptCache::Automatic,
        parameters: ModelParameters {
            temperature: Some(0.5),
            top_p: Some(0.4),
            tool_choice: Some(ToolChoice::None),
        },
    };
    assert_eq!(last, expected);
    // Another model of the provider is not touched by that.
    let (other, _) = profiles::resolve(&chat, &tables, "gpt-4o");
    assert_eq!((other.context_window, other.tools), (40_000, Some(true)));
}

#[test]
fn a_call_asks_for_less_than_a_model_can_give() {
    let none = OwnTables::default();
    let asked = |kind, model: &str| {
        profiles::resolve(&provider(kind), &none, model)
            .0
            .max_output_tokens
    };
    assert_eq!(asked(ProviderKind::Anthropic, "claude-opus-5"), 16_384);
    assert_eq!(asked(ProviderKind::OpenAiChat, "gpt-4o"), 8192);
    // Never more than the model can give, nor than half of what it can take.
    assert_eq!(asked(ProviderKind::OpenAiChat, "llama3:8b"), 4096);
    let patch = ProfilePatch {
        context_window: Some(4096),
        ..ProfilePatch::default()
    };
    let tables = own("tiny", patch);
    let (tiny, _) = profiles::resolve(&provider(ProviderKind::OpenAiChat), &tables, "tiny");
    assert_eq!((tiny.context_window, tiny.max_output_tokens), (4096, 2048));
    // Ollama takes memory for the whole window, so a large one must be asked for.
    let mut ollama = provider(ProviderKind::Ollama);
    let (qwen, _) = profiles::resolve(&ollama, &none, "qwen3-coder:30b");
    assert_eq!(qwen.context_window, 16_384);
    ollama.tuning.context_window = Some(65_536);
    let (qwen, _) = profiles::resolve(&ollama, &none, "qwen3-coder:30b");
    assert_eq!(qwen.context_window, 65_536);
}

#[test]
fn the_cache_follows_from_the_interface_and_the_address() {
    let cache = |kind, base: &str, model: &str| {
        profiles::resolve(&settings(kind, base), &OwnTables::default(), model)
            .0
            .prompt_cache
    };
    let openai = "https://api.openai.com/v1";
    let local = "http://127.0.0.1:8080/v1";
    for (kind, base, expected) in [
        (ProviderKind::OpenAiChat, openai, PromptCache::Automatic),
        (ProviderKind::OpenAiChat, local, PromptCache::None),
        (
            ProviderKind::OpenAiChat,
            "https://api.openai.com.evil.example/v1",
            PromptCache::None,
        ),
        (ProviderKind::OpenAiResponses, openai, PromptCache::Key),
        (ProviderKind::OpenAiResponses, local, PromptCache::None),
        (
            ProviderKind::Anthropic,
            "https://api.anthropic.com",
            PromptCache::Breakpoints,
        ),
        (
            ProviderKind::Gemini,
            "https://g.example",
            PromptCache::Automatic,
        ),
        (
            ProviderKind::Ollama,
            "http://127.0.0.1:11434",
            PromptCache::None,
        ),
        (ProviderKind::Scripted, "", PromptCache::None),
    ] {
        assert_eq!(cache(kind, base, "some-model"), expected, "{kind:?} {base}");
    }
    let deepseek = cache(
        ProviderKind::OpenAiChat,
        "https://api.deepseek.com",
        "deepseek-chat",
    );
    assert_eq!(deepseek, PromptCache::Automatic);
}

#[test]
fn prices_come_from_the_provider_the_file_and_the_table_in_this_order() {
    let rates = |input| Rates {
        input,
        output: 1.0,
        ..Rates::default()
    };
    let mut chat = provider(ProviderKind::OpenAiChat);
    let mut tables = OwnTables {
        prices: Some(OwnTable {
            file: "/etc/prices.toml".to_owned(),
            table: Table {
                as_of: "2026-10-01".to_owned(),
                rows: [("gpt-4o".to_owned(), rates(7.0))].into(),
            },
        }),
        profiles: None,
    };
    let price = |chat: &ProviderSettings, tables: &OwnTables, model| {
        prices::price_of(chat, tables, model)
            .map(|price| (price.rates.input, price.as_of, price.source))
    };
    let file = PriceSource::File("/etc/prices.toml".to_owned());
    let dated = |text: &str| Some(text.to_owned());
    assert_eq!(
        price(&chat, &tables, "gpt-4o-2024-08-06"),
        Some((7.0, dated("2026-10-01"), file))
    );
    // What the file does not name, the shipped table still does.
    assert_eq!(
        price(&chat, &tables, "gpt-4o-mini"),
        Some((0.15, dated(prices::as_of()), PriceSource::Shipped))
    );
    assert_eq!(
        price(&chat, &tables, "llama3:8b"),
        None,
        "no price, not zero"
    );
    chat.tuning.free = true;
    assert_eq!(
        price(&chat, &tables, "llama3:8b"),
        Some((0.0, None, PriceSource::Provider))
    );
    chat.prices.insert("gpt-4o".to_owned(), rates(9.0));
    assert_eq!(
        price(&chat, &tables, "gpt-4o"),
        Some((9.0, None, PriceSource::Provider))
    );
    chat.tuning.free = false;
    chat.prices.clear();
    tables.prices = None;
    assert_eq!(
        price(&chat, &tables, "gpt-4o").map(|price| price.0),
        Some(2.5)
    );
    // A local server's models have no price until somebody says so.
    for kind in [ProviderKind::Ollama, ProviderKind::OpenAiChat] {
        assert_eq!(price(&provider(kind), &tables, "qwen3:8b"), None);
    }
    assert_eq!(prices::cost(None, &Usage::default()), None);
}
