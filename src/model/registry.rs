//! The configured providers, found by `<provider>/<model>`.
//!
//! Nothing here connects: a provider that cannot be reached is found when it is called.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::model_tables::OwnTables;
use crate::config::settings::{ProviderKind, ProviderSettings, Settings};
use crate::model::anthropic::Anthropic;
use crate::model::embeddings::Embedder;
use crate::model::gemini::Gemini;
use crate::model::http::address::EndpointProblem;
use crate::model::limits::LimitedProvider;
use crate::model::ollama::Ollama;
use crate::model::openai_chat::OpenAiChat;
use crate::model::openai_responses::OpenAiResponses;
use crate::model::prices::{self, KnownPrice};
use crate::model::profiles::{self, Profile};
use crate::model::request::Model;
use crate::model::scripted::ScriptedModel;
use crate::model::transcription::Transcriber;
use crate::protocol::session::Usage;
use crate::text::redact::Redactor;

/// Why the configuration of a provider cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("providers.{provider}: {problem}")]
pub struct ConfigProblem {
    pub provider: String,
    /// What is wrong.
    pub problem: EndpointProblem,
}

impl ConfigProblem {
    fn of(provider: &str, problem: EndpointProblem) -> Self {
        Self {
            provider: provider.to_owned(),
            problem,
        }
    }
}

/// Why no model was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelLookupError {
    /// Not of the form `<provider>/<model>`.
    #[error("model {given:?} is not of the form <provider>/<model>; known providers: {known}")]
    Shape {
        /// What was given.
        given: String,
        /// The known ones, comma separated.
        known: String,
    },
    /// No provider of that name.
    #[error("no provider {given:?}{}; known providers: {known}", nearest_hint(.nearest.as_deref()))]
    UnknownProvider {
        /// What was given.
        given: String,
        /// A known name that looks like it.
        nearest: Option<String>,
        /// The known ones, comma separated.
        known: String,
    },
}

fn nearest_hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean {name:?}?)"))
}

/// All configured providers.
#[derive(Clone)]
pub struct Models {
    providers: Arc<BTreeMap<String, Entry>>,
    tables: Arc<OwnTables>,
    redactor: Redactor,
    embedder: Option<Arc<Embedder>>,
    transcriber: Option<Arc<Transcriber>>,
}

#[derive(Clone)]
struct Entry {
    model: LimitedProvider,
    settings: ProviderSettings,
}

impl Models {
    /// Builds every provider of the configuration.
    pub fn new(settings: &Settings) -> Result<Self, ConfigProblem> {
        Self::build(settings, None)
    }

    /// The same for another configuration. Providers that stay as they were keep their calls under way within their
    /// bound.
    pub fn renewed(&self, settings: &Settings) -> Result<Self, ConfigProblem> {
        Self::build(settings, Some(self))
    }

    fn build(settings: &Settings, before: Option<&Self>) -> Result<Self, ConfigProblem> {
        let mut providers = BTreeMap::new();
        for (name, provider) in &settings.providers {
            let known = before.and_then(|before| before.providers.get(name));
            if let Some(known) = known.filter(|known| known.settings == *provider) {
                providers.insert(name.clone(), known.clone());
                continue;
            }
            let wrong = |problem| ConfigProblem::of(name, problem);
            let model: Arc<dyn Model> = match provider.kind {
                ProviderKind::OpenAiChat => {
                    Arc::new(OpenAiChat::new(name, provider).map_err(wrong)?)
                }
                ProviderKind::Anthropic => Arc::new(Anthropic::new(name, provider).map_err(wrong)?),
                ProviderKind::OpenAiResponses => {
                    Arc::new(OpenAiResponses::new(name, provider).map_err(wrong)?)
                }
                ProviderKind::Gemini => Arc::new(Gemini::new(name, provider).map_err(wrong)?),
                ProviderKind::Ollama => Arc::new(Ollama::new(name, provider).map_err(wrong)?),
                ProviderKind::Scripted => {
                    Arc::new(ScriptedModel::new(settings.demo).named(name.clone()))
                }
            };
            providers.insert(
                name.clone(),
                Entry {
                    model: LimitedProvider::new(model, provider.max_concurrent),
                    settings: provider.clone(),
                },
            );
        }
        // A provider that is not there: the configuration was refused for that.
        let service = |name: &str| {
            let entry = providers.get(name)?;
            Some((&entry.settings, entry.model.limiter().clone()))
        };
        let embeddings = settings.memory.embeddings.as_ref().and_then(|of| {
            let (provider, limiter) = service(&of.provider)?;
            let made = Embedder::new(of.clone(), provider, limiter);
            Some(made.map_err(|problem| ConfigProblem::of(&of.provider, problem)))
        });
        let speech = settings.transcription.as_ref().and_then(|of| {
            let (provider, limiter) = service(&of.provider)?;
            let made = Transcriber::new(of, provider, limiter);
            Some(made.map_err(|problem| ConfigProblem::of(&of.provider, problem)))
        });
        Ok(Self {
            embedder: embeddings.transpose()?.map(Arc::new),
            transcriber: speech.transpose()?.map(Arc::new),
            providers: Arc::new(providers),
            tables: Arc::new(settings.tables.clone()),
            redactor: Redactor::new(),
        })
    }

