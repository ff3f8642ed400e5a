//! Running a program: bounded output, bounded time, and nothing left behind.
//!
//! No program outlives its owner: it runs below a supervisor, which kills it with all its descendants on
//! timeout, on cancellation, when its owner drops it, when the program ends, and when this process dies.

use std::process::{ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::supervisor::{Supervisor, supervised};
use crate::tools::output::BoundedOutput;
use crate::tools::tool::ToolHost;

/// Between asking a program to end and killing it.
const GRACE: Duration = Duration::from_millis(500);
/// How long output may stay open after the program itself has ended.
const LINGER: Duration = Duration::from_millis(500);
/// After this long without an end a killed program is given up (it hangs in the kernel).
const GIVE_UP: Duration = Duration::from_millis(700);
/// Time between pieces of output for people watching.
const PIECES: Duration = Duration::from_millis(100);
/// Most bytes of one piece; what comes between is dropped, to the end of its line.
const PIECE: usize = 4096;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself.
    Exited(ExitStatus),
    /// Killed because it took too long.
    TimedOut,
    /// Killed because the call was cancelled.
    Cancelled,
    /// The system would not say.
    Lost,
}

/// A finished run.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub ended: ProcessEnd,
    /// What it wrote to standard output and standard error, as it came.
    pub output: BoundedOutput,
    /// How long it ran.
    pub took: Duration,
}

/// Keeps the thread alive that started a supervisor: the kernel sends the "parent died" signal, which ends
/// all below it, when that *thread* ends, and threads of the runtime come and go.
struct Parent {
    _release: std::sync::mpsc::Sender<()>,
}

/// A program below a supervisor, which may outlive the call that started it. It and everything below it is killed when
/// this is dropped.
pub struct RunningProcess {
    child: Child,
    supervisor: Supervisor,
    _parent: Parent,
}

impl RunningProcess {
    /// Starts a command; its environment is the variables that are set on it. The error is that of starting the
    /// supervisor: nothing ran.
    pub async fn start(
        command: &std::process::Command,
        stdin: Stdio,
        stdout: Stdio,
        stderr: Stdio,
    ) -> std::io::Result<Self> {
        let mut command = Command::from(supervised(command)?);
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        let (child, parent) = spawn(command).await?;
        Ok(Self {
            supervisor: Supervisor::new(child.id()),
            child,
            _parent: parent,
        })
    }

    /// The process id of the supervisor, below which everything of the program is; none = it was waited for.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The supervisor as a child, with the pipes that it was started with.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Asks the program to end.
    pub fn ask(&self) {
        self.supervisor.ask();
    }

    /// Kills the program and everything below it.
    pub fn kill(&self) {
        self.supervisor.kill();
    }

    /// How the program ended, once it has. Nothing is left below it then.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        let ended = self.child.wait().await;
        self.supervisor.forget();
        ended
    }
}

async fn spawn(mut command: Command) -> std::io::Result<(Child, Parent)> {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (answer, answered) = tokio::sync::oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    std::thread::Builder::new()
        .name("tool-parent".to_owned())
        .spawn(move || {
            let spawned = {
                let _inside = runtime.enter();
                command.spawn()
            };
            // Our ends of the output would keep it open.
            drop(command);
            match answer.send(spawned) {
                Ok(()) => {
                    let _ = released.recv();
                }
                // The call was dropped meanwhile.
                Err(Ok(child)) => Supervisor::new(child.id()).kill(),
                Err(Err(_)) => {}
            }
        })?;
    let child = answered.await.map_err(std::io::Error::other)??;
    Ok((child, Parent { _release: release }))
}

