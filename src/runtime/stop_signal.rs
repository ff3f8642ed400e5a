//! The emergency stop that needs no socket: SIGUSR1 holds the engine of the process that gets it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};
use tokio::task::JoinHandle;

use crate::client::console_client::ConsoleClient;
use crate::clock::Timestamp;
use crate::protocol::request::{Command, EmergencyStop};
use crate::runtime::offline::database_of;
use crate::runtime::signals::{StopSignal, by_signal};
use crate::store::error::StoreError;
use crate::store::files::holding_process;
use crate::store::offline::Offline;

/// Longest wait until the engine is seen to hold.
const PATIENCE: Duration = Duration::from_secs(5);

/// What came of a stop by signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalOutcome {
    /// The process that got the signal.
    pub process: i32,
    /// Since when its engine holds, and why; none = it was not seen to.
    pub held: Option<(Timestamp, String)>,
}

/// Carries out every stop that comes by signal, like one that comes over the socket.
pub fn obey(mut signal: StopSignal, client: Arc<dyn ConsoleClient>) -> JoinHandle<()> {
    tokio::spawn(async move {
        while signal.next().await {
            tracing::warn!("SIGUSR1: emergency stop");
            let stop = Command::EmergencyStop(EmergencyStop { reason: None });
            if let Err(problem) = client.submit(by_signal(stop)).await {
                tracing::error!(%problem, "the emergency stop by signal failed");
            }
        }
    })
}

/// Sends the signal to the process whose engine runs on a data directory, and waits until it is seen to hold. None
/// where no engine runs.
pub async fn send(data_dir: &Path) -> anyhow::Result<Option<SignalOutcome>> {
    let Some(process) = holding_process(data_dir).filter(|process| obeys(*process)) else {
        return Ok(None);
    };
    let pid = Pid::from_raw(process).context("the process id in the lock file")?;
    kill_process(pid, Signal::USR1)
        .with_context(|| format!("sending SIGUSR1 to process {process}"))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let database = database_of(data_dir);
        let held = tokio::task::spawn_blocking(move || held(&database))
            .await
            .context("checking whether it stopped")?;
        // A database that cannot be read at this moment may be read at the next.
        let held = held.unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot check the database");
            None
        });
        if held.is_some() || Instant::now() >= deadline {
            return Ok(Some(SignalOutcome { process, held }));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn held(database: &Path) -> Result<Option<(Timestamp, String)>, StoreError> {
    let facts = Offline::open(database)?.read(|reader| reader.database_facts())?;
    Ok(facts.held)
}

/// Whether a process takes the signal as a stop. One that does not would die of it: a restore, for example, holds
/// the directory too.
#[cfg(target_os = "linux")]
fn obeys(process: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = u32::try_from(Signal::USR1.as_raw() - 1).unwrap_or(u32::MAX);
    caught.is_some_and(|mask| mask.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

/// Elsewhere the system does not say; only a process with an engine lists its addresses.
#[cfg(not(target_os = "linux"))]
fn obeys(_process: i32) -> bool {
    true
}
