//! `attach ssh://HOST`: `ssh` itself carries the connection, and this keeps it running. Logging in, keys and known hosts
//! are its own matter; nothing here reads or stores them.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::net::UnixStream;

use crate::cli::exit::Failure;
use crate::cli::terminal::Attendance;
use crate::client::remote::target::SshAddress;
use crate::clock::backoff::doubled;
use crate::config::supervisor::{self, Supervisor};
use crate::protocol::problem::{Problem, ProblemKind};

/// The first pause before `ssh` is started again, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));
/// A tunnel that lived this long was a good one: the pauses begin anew.
const GOOD: Duration = Duration::from_secs(30);
/// Time a tunnel has to come up.
const READY: Duration = Duration::from_secs(30);
/// What is kept of what `ssh` says, in bytes.
const SAID: u64 = 4096;

/// Prints the addresses of the daemon there, whatever shell the person has.
const ADDRESSES: &str = r#"sh -c 'cat "${LEVERFRAME_DATA_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/leverframe}/listen"'"#;

/// A tunnel that is kept up. Dropping it ends `ssh`.
#[derive(Debug)]
pub struct Tunnel {
    running: Arc<Mutex<Option<Supervisor>>>,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Where the socket of the daemon on that machine is. `ssh` may ask a person for what it needs, on this terminal.
///
/// # Errors
/// Where `ssh` cannot log in, or no daemon is found.
pub async fn find_socket(address: &SshAddress, attended: Attendance) -> Result<String, Failure> {
    let asked = match &address.socket {
        // Only letters, digits and a few signs are in it.
        Some(path) => format!("test -S {path}"),
        None => ADDRESSES.to_owned(),
    };
    let mut command = tokio::process::Command::from(ssh(Command::new("ssh"), address));
    if attended == Attendance::Script {
        command.args(["-o", "BatchMode=yes"]);
    }
    let output = command
        .args(["--", &address.login, &asked])
        .stdin(Stdio::inherit())
        .stderr(Stdio::inherit())
        .stdout(Stdio::piped())
        .spawn()
        .context("`ssh` cannot be started")?
        // `output` would take what it says to the person.
        .wait_with_output()
        .await
        .context("waiting for `ssh`")?;
    let found = String::from_utf8_lossy(&output.stdout);
    let found = found.lines().find_map(|line| line.strip_prefix("unix:"));
    let unavailable = |detail: String, hint: &str| {
        let problem = Problem::new(ProblemKind::Unavailable, "daemon not reachable", detail);
        Failure::from(problem.hint(hint))
    };
    match (output.status.code(), &address.socket, found) {
        (Some(0), Some(path), _) => Ok(path.clone()),
        (Some(0), None, Some(path)) => Ok(path.to_owned()),
        (Some(255) | None, ..) => Err(unavailable(
            format!("{address}: `ssh` could not log in"),
            "see its output above; try `ssh` alone",
        )),
        (Some(_), Some(path), _) => Err(unavailable(
            format!("{address}: there is no socket {path}"),
            "is the daemon running? the file `listen` in its data directory has the path",
        )),
        (Some(_), None, _) => Err(unavailable(
            format!("{address}: no daemon is found in the data directory of that user"),
            "start it there, or name its socket: ssh://HOST/path/leverframe.sock",
        )),
    }
}

impl Tunnel {
    /// Carries connections from `local`, a socket that it makes, to the socket `there`, and waits until it does.
    ///
    /// # Errors
    /// Where `ssh` ends before that; in its own words.
    pub async fn open(address: &SshAddress, there: &str, local: &Path) -> Result<Self, Failure> {
        let (stop, stopped) = mpsc::channel();
        let (first, mut failed) = tokio::sync::oneshot::channel();
        let running = Arc::new(Mutex::new(None));
        let keeper = Keeper {
            address: address.clone(),
            forward: format!("{}:{there}", local.display()),
            running: Arc::clone(&running),
        };
        // The supervisor of `ssh` lives as long as the thread that started it.
        let thread = std::thread::Builder::new()
            .name("ssh".to_owned())
            .spawn(move || keeper.keep(&stopped, first))
            .context("a thread for `ssh`")?;
        let tunnel = Self {
            running,
            stop: Some(stop),
            thread: Some(thread),
        };
        let deadline = Instant::now() + READY;
        let unavailable = |detail: String| {
            let problem = Problem::new(ProblemKind::Unavailable, "daemon not reachable", detail);
            Failure::from(problem.hint(
                "`ssh` cannot ask here: add the key to an agent with `ssh-add`, and try `ssh -o BatchMode=yes`",
            ))
        };
        while UnixStream::connect(local).await.is_err() {
            tokio::select! {
                said = &mut failed => {
                    let said = said.unwrap_or_default();
                    return Err(unavailable(format!("{address}: `ssh` ended: {said}")));
                }
                () = tokio::time::sleep(Duration::from_millis(50)) => {}
            }
            if Instant::now() > deadline {
                return Err(unavailable(format!(
                    "{address}: `ssh` is not ready in time"
                )));
            }
        }
        Ok(tunnel)
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.stop.take();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(supervisor) = running.as_ref() {
            supervisor.kill();
        }
        drop(running);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the task that runs `ssh` ended with an error");
        }
    }
}

