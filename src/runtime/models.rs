//! Models without a running engine: what is configured, what a test shows, and what answers on this machine.

use crate::clock::Clock;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::layers;
use crate::config::paths::prepare_data_dir;
use crate::config::settings::{Secret, Settings};
use crate::model::catalogue;
use crate::model::discovery;
pub use crate::model::discovery::servers::{ModelList, provider_name};
use crate::protocol::models::{Discovery, FoundServer, ModelTest, ProviderModels};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{Envelope, Request as _, TestModel};
use crate::runtime::offline::database_of;
use crate::runtime::start::{self, StartError};
use crate::store::offline::Offline;

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

/// Why a model was not tested.
#[derive(Debug, thiserror::Error)]
pub enum TestFailure {
    /// The configuration.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The database that the calls are counted in cannot be opened.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The test was refused or stopped.
    #[error(transparent)]
    Problem(#[from] Problem),
}

/// Carries out the test of a model where nothing runs: on the database of the data directory, because its calls count
/// there. Nothing else that waits there is taken up.
///
/// # Errors
/// Also where the process before did not end by itself: what it left is for a start to take up.
pub async fn test(
    flags: &Flags,
    environment: &Environment,
    test: Envelope<TestModel>,
) -> Result<ModelTest, TestFailure> {
    let settings = load(flags, environment)?;
    let dir = &settings.paths.data_dir;
    let left = Offline::open(&database_of(dir))
        .and_then(|database| database.read(|reader| reader.ended_by_itself()));
    // What else may be wrong with the file, opening it says.
    if matches!(left, Ok(false)) {
        return Err(Problem::new(
            ProblemKind::Conflict,
            "not taken up yet",
            format!(
                "the process that ran on {} did not end by itself",
                dir.display()
            ),
        )
        .hint("start `leverframe` first: it takes up what was left, and tests models too")
        .into());
    }
    prepare_data_dir(dir).map_err(|error| StartError::Other(error.into()))?;
    let redactor = start::redactor(&settings);
    let (engine, _) = start::open(settings, redactor).await?;
    let tested = engine.handle(test.wire()).await;
    engine.stop().await;
    engine.store.clone().close().await;
    Ok(TestModel::reply(tested?)?)
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
