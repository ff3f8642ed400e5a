//! Texts as vectors: `/embeddings` as OpenAI made it, and Ollama's own `/api/embed`.
//!
//! What is given back is complete: one vector for each text, in the order of the texts, all of the same size.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::config::settings::{EmbeddingSettings, ProviderKind, ProviderSettings};
use crate::model::failure::Failure;
use crate::model::http::Endpoint;
use crate::model::http::address::EndpointProblem;
use crate::model::limits::Limiter;
use crate::model::request::{ModelError, ModelErrorKind};

/// Most texts of one call.
pub const MOST_TEXTS: usize = 64;
/// Most numbers of a vector.
const MOST_NUMBERS: usize = 8192;

/// The configured model for embeddings.
#[derive(Debug, Clone)]
pub struct Embedder {
    endpoint: Arc<Endpoint>,
    settings: EmbeddingSettings,
    ollama: bool,
    limiter: Limiter,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingBatch {
    /// One for each text, as the server made them.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens of the texts, where the server counts them.
    pub input_tokens: Option<u64>,
}

impl Embedder {
    /// Of a provider, whose bound on calls at once it shares.
    pub fn new(
        settings: EmbeddingSettings,
        provider: &ProviderSettings,
        limiter: Limiter,
    ) -> Result<Self, EndpointProblem> {
        let ollama = provider.kind == ProviderKind::Ollama;
        let path = if ollama {
            "/api/embed"
        } else {
            "/v1/embeddings"
        };
        let endpoint = Endpoint::of_service(&settings.provider, provider, path)?;
        Ok(Self {
            endpoint: Arc::new(endpoint),
            settings,
            ollama,
            limiter,
        })
    }

    /// What it was made of.
    pub fn settings(&self) -> &EmbeddingSettings {
        &self.settings
    }

    /// The provider's bound on calls at once.
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Asks for the vectors of at most [`MOST_TEXTS`] texts. Does not wait for a place and does not try again.
    pub async fn embed(&self, texts: &[String]) -> Result<EmbeddingBatch, ModelError> {
        let mut body = json!({ "model": self.settings.model, "input": texts });
        if let Some(dimensions) = self.settings.dimensions {
            body["dimensions"] = Value::from(dimensions);
        }
        if !self.ollama {
            body["encoding_format"] = Value::from("float");
        }
        let asked = self.endpoint.post_to(self.endpoint.url(), &body);
        let answer = self.endpoint.whole(asked).await?;
        read(&answer, texts.len(), self.settings.dimensions).map_err(|what| {
            self.endpoint
                .error(Failure::new(ModelErrorKind::Protocol, what))
        })
    }
}

/// The vectors of an answer, in the order of the texts; what is wrong with it, where it cannot be used.
fn read(answer: &Value, texts: usize, dimensions: Option<u32>) -> Result<EmbeddingBatch, String> {
    let (list, input_tokens) = match (answer.get("data"), answer.get("embeddings")) {
        (Some(data), _) => (data, answer.pointer("/usage/prompt_tokens")),
        (None, Some(embeddings)) => (embeddings, answer.get("prompt_eval_count")),
        (None, None) => return Err("expected embeddings, the answer has none".to_owned()),
    };
    let list = list
        .as_array()
        .ok_or_else(|| "expected a list of embeddings".to_owned())?;
    if list.len() != texts {
        return Err(format!("expected {texts} embeddings, got {}", list.len()));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
    let mut size = dimensions.map(|dimensions| dimensions as usize);
    for (n, item) in list.iter().enumerate() {
        let (at, numbers) = match item.get("embedding") {
            Some(numbers) => {
                let at = item.get("index").map_or(Some(n as u64), Value::as_u64);
                (at.and_then(|at| usize::try_from(at).ok()), numbers)
            }
            None => (Some(n), item),
        };
        let slot = at
            .and_then(|at| vectors.get_mut(at))
            .filter(|slot| slot.is_none())
            .ok_or_else(|| format!("embedding {n} has an index that is none, or not its own"))?;
        let vector = numbers
            .as_array()
            .and_then(|numbers| {
                let number = |number: &Value| Some(number.as_f64()? as f32);
                numbers.iter().map(number).collect::<Option<Vec<f32>>>()
            })
            .filter(|vector| vector.iter().all(|x| x.is_finite()))
            .ok_or_else(|| format!("embedding {n} is not a list of numbers"))?;
        let expected = *size.get_or_insert(vector.len());
        if vector.len() != expected || vector.is_empty() || vector.len() > MOST_NUMBERS {
            return Err(format!(
                "embedding {n} has {} numbers, expected {}",
                vector.len(),
                if expected == 0 || expected > MOST_NUMBERS {
                    format!("1 to {MOST_NUMBERS}")
                } else {
                    expected.to_string()
                }
            ));
        }
        *slot = Some(vector);
    }
    Ok(EmbeddingBatch {
        vectors: vectors.into_iter().flatten().collect(),
        input_tokens: input_tokens.and_then(Value::as_u64),
    })
}
