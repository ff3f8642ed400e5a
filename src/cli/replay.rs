//! `leverframe replay`: what is to be played, and where it is read from.

use std::path::Path;
use std::sync::Arc;

use crate::cli::connect;
use crate::cli::exit::Failure;
use crate::cli::find;
use crate::client::console_client::ConsoleClient;
use crate::runtime::offline::OfflineSessions;
use crate::tui::state::replay::Source;

/// The running daemon of a data directory, else its files.
pub async fn client(data_dir: &Path) -> Result<Arc<dyn ConsoleClient>, Failure> {
    match connect::daemon(data_dir).await {
        Ok(client) => Ok(Arc::new(client)),
        Err(Failure::NothingRunning(_)) => Ok(Arc::new(OfflineSessions::open(data_dir)?)),
        Err(other) => Err(other),
    }
}

/// The continuation or session of this id, or of a unique beginning of it. A beginning without its kind's prefix
/// names a continuation.
pub async fn source(client: &dyn ConsoleClient, text: &str) -> Result<Source, Failure> {
    if text.starts_with("ses_") {
        return find::session(client, text).await.map(Source::Session);
    }
    find::continuation(client, text)
        .await
        .map(Source::Continuation)
}
