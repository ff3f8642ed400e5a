//! SIGHUP to a daemon: it reads its configuration again, and the log says what changed.

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::client::console_client::ConsoleClient;
use crate::protocol::request::{Command, Outcome, ReloadConfiguration};
use crate::runtime::logging;
use crate::runtime::signals::{ReloadSignal, by_signal};

/// Carries out every reload that comes by signal, like one that comes over the socket.
pub fn obey(mut signal: ReloadSignal, client: Arc<dyn ConsoleClient>) -> JoinHandle<()> {
    tokio::spawn(async move {
        while signal.next().await {
            if let Err(error) = logging::reopen() {
                tracing::error!(%error, "cannot reopen the log file; logging continues in the old one");
            }
            tracing::info!("SIGHUP: reading the configuration again");
            let reload = Command::ReloadConfiguration(ReloadConfiguration { preview: false });
            match client.submit(by_signal(reload)).await {
                Ok(Outcome::ReloadConfiguration(report)) => {
                    tracing::info!(file = %report.file, changes = report.changes.len(), "configuration read again");
                }
                Ok(other) => tracing::error!(answer = other.name(), "unexpected reload answer"),
                Err(problem) => {
                    tracing::error!(%problem, "new configuration refused; the previous configuration stays in use");
                }
            }
        }
    })
}
