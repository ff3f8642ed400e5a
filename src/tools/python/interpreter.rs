//! One Python in the sandbox that runs cells one after the other.
//!
//! Nothing of it runs between two cells: its processes are suspended then. It and everything below it is killed when this
//! is dropped.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::tools::output::{BoundedOutput, first};
use crate::tools::place::ExecutableDirectory;
use crate::tools::process::{Pieces, RunningProcess};
use crate::tools::python::reply::{Replies, Reply};
use crate::tools::sandbox::{Program, REFUSED, Sandbox, tree};
use crate::tools::tool::{ToolContext, ToolHost};

/// What runs inside.
const DRIVER: &str = include_str!("driver.py");
/// Where programs are looked for inside. Ours, not the one this process was started with.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Where it sees the datasets of its channel.
const DATASETS: &str = "/datasets";
/// Longest start.
const START: Duration = Duration::from_secs(20);
/// How long an interrupted cell may take to end.
const INTERRUPTED: Duration = Duration::from_secs(1);
/// How long a driver that closed its replies may take to end.
const CLOSED: Duration = Duration::from_millis(200);
/// How long output may take to arrive that was written before a reply.
const LATE: Duration = Duration::from_millis(200);
/// After this long without an end a killed program is given up (it hangs in the kernel).
const GIVE_UP: Duration = Duration::from_millis(700);
/// Most bytes of what a Python says that does not start.
const SAID: usize = 400;

/// How a cell ended.
#[derive(Debug)]
pub enum CellEnd {
    /// The interpreter answered, and can run another one.
    Answered(Reply),
    /// The interpreter ended by itself; a clause says how.
    Died(String),
    /// It was killed, and a clause says why.
    Killed(String),
}

/// Why a cell was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// It took too long.
    TimedOut,
    /// Its call was cancelled.
    Cancelled,
}

/// A cell that has ended.
#[derive(Debug)]
pub struct RanCell {
    /// How.
    pub ended: CellEnd,
    /// Whether it was interrupted before.
    pub interrupt: Option<Interrupt>,
    /// What it wrote.
    pub output: BoundedOutput,
    /// How long it ran.
    pub took: Duration,
}

/// What ends a cell before its end.
pub struct Stops<'a> {
    /// How long it may run.
    pub timeout: Duration,
    /// Interrupts it.
    pub cancel: &'a CancellationToken,
    /// Kills the interpreter.
    pub kill: &'a CancellationToken,
}

/// One Python.
pub struct PythonInterpreter {
    process: RunningProcess,
    requests: UnboundedSender<String>,
    replies: Replies<ChildStdout>,
    output: Output,
    protected: Vec<ExecutableDirectory>,
    /// Where it sees datasets; none = none is mounted.
    datasets: Option<PathBuf>,
    /// Processes that belong to it before the first cell.
    own_processes: usize,
    cells: u64,
}

