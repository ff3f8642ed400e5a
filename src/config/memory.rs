//! `[memory]`: when and by whom long sessions are shortened, and by what texts are compared by meaning.

use std::collections::BTreeMap;

use crate::config::error::ConfigError;
use crate::config::inputs::{Inputs, Section, field};
use crate::config::providers;
use crate::config::settings::{EmbeddingSettings, MemorySettings, ProviderKind, ProviderSettings};

/// The table. A model that compacts must be usable as the default is.
pub fn resolve(
    inputs: &Inputs<'_>,
    all: &BTreeMap<String, ProviderSettings>,
) -> Result<MemorySettings, ConfigError> {
    let config = inputs.config();
    let table = &config.memory;
    let section = Section::new(inputs, &["memory"], table);
    if let Some(model) = &table.compaction_model {
        providers::usable(model, all, &|problem| {
            section.fault("compaction_model", problem)
        })?;
    }
    Ok(MemorySettings {
        compaction: table.compaction.unwrap_or(true),
        compaction_model: table.compaction_model.clone(),
        compaction_share: section.number(field!(table.compaction_share), 70, 10..=95)?,
        compaction_exchanges: section.number(field!(table.compaction_exchanges), 40, 1..=10_000)?,
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
    let section = Section::new(inputs, &["memory", "embeddings"], table);
    let given = |name, value: &Option<String>, expected: &str| match value {
        Some(value) if !value.trim().is_empty() => Ok(value.trim().to_owned()),
        Some(_) | None => Err(ConfigError::from(
            section
                .fault(name, format!("embeddings without a {name}"))
                .expected(expected)
                .next_step("Name it, or leave out [memory.embeddings]: it is off then"),
        )),
    };
    let provider = given("provider", &table.provider, "the name of a provider")?;
    let model = given("model", &table.model, "the id of its model for embeddings")?;
    let name = format!("{provider}/{model}");
    let kind = providers::usable(&name, all, &|problem| section.fault("provider", problem))?;
    match kind {
        ProviderKind::OpenAiChat | ProviderKind::OpenAiResponses | ProviderKind::Ollama => {}
        ProviderKind::Anthropic | ProviderKind::Gemini | ProviderKind::Scripted => {
            let problem = format!("the provider `{provider}` makes no embeddings here");
            return Err(section
                .fault("provider", problem)
                .expected("a provider of kind openai-chat, openai-responses or ollama")
                .into());
        }
    }
    Ok(Some(EmbeddingSettings {
        provider,
        model,
        dimensions: section.given(field!(table.dimensions), 1..=8192)?,
        min_similarity: section.number(field!(table.min_similarity), 30, 0..=100)?,
    }))
}
