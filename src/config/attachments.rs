//! `[attachments]`: how many files come with a message, and how large they are. `[transcription]`: who says what is said
//! in recordings.

use std::collections::BTreeMap;

use crate::config::error::ConfigError;
use crate::config::inputs::{Inputs, Section, field};
use crate::config::providers;
use crate::config::settings::{
    AttachmentSettings, ProviderKind, ProviderSettings, TranscriptionSettings,
};
use crate::protocol::artifact::{MAX_ATTACHED_MIB, MAX_ATTACHMENTS};

/// The settings.
pub fn resolve(inputs: &Inputs<'_>) -> Result<AttachmentSettings, ConfigError> {
    let table = &inputs.config().attachments;
    let section = Section::new(inputs, &["attachments"], table);
    let max_files = section.number(field!(table.max_files), 10, 0..=MAX_ATTACHMENTS)?;
    let max_mib = section.number(field!(table.max_mib), 8, 1..=MAX_ATTACHED_MIB)?;
    Ok(AttachmentSettings {
        max_files,
        max_bytes: max_mib * 1024 * 1024,
    })
}

/// `[transcription]`; none = it is not there.
pub fn transcription(
    inputs: &Inputs<'_>,
    all: &BTreeMap<String, ProviderSettings>,
) -> Result<Option<TranscriptionSettings>, ConfigError> {
    let Some(table) = &inputs.config().transcription else {
        return Ok(None);
    };
    let section = Section::new(inputs, &["transcription"], table);
    let given = |name, value: &Option<String>, expected: &str| match value {
        Some(value) if !value.trim().is_empty() => Ok(value.trim().to_owned()),
        Some(_) | None => Err(ConfigError::from(
            section
                .fault(name, format!("transcription without a {name}"))
                .expected(expected)
                .next_step("Name it, or leave out [transcription]: it is off then"),
        )),
    };
    let provider = given("provider", &table.provider, "the name of a provider")?;
    let model = given("model", &table.model, "the id of its model for speech")?;
    let kind = providers::usable(&format!("{provider}/{model}"), all, &|problem| {
        section.fault("provider", problem)
    })?;
    match kind {
        ProviderKind::OpenAiChat | ProviderKind::OpenAiResponses => {}
        ProviderKind::Anthropic
        | ProviderKind::Gemini
        | ProviderKind::Ollama
        | ProviderKind::Scripted => {
            let problem = format!("the provider `{provider}` transcribes nothing here");
            return Err(section
                .fault("provider", problem)
                .expected("a provider of kind openai-chat or openai-responses")
                .into());
        }
    }
    Ok(Some(TranscriptionSettings { provider, model }))
}