impl PythonInterpreter {
    /// Starts one. `protected` are the places of the workspace that it must not change, and `datasets` is a directory that
    /// it may read. The error says why there is none.
    pub async fn start(
        sandbox: &Sandbox,
        executable: &Path,
        context: &ToolContext<'_>,
        protected: &[ExecutableDirectory],
        datasets: Option<&Path>,
    ) -> Result<Self, String> {
        let not_started =
            |why: &dyn std::fmt::Display| format!("Python could not be started: {why}");
        let readable: Vec<(PathBuf, PathBuf)> = datasets
            .map(|directory| (directory.to_owned(), PathBuf::from(DATASETS)))
            .into_iter()
            .collect();
        let arguments = ["-I", "-B", "-u", "-X", "utf8", "-c", DRIVER].map(str::to_owned);
        let command = sandbox.command(&Program {
            workspace: &context.workspace,
            files: &context.workspace,
            hidden: &context.hidden,
            readable: &readable,
            writable: &[],
            protected,
            cwd: &context.workspace,
            executable,
            arguments: &arguments,
            environment: &environment(&context.workspace, sandbox),
            max_file: sandbox.max_growth(),
            service: None,
        });
        let piped = Stdio::piped;
        let mut process = RunningProcess::start(&command, piped(), piped(), piped())
            .await
            .map_err(|error| not_started(&error))?;
        let child = process.child();
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(not_started(&"it has no pipes"));
        };
        let (requests, mut lines) = unbounded_channel::<String>();
        // Ends by itself: with the interpreter, or with whoever has requests.
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                if stdin.write_all(line.as_bytes()).await.is_err() {
                    break;
                }
            }
        });
        let mut started = Self {
            process,
            requests,
            replies: Replies::new(stdout),
            output: Output::new(stderr),
            protected: protected.to_vec(),
            datasets: readable
                .first()
                .map(|both| sandbox.seen_at(both).to_owned()),
            own_processes: 0,
            cells: 0,
        };
        let ready = tokio::select! {
            ready = tokio::time::timeout(START, started.replies.to("ready")) => ready,
            () = context.cancel.cancelled() => return Err(not_started(&"cancelled")),
        };
        match ready {
            Ok(Some(_)) => {}
            Ok(None) => return Err(not_started(&started.last_words().await)),
            Err(_) => {
                return Err(not_started(&format!(
                    "no answer within {} s",
                    START.as_secs()
                )));
            }
        }
        started.own_processes = started.process.id().map_or(0, tree::count);
        Ok(started)
    }

    /// How it ended that never began, and what it said about it.
    async fn last_words(&mut self) -> String {
        let status = tokio::time::timeout(CLOSED, self.process.wait()).await;
        let mut output = BoundedOutput::default();
        while let Ok(bytes) = tokio::time::timeout(LATE, self.output.read()).await
            && !bytes.is_empty()
        {
            output.push(&bytes);
        }
        let ended = match status {
            Ok(Ok(status)) => death(status),
            Ok(Err(_)) | Err(_) => "it closed its replies".to_owned(),
        };
        let said = output.text();
        match first(said.trim(), SAID) {
            "" => ended,
            said => format!("{ended}: {said}"),
        }
    }

    /// The process above everything that belongs to it.
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Processes that belong to it when no cell has started one.
    pub fn own_processes(&self) -> usize {
        self.own_processes
    }

    /// Processes that its cells started and that live.
    pub fn background(&self) -> usize {
        let now = self.process.id().map_or(0, tree::count);
        now.saturating_sub(self.own_processes)
    }

    /// Whether its sandbox protects all these places.
    pub fn protects(&self, places: &[ExecutableDirectory]) -> bool {
        places.iter().all(|place| self.protected.contains(place))
    }

    /// Where it sees datasets; none = none is mounted.
    pub fn datasets(&self) -> Option<&Path> {
        self.datasets.as_deref()
    }

    /// How it ended between two cells; none = it lives.
    pub fn has_ended(&mut self) -> Option<String> {
        let ended = self.process.wait().now_or_never()?;
        Some(ended.map_or_else(|error| error.to_string(), death))
    }

    /// Lets it go on after [`Self::rest`].
    pub fn wake(&self) {
        if let Some(id) = self.process.id() {
            tree::resume(id);
        }
    }

    /// Suspends everything of it until [`Self::wake`].
    pub fn rest(&self) {
        if let Some(id) = self.process.id() {
            tree::suspend(id);
        }
    }

    /// Carries out a request of the driver, whose fields are given without nonce and name.
    pub async fn run(
        &mut self,
        mut request: Value,
        stops: &Stops<'_>,
        host: &dyn ToolHost,
    ) -> RanCell {
        let began = Instant::now();
        self.cells += 1;
        let nonce = ulid::Ulid::generate().to_string();
        request["nonce"] = Value::from(nonce.as_str());
        request["name"] = Value::from(format!("<cell {}>", self.cells));
        // Who cannot be told ends, which is seen below.
        let _ = self.requests.send(format!("{request}\n"));
        self.output.end_at(&nonce);
        let mut output = BoundedOutput::default();
        let mut pieces = Pieces::default();
        let mut replied: Option<CellEnd> = None;
        let mut interrupt = None;
        let mut is_closed = false;
        let mut killed: Option<String> = None;
        // The next thing that time brings, and when.
        let mut clock = (Due::Timeout, began + stops.timeout);
        let ended = loop {
            if !self.output.is_open()
                && let Some(ended) = replied.take()
            {
                break ended;
            }
            let has_replied = replied.is_some();
            tokio::select! {
                bytes = self.output.read(), if self.output.is_open() => pieces.take(&bytes, &mut output),
                reply = self.replies.to(&nonce), if !has_replied && killed.is_none() && !is_closed => match reply {
                    Some(reply) => {
                        replied = Some(CellEnd::Answered(reply));
                        clock = (Due::Give, Instant::now() + LATE);
                    }
                    None => {
                        is_closed = true;
                        clock = (Due::Ended, Instant::now() + CLOSED);
                    }
                },
                status = self.process.wait(), if !has_replied => {
                    let how = status.map_or_else(|error| error.to_string(), death);
                    replied = Some(killed.take().map_or(CellEnd::Died(how), CellEnd::Killed));
                    clock = (Due::Give, Instant::now() + LATE);
                }
                () = stops.kill.cancelled(), if killed.is_none() && !has_replied => {
                    killed = Some(String::new());
                    clock = (Due::Kill, Instant::now());
                }
                () = stops.cancel.cancelled(), if interrupt.is_none() && !has_replied => {
                    interrupt = Some(Interrupt::Cancelled);
                    self.interrupt(&nonce);
                    clock = (Due::Kill, Instant::now() + INTERRUPTED);
                }
                () = tokio::time::sleep_until(clock.1) => match clock.0 {
                    Due::Timeout => {
                        interrupt = Some(Interrupt::TimedOut);
                        self.interrupt(&nonce);
                        clock = (Due::Kill, Instant::now() + INTERRUPTED);
                    }
                    Due::Ended => {
                        killed = Some("it closed the descriptor of its replies".to_owned());
                        clock = (Due::Kill, Instant::now());
                    }
                    Due::Kill => {
                        killed.get_or_insert_with(|| "it did not end when it was interrupted".to_owned());
                        self.process.kill();
                        clock = (Due::Give, Instant::now() + GIVE_UP);
                    }
                    Due::Give => break replied
                        .or_else(|| killed.map(CellEnd::Killed))
                        .unwrap_or_else(|| CellEnd::Killed("nobody knows how it ended".to_owned())),
                },
                () = tokio::time::sleep_until(pieces.next()), if pieces.is_pending() => pieces.flush(host),
            }
        };
        pieces.finish(host);
        RanCell {
            ended,
            interrupt,
            output,
            took: began.elapsed(),
        }
    }

    fn interrupt(&self, nonce: &str) {
        let request = serde_json::json!({"interrupt": nonce});
        let _ = self.requests.send(format!("{request}\n"));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// The cell has used its time.
    Timeout,
    /// It was interrupted and has not ended.
    Kill,
    /// Its replies are closed, and it has not ended.
    Ended,
    /// It ended, or should have: its output is not waited for any longer.
    Give,
}