/// Runs a command to its end; its environment is the variables that are set on it. `started` becomes the process id
/// of its supervisor, below which everything of the run is. The error is that of starting it: nothing ran.
pub async fn run(
    command: std::process::Command,
    stdin: Option<String>,
    timeout: Duration,
    cancel: &CancellationToken,
    host: &dyn ToolHost,
    started: &OnceLock<u32>,
) -> std::io::Result<Ran> {
    let began = Instant::now();
    // One pipe for both streams: what was written first is read first.
    let (reader, writer) = std::io::pipe()?;
    let reader = Receiver::from_owned_fd(reader.into())?;
    let input = if stdin.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    };
    let (stdout, stderr) = (writer.try_clone()?.into(), writer.into());
    let mut process = RunningProcess::start(&command, input, stdout, stderr).await?;
    if let Some(id) = process.id() {
        let _ = started.set(id);
    }
    if let (Some(mut pipe), Some(text)) = (process.child().stdin.take(), stdin) {
        // Ends by itself: with the text, or with the program that should have read it.
        tokio::spawn(async move {
            let _ = pipe.write_all(text.as_bytes()).await;
        });
    }
    let mut written = Stream::new(reader);
    let mut output = BoundedOutput::default();
    let mut pieces = Pieces::default();
    let mut status: Option<std::io::Result<ExitStatus>> = None;
    let mut killed_as: Option<ProcessEnd> = None;
    // The next thing that time brings, and when.
    let mut clock = (Due::Timeout, began + timeout);
    loop {
        if status.is_some() && !written.is_open() {
            break;
        }
        tokio::select! {
            read = written.read() => pieces.take(read, &mut output),
            ended = process.wait(), if status.is_none() => {
                status = Some(ended);
                clock = (Due::Abandon, Instant::now() + LINGER);
            }
            () = cancel.cancelled(), if killed_as.is_none() && status.is_none() => {
                killed_as = Some(ProcessEnd::Cancelled);
                process.ask();
                clock = (Due::Kill, Instant::now() + GRACE);
            }
            () = tokio::time::sleep_until(clock.1) => match clock.0 {
                Due::Timeout => {
                    killed_as = Some(ProcessEnd::TimedOut);
                    process.ask();
                    clock = (Due::Kill, Instant::now() + GRACE);
                }
                Due::Kill => {
                    process.kill();
                    clock = (Due::Abandon, Instant::now() + GIVE_UP);
                }
                Due::Abandon => break,
            },
            () = tokio::time::sleep_until(pieces.next()), if pieces.is_pending() => pieces.flush(host),
        }
    }
    pieces.finish(host);
    let ended = match (killed_as, status) {
        (Some(ended), _) => ended,
        (None, Some(Ok(status))) => ProcessEnd::Exited(status),
        (None, Some(Err(_)) | None) => ProcessEnd::Lost,
    };
    Ok(Ran {
        ended,
        output,
        took: began.elapsed(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// The program has used its time.
    Timeout,
    /// It was asked to end and has not.
    Kill,
    /// It ended, or should have: its output is not waited for any longer.
    Abandon,
}

/// What the program writes, until it is closed.
struct Stream {
    pipe: Option<Receiver>,
    buffer: Vec<u8>,
}

impl Stream {
    fn new(pipe: Receiver) -> Self {
        Self {
            pipe: Some(pipe),
            buffer: vec![0; 16 * 1024],
        }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// The next bytes; never resolves once the stream is closed.
    async fn read(&mut self) -> &[u8] {
        let Some(pipe) = &mut self.pipe else {
            return std::future::pending().await;
        };
        let count = pipe.read(&mut self.buffer).await.unwrap_or(0);
        if count == 0 {
            self.pipe = None;
        }
        &self.buffer[..count]
    }
}

/// Output on its way to people watching, at a bounded rate.
pub(super) struct Pieces {
    pending: Vec<u8>,
    /// Whether something behind `pending` was dropped.
    is_cut: bool,
    /// Whether the rest of a line is dropped: it may be the end of a secret whose beginning was dropped.
    is_skipping: bool,
    next: Instant,
}

impl Default for Pieces {
    fn default() -> Self {
        Self {
            pending: Vec::new(),
            is_cut: false,
            is_skipping: false,
            next: Instant::now(),
        }
    }
}

impl Pieces {
    /// Takes what was written.
    pub(super) fn take(&mut self, mut bytes: &[u8], output: &mut BoundedOutput) {
        output.push(bytes);
        if self.is_cut {
            self.drop_bytes(bytes);
            return;
        }
        if self.is_skipping {
            let end = bytes.iter().position(|byte| ends_line(*byte));
            let Some(rest) = end.and_then(|end| bytes.get(end + 1..)) else {
                return;
            };
            self.is_skipping = false;
            bytes = rest;
        }
        let room = PIECE.saturating_sub(self.pending.len()).min(bytes.len());
        let (shown, dropped) = bytes.split_at(room);
        self.is_cut = !dropped.is_empty();
        self.drop_bytes(dropped);
        self.pending.extend_from_slice(shown);
    }

    fn drop_bytes(&mut self, dropped: &[u8]) {
        if let Some(last) = dropped.last() {
            self.is_skipping = !ends_line(*last);
        }
    }

    /// Whether something waits to be shown.
    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// When it may be shown.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Shows it, but for a last character that is not whole yet.
    pub(super) fn flush(&mut self, host: &dyn ToolHost) {
        let last = self.pending.utf8_chunks().last();
        let unfinished = last.map_or(0, |chunk| chunk.invalid().len());
        let rest = self.pending.split_off(self.pending.len() - unfinished);
        let shown = std::mem::replace(&mut self.pending, rest);
        if !shown.is_empty() {
            host.progress(&String::from_utf8_lossy(&shown));
        }
        if self.is_cut {
            self.pending.clear();
            self.is_cut = false;
            host.omitted();
        }
        self.next = Instant::now() + PIECES;
    }

    /// Shows what is left at the end.
    pub(super) fn finish(&mut self, host: &dyn ToolHost) {
        self.flush(host);
        if self.is_pending() {
            host.progress(&String::from_utf8_lossy(&self.pending));
            self.pending.clear();
        }
    }
}

/// Whether a byte ends a line, or begins it anew.
fn ends_line(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
