//! Single commands where nothing runs: on the database of the data directory. Nothing that waits there is taken up.

use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::layers;
use crate::config::paths::prepare_data_dir;
use crate::config::settings::Settings;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{Command, Envelope, Outcome, Request};
use crate::runtime::offline::database_of;
use crate::runtime::start::{self, StartError};
use crate::store::offline::Offline;

/// The configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(String);

/// The settings that would be in use.
///
/// # Errors
/// Where the configuration is wrong.
pub fn load(flags: &Flags, environment: &Environment) -> Result<Settings, Unusable> {
    layers::load(flags, environment, start::tool_names())
        .map_err(|error| Unusable(error.to_string()))
}

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum AloneFailure {
    /// The configuration.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The database cannot be opened.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The command was refused or stopped.
    #[error(transparent)]
    Problem(#[from] Problem),
}

/// Carries out one command.
///
/// # Errors
/// Also where the process before did not end by itself: what it left is for a start to take up.
pub async fn handle<C>(
    flags: &Flags,
    environment: &Environment,
    envelope: Envelope<C>,
) -> Result<C::Reply, AloneFailure>
where
    C: Request<Wire = Command, Answer = Outcome>,
{
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
        .hint("start `leverframe` first, so that it recovers open work, and repeat this")
        .into());
    }
    prepare_data_dir(dir).map_err(|error| StartError::Other(error.into()))?;
    let redactor = start::redactor(&settings);
    let (engine, _) = start::open(settings, redactor).await?;
    let done = engine.handle(envelope.wire()).await;
    engine.stop().await;
    engine.store.clone().close().await;
    Ok(C::reply(done?)?)
}
