//! Models without a running engine: what is configured, what a test shows, and what answers on this machine.

use crate::clock::Clock;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::settings::Secret;
use crate::model::catalogue;
use crate::model::discovery;
pub use crate::model::discovery::servers::{ModelList, provider_name};
use crate::protocol::models::{Discovery, FoundServer, ProviderModels};
use crate::runtime::alone::{Unusable, load};

/// The configured providers and models.
pub fn list(flags: &Flags, environment: &Environment) -> Result<Vec<ProviderModels>, Unusable> {
    Ok(catalogue::list(&load(flags, environment)?))
}

/// The model servers that answer on this machine, and what else is worth a word.
pub async fn find(environment: &Environment) -> (Vec<FoundServer>, Vec<String>) {
    discovery::find(environment).await
}

/// What the server at an address that a person named says of its models.
pub async fn list_at(address: &str, key: Option<&Secret>) -> ModelList {
    discovery::servers::list(address, key).await
}

/// The same beside the configuration.
pub async fn look(flags: &Flags, environment: &Environment) -> Result<Discovery, Unusable> {
    let settings = load(flags, environment)?;
    Ok(discovery::look(&settings, environment, Clock::System.now()).await)
}
