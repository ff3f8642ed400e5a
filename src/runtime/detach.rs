//! Detaching: the engine of this process has let go of its data; a daemon takes it over.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::client::remote::connection::RemoteClient;
use crate::client::remote::target::Target;

/// Longest wait for the daemon to answer.
const DEADLINE: Duration = Duration::from_secs(20);

/// Starts `leverframe --daemon` with these arguments in a session of its own and waits until its socket
/// answers. It writes its log itself; `log` gets what else it says. Call after the engine of this process has stopped.
pub async fn start_daemon(
    arguments: &[String],
    socket: PathBuf,
    log: PathBuf,
) -> anyhow::Result<RemoteClient> {
    use std::os::unix::process::CommandExt as _;
    let program = std::env::current_exe().context("finding this program")?;
    let output = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&log)
        .with_context(|| format!("opening {}", log.display()))?;
    let mut child = Command::new(&program)
        .args(arguments)
        .args(["--daemon", "--detached"])
        .stdin(Stdio::null())
        .stdout(output.try_clone().context("the log file")?)
        .stderr(output)
        // Its own process group: the terminal's hang-up does not reach it.
        .process_group(0)
        .spawn()
        .with_context(|| format!("starting {} --daemon", program.display()))?;
    let deadline = Instant::now() + DEADLINE;
    loop {
        match RemoteClient::connect(Target::Unix(socket.clone())).await {
            Ok(client) => return Ok(client),
            Err(problem) => {
                if let Some(status) = child.try_wait().context("watching the daemon")? {
                    anyhow::bail!("the daemon ended at once ({status}); see {}", log.display());
                }
                anyhow::ensure!(
                    Instant::now() < deadline,
                    "the daemon does not answer: {problem}; see {}",
                    log.display()
                );
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
