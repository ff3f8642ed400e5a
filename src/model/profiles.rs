//! What a model can do and how it wants to be asked. Data, and the order in which it is taken.
//!
//! What is set for the model under its provider comes first, then what is set for the provider, then the operator's own
//! table, then the shipped one, then what is assumed of the provider's kind. The number that a call asks for is never more
//! than a table says the model can give.

use std::sync::LazyLock;

use crate::config::model_tables::{OwnTables, ProfilePatch, Profiles, PromptCache, row_for};
use crate::config::settings::{ProviderKind, ProviderSettings};
use crate::config::toml_text::TomlText;
use crate::protocol::options::ModelParameters;

/// One model.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Context window in tokens.
    pub context_window: u64,
    /// Upper bound on output tokens per call.
    pub max_output_tokens: u32,
    /// Whether it can call tools; none = not known, tools are sent.
    pub tools: Option<bool>,
    /// Whether it can propose several calls at once; none = not known.
    pub parallel_tool_calls: Option<bool>,
    /// Whether it takes pictures; none = not known, pictures are sent.
    pub pictures: Option<bool>,
    /// Whether it reasons: its reasoning items are asked for and replayed.
    pub reasoning: bool,
    /// Reasoning effort asked for, in the provider's word; none = nothing is sent.
    pub effort: Option<String>,
    pub prompt_cache: PromptCache,
    /// How it is asked where neither a message nor a channel says otherwise.
    pub parameters: ModelParameters,
}

impl Default for Profile {
    /// A model that nothing is known about.
    fn default() -> Self {
        Self {
            context_window: 8_192,
            max_output_tokens: 4_096,
            tools: None,
            parallel_tool_calls: None,
            pictures: None,
            reasoning: false,
            effort: None,
            prompt_cache: PromptCache::None,
            parameters: ModelParameters::default(),
        }
    }
}

/// The shipped table, embedded at build time.
const TABLE: &str = include_str!("profiles.toml");

static SHIPPED: LazyLock<Result<Profiles, String>> = LazyLock::new(|| {
    let text = TomlText::new(std::path::Path::new("profiles.toml"), TABLE);
    Profiles::parse(&text, None).map_err(|error| error.to_string())
});

/// The date of the shipped profiles, `YYYY-MM-DD`.
pub fn as_of() -> &'static str {
    SHIPPED.as_ref().map_or("", |table| table.as_of.as_str())
}

/// Output tokens asked for of a model that is in a table: enough for an answer, little enough that reserving them does
/// not use up a budget.
const ASK: u32 = 8_192;
/// The same where thinking counts as output.
const ASK_REASONING: u32 = 16_384;
/// Most context that is asked of an Ollama that the operator said nothing about: it takes the memory for all of it.
const OLLAMA_WINDOW: u64 = 16_384;

/// Where the most specific part of a profile is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nothing names the model: what is assumed of the provider's kind.
    Assumed,
    /// The shipped table.
    Shipped,
    /// The operator's table, by its file.
    File(String),
    /// Settings under the provider.
    Provider,
}

/// The profile of a model of `provider`, and where it is from.
pub fn resolve(provider: &ProviderSettings, own: &OwnTables, model: &str) -> (Profile, Source) {
    let family = |row: &ProfilePatch| row.family == Some(true);
    let shipped = SHIPPED
        .as_ref()
        .ok()
        .filter(|_| provider.kind != ProviderKind::Scripted)
        .and_then(|table| row_for(&table.rows, model, family));
    let file = own.profiles.as_ref();
    let own_row = file.and_then(|own| row_for(&own.table.rows, model, family));
    let tuning = &provider.tuning;
    let set = row_for(&tuning.models, model, family);
    let source = match (set, own_row, file, shipped) {
        (Some(_), _, _, _) => Source::Provider,
        (None, Some(_), Some(own), _) => Source::File(own.file.clone()),
        (None, _, _, Some(_)) => Source::Shipped,
        (None, _, _, None) => Source::Assumed,
    };

    // From the highest layer to the lowest: the first that says something is taken.
    let rows = [set, own_row, shipped];
    let tables = [own_row, shipped];
    let reasoning = first(&rows, |row| row.reasoning).unwrap_or(false);
    let tools = match provider.kind {
        ProviderKind::Scripted => Some(true),
        _ => first(&rows, |row| row.tools),
    };
    let window = set
        .and_then(|row| row.context_window)
        .or(tuning.context_window)
        .or_else(|| {
            let listed = first(&tables, |row| row.context_window)?;
            Some(match provider.kind {
                ProviderKind::Ollama => listed.min(OLLAMA_WINDOW),
                _ => listed,
            })
        })
        .unwrap_or(provider.context_window);
    let asked = set
        .and_then(|row| row.max_output_tokens)
        .or(tuning.max_output_tokens)
        .unwrap_or_else(|| {
            let usual = match tables {
                [None, None] => provider.max_output_tokens,
                _ if reasoning => ASK_REASONING,
                _ => ASK,
            };
            let most = first(&tables, |row| row.max_output_tokens).unwrap_or(u32::MAX);
            // Half of a small window is left for what is asked.
            let half = u32::try_from(window / 2).unwrap_or(u32::MAX);
            usual.min(most).min(half)
        });
    // In the order of the effort: the model under its provider, the provider, the tables.
    let said = |row: &ProfilePatch| row.parameters();
    let mut parameters = set.map(said).unwrap_or_default().or(&tuning.parameters);
    for row in tables.into_iter().flatten() {
        parameters = parameters.or(&row.parameters());
    }
    let profile = Profile {
        context_window: window,
        max_output_tokens: asked,
        tools,
        parallel_tool_calls: match tools {
            Some(false) => Some(false),
            Some(true) | None => first(&rows, |row| row.parallel_tool_calls),
        },
        pictures: match provider.kind {
            ProviderKind::Scripted => Some(false),
            _ => first(&rows, |row| row.pictures),
        },
        reasoning,
        effort: set
            .and_then(|row| row.effort.clone())
            .or_else(|| tuning.effort.clone())
            .or_else(|| tables.iter().flatten().find_map(|row| row.effort.clone())),
        prompt_cache: first(&rows, |row| row.prompt_cache).unwrap_or_else(|| usual_cache(provider)),
        parameters,
    };
    (profile, source)
}

fn first<T>(
    rows: &[Option<&ProfilePatch>],
    field: impl Fn(&ProfilePatch) -> Option<T>,
) -> Option<T> {
    rows.iter().flatten().find_map(|row| field(row))
}

/// How the interface of a provider caches; a server that only speaks its language may not.
fn usual_cache(provider: &ProviderSettings) -> PromptCache {
    match provider.kind {
        ProviderKind::Anthropic => PromptCache::Breakpoints,
        ProviderKind::OpenAiResponses if is_openai(&provider.base_url) => PromptCache::Key,
        ProviderKind::Gemini => PromptCache::Automatic,
        ProviderKind::OpenAiChat if is_openai(&provider.base_url) => PromptCache::Automatic,
        ProviderKind::OpenAiChat
        | ProviderKind::OpenAiResponses
        | ProviderKind::Ollama
        | ProviderKind::Scripted => PromptCache::None,
    }
}

fn is_openai(base_url: &str) -> bool {
    reqwest::Url::parse(base_url).is_ok_and(|url| url.host_str() == Some("api.openai.com"))
}