/// Starts `ssh` again whenever it ends.
struct Keeper {
    address: SshAddress,
    forward: String,
    running: Arc<Mutex<Option<Supervisor>>>,
}

impl Keeper {
    fn keep(&self, stopped: &mpsc::Receiver<()>, first: tokio::sync::oneshot::Sender<String>) {
        let mut first = Some(first);
        let mut failures = 0;
        loop {
            let began = Instant::now();
            let said = self.run(stopped).unwrap_or_else(|error| error.to_string());
            failures = if began.elapsed() > GOOD {
                1
            } else {
                failures + 1
            };
            tracing::debug!(%said, "ssh ended");
            if let Some(first) = first.take() {
                // Nobody waits for it any more once the tunnel was up.
                let _ = first.send(said);
            }
            match stopped.recv_timeout(doubled(PAUSE.0, failures, PAUSE.1)) {
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Until it ends; what it said last.
    fn run(&self, stopped: &mpsc::Receiver<()>) -> std::io::Result<String> {
        let mut command = ssh(supervisor::command("ssh")?, &self.address);
        // Nobody can answer it behind a console.
        for option in [
            "BatchMode=yes",
            "ExitOnForwardFailure=yes",
            "ServerAliveCountMax=3",
            "ServerAliveInterval=10",
            "StreamLocalBindMask=0177",
            "StreamLocalBindUnlink=yes",
        ] {
            command.args(["-o", option]);
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        // Told to stop while the last one ended: none is started any more.
        if matches!(stopped.try_recv(), Err(mpsc::TryRecvError::Disconnected)) {
            return Ok(String::new());
        }
        let mut child = command
            .args(["-N", "-L", &self.forward, "--", &self.address.login])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        *running = Some(Supervisor::new(Some(child.id())));
        drop(running);
        let mut said = Vec::new();
        if let Some(stderr) = child.stderr.take() {
            let mut stderr = stderr;
            let _ = (&mut stderr).take(SAID).read_to_end(&mut said);
            // It must not wait for a reader.
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        }
        child.wait()?;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(supervisor) = running.as_mut() {
            supervisor.forget();
        }
        *running = None;
        let said = String::from_utf8_lossy(&said);
        Ok(said.lines().last().unwrap_or_default().to_owned())
    }
}

/// `ssh` with the port, where there is one.
fn ssh(mut command: Command, address: &SshAddress) -> Command {
    command.args(["-o", "ConnectTimeout=10"]);
    if let Some(port) = address.port {
        command.args(["-p", &port.to_string()]);
    }
    command
}

/// Where this end of a tunnel listens, in a directory of its own.
pub fn local_socket(directory: &Path, number: usize) -> PathBuf {
    directory.join(format!("{number}.sock"))
}
