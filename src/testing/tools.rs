//! Tools for tests, one of each effect class that touches another system: they post an entry to a service on
//! loopback. They exist only when a service is plugged in.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::{Access, Effect, Risk};
use crate::testing::{self, TestService};
use crate::tools::registry::{Registry, RegistryError};
use crate::tools::risk::RiskReason;
use crate::tools::tool::{
    EffectDisposition, Plan, PrepareError, Probe, Tool, ToolContext, ToolOutcome, ToolSpec,
};

/// Longest wait for the service.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Posts `{text}` with the call's key to the service.
pub struct Post {
    spec: ToolSpec,
    service: String,
}

/// Names, with the class of each, in the order in which they are registered.
pub const NAMES: &[(&str, Effect)] = &[
    ("post_entry", Effect::NonIdempotent),
    ("post_keyed", Effect::Keyed),
    ("post_checked", Effect::Reconcilable),
];

/// A registry with these tools after its own, where a service is plugged in.
pub fn added_to(mut registry: Registry) -> Result<Registry, RegistryError> {
    if let Some(service) = testing::service() {
        for (name, effect) in NAMES {
            registry.add(Arc::new(Post::new(name, *effect, service)))?;
        }
    }
    Ok(registry)
}

impl Post {
    /// The tool of this name and class.
    pub fn new(name: &'static str, effect: Effect, service: &TestService) -> Self {
        Self {
            spec: ToolSpec {
                name: name.into(),
                description: "Posts an entry to the service of the tests.".into(),
                input_schema: json!({
                    "type": "object",
                    "properties": {"text": {"type": "string", "minLength": 1}},
                    "required": ["text"],
                    "additionalProperties": false
                }),
                access: Access::Send,
                effect,
                max_duration: Duration::from_secs(10),
                key_lifetime: service.key_lifetime.filter(|_| effect == Effect::Keyed),
                cacheable: None,
            },
            service: service.url.clone(),
        }
    }

    fn client() -> Result<reqwest::Client, reqwest::Error> {
        // Needed once per process even for plain HTTP; a second installation is refused, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::builder()
            .no_proxy()
            .timeout(ANSWER_WITHIN)
            .redirect(reqwest::redirect::Policy::none())
            .build()
    }
}

fn ended(content: String, disposition: EffectDisposition) -> ToolOutcome {
    ToolOutcome {
        content,
        is_error: disposition != EffectDisposition::Done,
        disposition,
        partial: false,
    }
}

#[async_trait]
impl Tool for Post {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let text = args.get("text").and_then(Value::as_str).unwrap_or_default();
        if text == "unpreparable" {
            return Err(PrepareError::Invalid(
                "this entry cannot be made".to_owned(),
            ));
        }
        Ok(Plan {
            access: Access::Send,
            risk_reasons: vec![RiskReason::Configured(Risk::Medium)],
            preview: Preview::Text {
                text: text.to_owned(),
            },
            facts: PlanFacts::default(),
            operands: Vec::new(),
            always_asks: None,
        })
    }

    #[allow(clippy::panic, reason = "tests want a tool that panics")]
    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let text = args.get("text").and_then(Value::as_str).unwrap_or_default();
        if let Some(question) = text.strip_prefix("ask: ") {
            let choices: Vec<String> = match question {
                "Which of many?" => (1..=9).map(|number| format!("colour {number}")).collect(),
                _ => ["red", "blue"].map(str::to_owned).into(),
            };
            let asked = context.host.ask("the service", question, &choices);
            let asked = tokio::select! {
                asked = asked => asked,
                () = context.cancel.cancelled() => Err("cancelled".to_owned()),
            };
            return match asked {
                Ok(answer) => ended(format!("the answer is {answer}"), EffectDisposition::Done),
                Err(why) => ended(why, EffectDisposition::ConfirmedNoEffect),
            };
        }
        let client = match Self::client() {
            Ok(client) => client,
            Err(error) => {
                return ended(
                    format!("no client: {error}"),
                    EffectDisposition::ConfirmedNoEffect,
                );
            }
        };
        let text = args.get("text").and_then(Value::as_str).unwrap_or_default();
        let posted = client
            .post(format!("{}/entries", self.service))
            .header("Idempotency-Key", &context.idempotency_key)
            .json(&json!({ "text": text }))
            .send();
        let answer = tokio::select! {
            answer = posted => answer,
            () = context.cancel.cancelled() => {
                return ended("cancelled while it was posted".to_owned(), EffectDisposition::Unknown);
            }
        };
        assert!(text != "panic", "asked for");
        match answer {
            Ok(answer) if answer.status().is_success() => {
                ended(format!("posted: {text}"), EffectDisposition::Done)
            }
            Ok(answer) if answer.status().is_client_error() => ended(
                format!("refused: {}", answer.status()),
                EffectDisposition::ConfirmedNoEffect,
            ),
            Ok(answer) => ended(
                format!("failed: {}", answer.status()),
                EffectDisposition::Unknown,
            ),
            Err(error) if error.is_connect() => ended(
                "the service cannot be reached".to_owned(),
                EffectDisposition::ConfirmedNoEffect,
            ),
            Err(_) => ended(
                "the service did not answer".to_owned(),
                EffectDisposition::Unknown,
            ),
        }
    }

    async fn probe(&self, context: &ToolContext<'_>, _args: &Value) -> Probe {
        if self.spec.effect != Effect::Reconcilable {
            return Probe::Unclear {
                why: "the tool has no way to look".to_owned(),
            };
        }
        let unclear = |why: &str| Probe::Unclear {
            why: why.to_owned(),
        };
        let Ok(client) = Self::client() else {
            return unclear("no client");
        };
        let url = format!("{}/entries/{}", self.service, context.idempotency_key);
        match client.get(url).send().await {
            Ok(answer) if answer.status().is_success() => match answer.json::<Value>().await {
                Ok(entry) => Probe::Done {
                    content: format!(
                        "posted: {}",
                        entry
                            .get("text")
                            .and_then(Value::as_str)
                            .unwrap_or_default()
                    ),
                },
                Err(_) => unclear("the service's answer cannot be read"),
            },
            Ok(answer) if answer.status().as_u16() == 404 => Probe::NotDone,
            Ok(_) => unclear("the service would not say"),
            Err(_) => unclear("the service cannot be asked"),
        }
    }
}
