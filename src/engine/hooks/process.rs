//! Runs a hook's program: a document in, bytes out, within its time. None of its descendants outlives the run,
//! however that ends, also when its future is dropped.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::config::settings::Secret;
use crate::config::supervisor::{self, Supervisor};

/// Most bytes of an answer.
pub const MAX_ANSWER: usize = 64 * 1024;
/// Most bytes kept of what it says on standard error.
const MAX_ERRORS: usize = 4 * 1024;
/// Where programs are looked for that it starts itself.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program that ended by itself.
#[derive(Debug)]
pub struct Ran {
    /// How.
    pub status: ExitStatus,
    /// Standard output.
    pub answer: Vec<u8>,
    /// The beginning of standard error.
    pub errors: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be started.
    #[error("it cannot be started: {0}")]
    Start(std::io::Error),
    /// It was killed because it took too long.
    #[error("it did not end within {0} ms")]
    TooSlow(u128),
    /// It was killed because it said too much.
    #[error("it answered more than {MAX_ANSWER} bytes")]
    TooMuch,
    /// The system would not say.
    #[error("its end cannot be found out: {0}")]
    Lost(std::io::Error),
}

/// Runs a command with a clean environment and `document` on its standard input.
pub async fn run(
    command: &[String],
    environment: &[(String, Secret)],
    document: &str,
    limit: Duration,
) -> Result<Ran, RunError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(RunError::Start(std::io::ErrorKind::InvalidInput.into()));
    };
    let mut prepared = Command::from(supervisor::command(program).map_err(RunError::Start)?);
    prepared
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .env("LANG", "C.UTF-8")
        .envs(
            environment
                .iter()
                .map(|(name, value)| (name, value.expose())),
        )
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = prepared.spawn().map_err(RunError::Start)?;
    // Declared after the child, so that it is told to kill all before it is given up.
    let mut supervisor = Supervisor::new(child.id());
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let work = async {
        let write = async {
            if let Some(mut pipe) = stdin {
                // One that does not read it all has its reasons.
                let _ = pipe.write_all(document.as_bytes()).await;
            }
            Ok::<(), RunError>(())
        };
        let read = async {
            match stdout {
                Some(pipe) => whole(pipe).await,
                None => Ok(Vec::new()),
            }
        };
        let complain = async {
            match stderr {
                Some(pipe) => Ok::<_, RunError>(beginning(pipe).await),
                None => Ok(Vec::new()),
            }
        };
        let ((), answer, errors) = futures_util::try_join!(write, read, complain)?;
        let status = child.wait().await.map_err(RunError::Lost)?;
        supervisor.forget();
        Ok(Ran {
            status,
            answer,
            errors,
        })
    };
    match tokio::time::timeout(limit, work).await {
        Ok(ran) => ran,
        Err(_) => Err(RunError::TooSlow(limit.as_millis())),
    }
}

async fn whole(pipe: impl AsyncRead + Unpin) -> Result<Vec<u8>, RunError> {
    let mut bytes = Vec::new();
    let mut limited = pipe.take(MAX_ANSWER as u64 + 1);
    let read = limited.read_to_end(&mut bytes).await;
    read.map_err(RunError::Lost)?;
    if bytes.len() > MAX_ANSWER {
        return Err(RunError::TooMuch);
    }
    Ok(bytes)
}

/// Reads to the end, so that nobody waits for us, and keeps the beginning.
async fn beginning(mut pipe: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 2048];
    while let Ok(count) = pipe.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        let room = MAX_ERRORS.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
    }
    kept
}
