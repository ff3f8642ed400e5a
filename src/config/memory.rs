//! `[memory]`: when and by whom long sessions are shortened, and by what texts are compared by meaning.

use std::collections::BTreeMap;

use crate::config::error::ConfigError;
use crate::config::inputs::{Inputs, number};
use crate::config::providers;
use crate::config::settings::{EmbeddingSettings, MemorySettings, ProviderKind, ProviderSettings};

/// The table. A model that compacts must be usable as the default is.
pub fn resolve(
    inputs: &Inputs<'_>,
    all: &BTreeMap<String, ProviderSettings>,
) -> Result<MemorySettings, ConfigError> {
    let config = inputs.config();
    let table = &config.memory;
    let key = |name| ["memory", name];
    if let Some(model) = &table.compaction_model {
        providers::usable(model, all, &|problem| {
            inputs.fault(&key("compaction_model"), problem)
        })?;
    }
    Ok(MemorySettings {
        compaction: table.compaction.unwrap_or(true),
        compaction_model: table.compaction_model.clone(),
        compaction_share: number(
            inputs,
            &key("compaction_share"),
            table.compaction_share,
            70,
            10..=95,
        )?,
        compaction_exchanges: number(
            inputs,
            &key("compaction_exchanges"),
            table.compaction_exchanges,
            40,
            1..=10_000,
        )?,
        embeddings: embeddings(inputs, all)?,
    })
}

/// `[memory.embeddings]`; none = it is not there.
fn embeddings(
    inputs: &Inputs<'_>,
    all: &BTreeMap<String, ProviderSettings>,
) -> Result<Option<EmbeddingSettings>, ConfigError> {
    let Some(table) = &inputs.config().memory.embeddings else {
        return Ok(None);
    };
    let key = |name| ["memory", "embeddings", name];
    let given = |name, value: &Option<String>, expected: &str| match value {
        Some(value) if !value.trim().is_empty() => Ok(value.trim().to_owned()),
        Some(_) | None => Err(ConfigError::from(
            inputs
                .fault(&key(name), format!("embeddings without a {name}"))
                .expected(expected)
                .next_step("Name it, or leave out [memory.embeddings]: it is off then"),
        )),
    };
    let provider = given("provider", &table.provider, "the name of a provider")?;
    let model = given("model", &table.model, "the id of its model for embeddings")?;
    let name = format!("{provider}/{model}");
    let kind = providers::usable(&name, all, &|problem| {
        inputs.fault(&key("provider"), problem)
    })?;
    match kind {
        ProviderKind::OpenAiChat | ProviderKind::OpenAiResponses | ProviderKind::Ollama => {}
        ProviderKind::Anthropic | ProviderKind::Gemini | ProviderKind::Scripted => {
            let problem = format!("the provider `{provider}` makes no embeddings here");
            return Err(inputs
                .fault(&key("provider"), problem)
                .expected("a provider of kind openai-chat, openai-responses or ollama")
                .into());
        }
    }
    let dimensions = table
        .dimensions
        .map(|given| number(inputs, &key("dimensions"), Some(given), 1, 1..=8192))
        .transpose()?;
    Ok(Some(EmbeddingSettings {
        provider,
        model,
        dimensions,
        min_similarity: number(
            inputs,
            &key("min_similarity"),
            table.min_similarity,
            30,
            0..=100,
        )?,
    }))
}