    /// The same; no answer holds a secret that `redactor` knows.
    pub fn redacting(mut self, redactor: &Redactor) -> Self {
        self.redactor = redactor.clone();
        self
    }

    /// The provider and the model id of `<provider>/<model>`; a model id may hold further slashes.
    pub fn get(&self, name: &str) -> Result<(Arc<dyn Model>, String), ModelLookupError> {
        let (model, id) = self.limited(name)?;
        Ok((Arc::new(model), id))
    }

    /// The provider and the model id, with the provider's bound on calls at once, for callers that wait for their
    /// place before they commit to the call. What [`Models::get`] gives waits inside its stream.
    pub fn limited(&self, name: &str) -> Result<(LimitedProvider, String), ModelLookupError> {
        let (entry, model) = self.find(name)?;
        let limited = entry.model.clone().redacting(&self.redactor);
        Ok((limited, model.to_owned()))
    }

    /// The model for embeddings; none = texts are not compared by meaning.
    pub fn embedder(&self) -> Option<Arc<Embedder>> {
        self.embedder.clone()
    }

    /// The model for speech; none = nobody transcribes it.
    pub fn transcriber(&self) -> Option<Arc<Transcriber>> {
        self.transcriber.clone()
    }

    /// Whether `<provider>/<model>` is the built-in script, which is no LLM.
    pub fn is_scripted(&self, name: &str) -> bool {
        self.find(name)
            .is_ok_and(|(entry, _)| entry.settings.kind == ProviderKind::Scripted)
    }

    /// Names of the providers, in order.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// The settings of the provider of `<provider>/<model>`.
    pub fn settings_of(&self, name: &str) -> Option<&ProviderSettings> {
        self.find(name).ok().map(|(entry, _)| &entry.settings)
    }

    /// What `<provider>/<model>` can do; of an unknown provider, what is assumed of any model.
    pub fn profile(&self, name: &str) -> Profile {
        self.find(name).map_or_else(
            |_| Profile::default(),
            |(entry, model)| profiles::resolve(&entry.settings, &self.tables, model).0,
        )
    }

    /// The price of `<provider>/<model>`; none when it is not known.
    pub fn price(&self, name: &str) -> Option<KnownPrice> {
        let (entry, model) = self.find(name).ok()?;
        prices::price_of(&entry.settings, &self.tables, model)
    }

    /// US dollars of `usage` on `<provider>/<model>`; none when the price is not known.
    pub fn cost(&self, name: &str, usage: &Usage) -> Option<f64> {
        self.find(name).ok()?;
        prices::cost(self.price(name).map(|price| price.rates).as_ref(), usage)
    }

    /// The usage with what it costs on `<provider>/<model>`: as the provider says, else by the price.
    pub fn priced(&self, name: &str, usage: Usage) -> Usage {
        let cost_usd = usage.cost_usd.or_else(|| self.cost(name, &usage));
        Usage { cost_usd, ..usage }
    }

    fn find<'a>(&self, name: &'a str) -> Result<(&Entry, &'a str), ModelLookupError> {
        let known = || self.provider_names().collect::<Vec<_>>().join(", ");
        let Some((provider, model)) = name
            .split_once('/')
            .filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
        else {
            return Err(ModelLookupError::Shape {
                given: name.to_owned(),
                known: known(),
            });
        };
        match self.providers.get(provider) {
            Some(entry) => Ok((entry, model)),
            None => Err(ModelLookupError::UnknownProvider {
                given: provider.to_owned(),
                nearest: self.nearest(provider),
                known: known(),
            }),
        }
    }

    fn nearest(&self, given: &str) -> Option<String> {
        self.provider_names()
            .map(|name| (strsim::jaro_winkler(&given.to_lowercase(), name), name))
            .filter(|(likeness, _)| *likeness > 0.75)
            .max_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, name)| name.to_owned())
    }
}