/// Everything that an interpreter finds in its environment.
fn environment(workspace: &Path, sandbox: &Sandbox) -> Vec<(String, String)> {
    let home = workspace.to_string_lossy();
    let mut variables = vec![
        ("PATH", PATH),
        ("HOME", home.as_ref()),
        ("LANG", "C.UTF-8"),
        ("TERM", "dumb"),
        ("MPLBACKEND", "Agg"),
        // Libraries start as many threads as the machine has processors, which may be more than a run may have.
        ("OPENBLAS_NUM_THREADS", "2"),
        ("OMP_NUM_THREADS", "2"),
    ];
    if sandbox.is_confined() {
        variables.push(("MPLCONFIGDIR", "/tmp/matplotlib"));
        variables.push(("XDG_CACHE_HOME", "/tmp/cache"));
    }
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    variables.into_iter().map(owned).collect()
}

/// How a process ended, as a clause.
fn death(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    // A shell and bubblewrap pass a signal on as a status above 128.
    let code = status.code();
    let signal = status
        .signal()
        .or_else(|| code.filter(|code| *code > 128).map(|code| code - 128));
    match (code, signal) {
        (_, Some(11)) => {
            "signal 11: memory that is not its own, often a recursion that is too deep".to_owned()
        }
        (_, Some(9)) => "signal 9: it was killed".to_owned(),
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(REFUSED), None) => "a protected path of the workspace changed".to_owned(),
        (Some(code), None) => format!("exit status {code}"),
        (None, None) => "nobody knows how".to_owned(),
    }
}

/// What cells write. The driver ends what belongs to a cell by a mark, so that nothing of it comes with the next one.
pub struct Output<R = ChildStderr> {
    pipe: R,
    buffer: Vec<u8>,
    is_at_end: bool,
    mark: Vec<u8>,
    /// What may be the beginning of the mark.
    held: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Output<R> {
    /// Nothing is read yet.
    pub fn new(pipe: R) -> Self {
        Self {
            pipe,
            buffer: vec![0; 16 * 1024],
            is_at_end: false,
            mark: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Opens it for the output of another cell.
    pub fn end_at(&mut self, nonce: &str) {
        self.mark = format!("\0{nonce}\0").into_bytes();
        self.is_at_end = false;
    }

    /// Whether more of this cell can come.
    pub fn is_open(&self) -> bool {
        !self.is_at_end
    }

    /// The next bytes without the mark; they are empty where nothing but a part of it came. Whoever waits may give up.
    pub async fn read(&mut self) -> Vec<u8> {
        let count = self.pipe.read(&mut self.buffer).await.unwrap_or(0);
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(&self.buffer[..count]);
        if count == 0 {
            self.is_at_end = true;
            return bytes;
        }
        if self.mark.is_empty() {
            return bytes;
        }
        let found = bytes
            .windows(self.mark.len())
            .position(|part| part == self.mark);
        if let Some(at) = found {
            bytes.drain(at..at + self.mark.len());
            self.is_at_end = true;
            return bytes;
        }
        let from = bytes.len().saturating_sub(self.mark.len() - 1);
        let begins = (from..bytes.len()).find(|at| self.mark.starts_with(&bytes[*at..]));
        if let Some(at) = begins {
            self.held = bytes.split_off(at);
        }
        bytes
    }
}
