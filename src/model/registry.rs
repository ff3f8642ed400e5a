//! The configured providers, found by `<provider>/<model>`.
//!
//! Nothing here connects: a provider that cannot be reached is found when it is called.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt;
use tokio::sync::Semaphore;

use crate::config::settings::{ProviderKind, ProviderSettings, Settings};
use crate::model::anthropic::Anthropic;
use crate::model::gemini::Gemini;
use crate::model::http::EndpointProblem;
use crate::model::names::ToolNames;
use crate::model::ollama::Ollama;
use crate::model::openai_chat::OpenAiChat;
use crate::model::openai_responses::OpenAiResponses;
use crate::model::prices;
use crate::model::producer::produce;
use crate::model::request::{
    Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
};
use crate::model::scripted::ScriptedModel;
use crate::protocol::session::Usage;

/// Why the configuration of a provider cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("providers.{provider}: {problem}")]
pub struct ConfigProblem {
    /// Its name.
    pub provider: String,
    /// What is wrong.
    pub problem: EndpointProblem,
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
}

struct Entry {
    model: Arc<dyn Model>,
    settings: ProviderSettings,
}

impl Models {
    /// Builds every provider of the configuration.
    pub fn new(settings: &Settings) -> Result<Self, ConfigProblem> {
        let mut providers = BTreeMap::new();
        for (name, provider) in &settings.providers {
            let wrong = |problem| ConfigProblem {
                provider: name.clone(),
                problem,
            };
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
            let limited = Limited {
                inner: model,
                permits: Arc::new(Semaphore::new(provider.max_concurrent.max(1))),
            };
            providers.insert(
                name.clone(),
                Entry {
                    model: Arc::new(limited),
                    settings: provider.clone(),
                },
            );
        }
        Ok(Self {
            providers: Arc::new(providers),
        })
    }

    /// The provider and the model id of `<provider>/<model>`; a model id may hold further slashes.
    pub fn get(&self, name: &str) -> Result<(Arc<dyn Model>, String), ModelLookupError> {
        let (entry, model) = self.find(name)?;
        Ok((Arc::clone(&entry.model), model.to_owned()))
    }

    /// Names of the providers, in order.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// Context window of a provider's models, in tokens.
    pub fn context_window(&self, provider: &str) -> Option<u64> {
        self.providers
            .get(provider)
            .map(|entry| entry.settings.context_window)
    }

    /// Upper bound on output tokens per call of a provider.
    pub fn max_output_tokens(&self, provider: &str) -> Option<u32> {
        self.providers
            .get(provider)
            .map(|entry| entry.settings.max_output_tokens)
    }

    /// US dollars of `usage` on `<provider>/<model>`; none when the price is not known.
    pub fn cost(&self, name: &str, usage: &Usage) -> Option<f64> {
        let (entry, model) = self.find(name).ok()?;
        match entry.settings.kind {
            ProviderKind::Scripted => Some(0.0),
            ProviderKind::OpenAiChat
            | ProviderKind::OpenAiResponses
            | ProviderKind::Anthropic
            | ProviderKind::Gemini
            | ProviderKind::Ollama => prices::cost(&entry.settings.prices, model, usage),
        }
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

/// A provider with a bound on its calls at once; a call beyond it waits inside its stream. Tool names reach it in the
/// alphabet that every provider takes, and come back as they were.
struct Limited {
    inner: Arc<dyn Model>,
    permits: Arc<Semaphore>,
}

impl Model for Limited {
    fn provider(&self) -> &str {
        self.inner.provider()
    }

    fn family(&self) -> &'static str {
        self.inner.family()
    }

    fn stream(&self, mut request: ModelRequest) -> ModelStream {
        let names = ToolNames::of(&request);
        names.send(&mut request);
        let inner = Arc::clone(&self.inner);
        let permits = Arc::clone(&self.permits);
        produce(move |sink| async move {
            let _permit = permits.acquire_owned().await.map_err(|_| {
                ModelError::new(
                    ModelErrorKind::Cancelled,
                    format!("provider {} is shutting down", inner.provider()),
                )
            })?;
            let mut events = inner.stream(request);
            while let Some(event) = events.next().await {
                let mut event = event?;
                if let ModelEvent::Finished(answer) = &mut event {
                    names.receive(answer);
                }
                sink.send(event).await;
            }
            Ok(())
        })
    }
}
