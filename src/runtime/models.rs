//! Models without a running engine: what is configured, what a test shows, and what answers on this machine.

use crate::clock::Clock;
use crate::config::environment::Environment;
use crate::config::layers::{self, Flags};
use crate::config::settings::Settings;
use crate::model::discovery::{self, Candidate, Verdict};
use crate::model::registry::Models;
use crate::model::{catalogue, check};
use crate::protocol::models::{FoundServer, ModelTest, ProviderModels};
use crate::runtime::start;

/// The configuration cannot be used, or does not have the model that was named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(String);

fn load(flags: &Flags, environment: &Environment) -> Result<Settings, Unusable> {
    layers::load(flags, environment, start::tool_names())
        .map_err(|error| Unusable(error.to_string()))
}

/// The configured providers and models.
pub fn list(flags: &Flags, environment: &Environment) -> Result<Vec<ProviderModels>, Unusable> {
    Ok(catalogue::list(&load(flags, environment)?))
}

/// Tests a model, the default one where none is named.
pub async fn test(
    flags: &Flags,
    environment: &Environment,
    model: Option<String>,
) -> Result<ModelTest, Unusable> {
    let settings = load(flags, environment)?;
    let models = Models::new(&settings).map_err(|error| Unusable(error.to_string()))?;
    let redactor = start::redactor(&settings);
    let name = model.unwrap_or_else(|| settings.model.clone());
    let mut test = check::test(&models, &name, &Clock::System)
        .await
        .map_err(|error| Unusable(error.to_string()))?;
    for check in &mut test.checks {
        check.detail = redactor.redact(&check.detail).into_owned();
    }
    Ok(test)
}

/// The model servers that answer on this machine, and what else is worth a word.
pub async fn find(environment: &Environment) -> (Vec<FoundServer>, Vec<String>) {
    let candidates = discovery::usual(environment);
    let verdicts = discovery::probe(&candidates).await;
    let mut servers = Vec::new();
    let mut words = Vec::new();
    for (candidate, verdict) in candidates.iter().zip(verdicts) {
        let Candidate { kind, root } = candidate;
        match verdict {
            Verdict::Found(server) => servers.push(server),
            Verdict::Closed | Verdict::Other => {}
            Verdict::Slow => words.push(format!(
                "{root}: something listens there and does not answer within {} ms, so it is not offered as {}",
                discovery::LIMIT.as_millis(),
                kind.title()
            )),
            Verdict::Elsewhere => words.push(format!(
                "{root} is not on this machine, so it was not asked; name it with --base-url"
            )),
        }
    }
    (servers, words)
}
