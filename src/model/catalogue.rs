//! The configured providers and the models that the configuration names, with what is known of each. Asks nobody.

use std::collections::BTreeSet;

use crate::config::model_tables::PromptCache;
use crate::config::providers;
use crate::config::settings::{ProviderKind, ProviderSettings, Settings};
use crate::model::http::is_loopback_address;
use crate::model::prices::{self, PriceSource};
use crate::model::profiles::{self, Source};
use crate::protocol::models::{
    EMBEDS, KeyState, ModelEntry, ModelPrice, ModelProfile, ProviderModels,
};

/// Every provider, in the order of names.
pub fn list(settings: &Settings) -> Vec<ProviderModels> {
    settings
        .providers
        .iter()
        .map(|(name, provider)| {
            let missing = providers::missing_key(provider);
            ProviderModels {
                provider: name.clone(),
                kind: kind_word(provider.kind).to_owned(),
                address: provider.base_url.clone(),
                local: is_local(provider),
                key: match (&provider.api_key, missing) {
                    (Some(_), _) => KeyState::Present,
                    (None, Some(_)) => KeyState::Missing,
                    (None, None) => KeyState::None,
                },
                key_from: provider
                    .tuning
                    .key_from
                    .clone()
                    .or_else(|| missing.map(str::to_owned)),
                models: named(settings, name, provider)
                    .into_iter()
                    .map(|model| entry(settings, name, provider, &model))
                    .collect(),
            }
        })
        .collect()
}

/// Whether asking it stays on this machine.
pub fn is_local(provider: &ProviderSettings) -> bool {
    provider.kind == ProviderKind::Scripted || is_loopback_address(&provider.base_url)
}

/// Whether a server on this machine only hands a model's calls on: Ollama's cloud.
pub fn is_elsewhere(model: &str) -> bool {
    model.ends_with(":cloud") || model.ends_with("-cloud")
}

/// A provider's kind as the file spells it.
pub fn kind_word(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::OpenAiChat => "openai-chat",
        ProviderKind::OpenAiResponses => "openai-responses",
        ProviderKind::Anthropic => "anthropic",
        ProviderKind::Gemini => "gemini",
        ProviderKind::Ollama => "ollama",
        ProviderKind::Scripted => "scripted",
    }
}

/// The ids of a provider's models that the configuration names.
fn named(settings: &Settings, name: &str, provider: &ProviderSettings) -> BTreeSet<String> {
    let used = uses(settings)
        .filter(|(_, (of, _))| *of == name)
        .map(|(_, (_, id))| id.to_owned());
    let tuned = provider
        .tuning
        .models
        .iter()
        .filter(|(_, patch)| patch.family != Some(true))
        .map(|(id, _)| id.clone());
    let priced = provider.prices.keys().cloned();
    used.chain(tuned).chain(priced).collect()
}

/// What each model in use is used for, with its provider and its id there.
fn uses(settings: &Settings) -> impl Iterator<Item = (String, (&str, &str))> {
    let channels = settings.channels.iter().filter_map(|(name, channel)| {
        let model = channel.model.as_deref()?;
        Some((format!("channel {name}"), model))
    });
    let fallback = settings.fallback.iter().enumerate();
    let fallback = fallback.map(|(at, model)| (format!("fallback {}", at + 1), model.as_str()));
    let of_channels = settings.channels.iter().flat_map(|(name, channel)| {
        let models = channel.fallback.iter().flatten().enumerate();
        models.map(move |(at, model)| (format!("fallback {} of {name}", at + 1), model.as_str()))
    });
    let compacts = settings.memory.compaction_model.as_deref();
    let compacts = compacts.map(|model| ("compaction".to_owned(), model));
    let embeds = settings.memory.embeddings.as_ref();
    let embeds = embeds.map(|set| {
        (
            EMBEDS.to_owned(),
            (set.provider.as_str(), set.model.as_str()),
        )
    });
    std::iter::once(("default".to_owned(), settings.model.as_str()))
        .chain(fallback)
        .chain(channels)
        .chain(of_channels)
        .chain(compacts)
        .filter_map(|(what, model)| Some((what, model.split_once('/')?)))
        .chain(embeds)
}

fn entry(settings: &Settings, name: &str, provider: &ProviderSettings, id: &str) -> ModelEntry {
    let model = format!("{name}/{id}");
    let (profile, source) = profiles::resolve(provider, &settings.tables, id);
    let price = prices::price_of(provider, &settings.tables, id);
    ModelEntry {
        used_for: uses(settings)
            .filter(|(_, used)| *used == (name, id))
            .map(|(what, _)| what)
            .collect(),
        profile: ModelProfile {
            context_window: profile.context_window,
            max_output_tokens: profile.max_output_tokens,
            tools: profile.tools,
            parallel_tool_calls: profile.parallel_tool_calls,
            pictures: profile.pictures,
            reasoning: profile.reasoning,
            effort: profile.effort,
            prompt_cache: cache_word(profile.prompt_cache).to_owned(),
            source: match source {
                Source::Assumed => "assumed".to_owned(),
                Source::Shipped => format!("shipped {}", profiles::as_of()),
                Source::File(file) => file,
                Source::Provider => "configuration".to_owned(),
            },
        },
        price: price.map(|price| ModelPrice {
            input: price.rates.input,
            output: price.rates.output,
            cache_read: price.rates.cache_read,
            cache_write: price.rates.cache_write,
            max_input: price.rates.max_input,
            source: match price.source {
                PriceSource::Shipped => "shipped".to_owned(),
                PriceSource::File(file) => file,
                PriceSource::Provider => "configuration".to_owned(),
            },
            as_of: price.as_of,
        }),
        note: (is_elsewhere(id) && is_local(provider))
            .then(|| "runs in the server's cloud, not on this machine".to_owned()),
        model,
    }
}

fn cache_word(cache: PromptCache) -> &'static str {
    match cache {
        PromptCache::None => "none",
        PromptCache::Automatic => "automatic",
        PromptCache::Breakpoints => "breakpoints",
        PromptCache::Key => "key",
    }
}
