//! SIGHUP to a daemon: it reads its configuration again, and the log says what changed.

use std::sync::Arc;

use rustix::process::getuid;
use tokio::task::JoinHandle;

use crate::client::console_client::ConsoleClient;
use crate::protocol::command::Actor;
use crate::protocol::enums::Surface;
use crate::protocol::request::{Command, Envelope, Outcome, ReloadConfiguration};
use crate::runtime::logging;
use crate::runtime::signals::ReloadSignal;

/// Carries out every reload that comes by signal, like one that comes over the socket.
pub fn obey(mut signal: ReloadSignal, client: Arc<dyn ConsoleClient>) -> JoinHandle<()> {
    tokio::spawn(async move {
        while signal.next().await {
            if let Err(error) = logging::reopen() {
                tracing::error!(%error, "cannot open the log file again; logging continues in the old one");
            }
            tracing::info!("SIGHUP: reading the configuration again");
            let envelope = Envelope {
                command: Command::ReloadConfiguration(ReloadConfiguration { preview: false }),
                // Only this user and root can send it.
                actor: Actor::Operator {
                    uid: getuid().as_raw(),
                    name: "signal".to_owned(),
                    person: None,
                },
                surface: Surface::Cli,
                idempotency_key: None,
                trace: None,
            };
            match client.submit(envelope).await {
                Ok(Outcome::ReloadConfiguration(report)) => {
                    tracing::info!(file = %report.file, changes = report.changes.len(), "configuration read again");
                }
                Ok(other) => tracing::error!(answer = other.name(), "not an answer to a reload"),
                Err(problem) => {
                    tracing::error!(%problem, "the previous configuration stays in use");
                }
            }
        }
    })
}
