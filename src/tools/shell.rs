//! A bash that runs one command after the other on a terminal of its own, in the sandbox.
//!
//! No byte of a command is ever typed: bash reads the command from a file, with nothing as its input, and says that it
//! has ended by making a file. A command can pretend that, so the shell must also have its terminal back.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anstream::adapter::StripBytes;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::tools::control_directory::ControlDirectory;
use crate::tools::execute_command::system_program;
use crate::tools::guard::Guard;
use crate::tools::output::{BoundedOutput, first};
use crate::tools::place::ExecutableDirectory;
use crate::tools::process::{Pieces, RunningProcess};
use crate::tools::sandbox::{Program, Sandbox};
use crate::tools::terminal::Terminal;
use crate::tools::tool::ToolHost;

/// Where a shell finds its control directory in the sandbox.
const CONTROL: &str = "/run/shell";
/// What bash writes when it waits for the next line. It is no text, so it disappears from the output.
const PROMPT: u8 = 0x1e;
/// What bash does before the first command: no history, no prompt that anybody reads.
const PREPARE: &str = "PS1=$'\\036' PS2= PS4='+ '\nexport -n PS1 PS2 PS4 2>/dev/null\nunset HISTFILE PROMPT_COMMAND\nset +o history\n";
/// Longest start.
const START: Duration = Duration::from_secs(10);
/// Between two looks whether a command has ended that changed the prompt.
const LOOK: Duration = Duration::from_millis(20);
/// How long output may be silent before it counts as read, where no prompt follows it; and the longest wait for that.
const QUIET: Duration = Duration::from_millis(40);
const LONGEST_QUIET: Duration = Duration::from_millis(400);
/// After an interrupt, after asking to end, and after killing: how long a command has.
const INTERRUPTED: Duration = Duration::from_millis(500);
const ASKED: Duration = Duration::from_millis(100);
const KILLED: Duration = Duration::from_millis(200);
/// Between two times that the end of a stopped command is asked for.
const RETYPE: Duration = Duration::from_millis(100);
/// Commands in a chain that are killed before the whole shell is.
const KILLS: u32 = 3;
/// Time between pieces of output for people watching.
const PIECES: Duration = Duration::from_millis(100);
/// Most bytes of what bash says of its jobs.
const MAX_JOBS: usize = 4096;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself, with this status.
    Exited(u8),
    /// It took too long.
    TimedOut {
        /// Whether the shell is still there.
        is_kept: bool,
    },
    /// Somebody cancelled it.
    Cancelled {
        /// Whether the shell is still there.
        is_kept: bool,
    },
    /// With the shell.
    ShellEnded,
}

/// A command that has ended.
#[derive(Debug)]
pub struct EndedCommand {
    /// How.
    pub ended: CommandEnd,
    /// What it wrote, and what background jobs wrote since the command before.
    pub output: BoundedOutput,
    /// How long it took.
    pub took: Duration,
    /// Background jobs of the shell, as bash lists them.
    pub jobs: String,
}

/// What a shell is started with.
pub struct ShellPlace<'a> {
    /// How it is confined.
    pub sandbox: &'a Sandbox,
    /// Where control directories are.
    pub directory: &'a Path,
    /// Its workspace, and its first working directory (absolute, canonical).
    pub workspace: &'a Path,
    /// What it must not see.
    pub hidden: &'a [PathBuf],
    /// What in the workspace it must not change.
    pub protected: &'a [ExecutableDirectory],
    /// The whole environment.
    pub environment: &'a [(String, String)],
    /// Kills it when it fires.
    pub kill: CancellationToken,
}

/// A running bash. It and everything it started is killed when this is dropped.
pub struct Shell {
    process: Arc<RunningProcess>,
    terminal: Arc<Terminal>,
    screen: Arc<Screen>,
    control: Arc<ControlDirectory>,
    number: u64,
    cwd: PathBuf,
    _reader: AbortOnDropHandle<()>,
}

impl Shell {
    /// Starts a bash and waits until it takes commands. The error says why there is none.
    pub async fn start(place: ShellPlace<'_>) -> Result<Self, String> {
        let find = |name: &str, package: &str| {
            system_program(name).ok_or_else(|| {
                format!(
                    "the shell was not started: there is no program `{name}`; install {package}"
                )
            })
        };
        let (bash, session) = (find("bash", "bash")?, find("setsid", "util-linux")?);
        let problem = |error: std::io::Error| format!("the shell could not be started: {error}");
        let mut control = ControlDirectory::new(place.directory).map_err(problem)?;
        let mounts = [(control.real().to_owned(), PathBuf::from(CONTROL))];
        control.set_inside(place.sandbox.seen_at(&mounts[0]).to_owned());
        let arguments = [
            "--ctty",
            "--wait",
            &bash.to_string_lossy(),
            "--norc",
            "--noprofile",
            "--noediting",
            "-i",
        ]
        .map(str::to_owned);
        let command = place.sandbox.command(&Program {
            workspace: place.workspace,
            files: place.workspace,
            hidden: place.hidden,
            readable: &[],
            writable: &mounts,
            protected: place.protected,
            cwd: place.workspace,
            executable: &session,
            arguments: &arguments,
            environment: place.environment,
            max_file: place.sandbox.max_growth(),
            service: None,
        });
        let (terminal, end) = Terminal::open().map_err(problem)?;
        let stdio = || end.try_clone().map(Stdio::from);
        let (stdin, stdout) = (stdio().map_err(problem)?, stdio().map_err(problem)?);
        let process = RunningProcess::start(&command, stdin, stdout, end.into()).await;
        let (process, terminal) = (Arc::new(process.map_err(problem)?), Arc::new(terminal));
        let screen = Arc::new(Screen::default());
        let reader = tokio::spawn(read(
            Arc::clone(&terminal),
            Arc::clone(&screen),
            Arc::clone(&process),
            place.kill,
        ));
        let mut shell = Self {
            process,
            terminal,
            screen,
            control: Arc::new(control),
            number: 0,
            cwd: place.workspace.to_owned(),
            _reader: AbortOnDropHandle::new(reader),
        };
        let never = CancellationToken::new();
        let started = shell.run(PREPARE, START, &never, &Silent).await;
        match started.ended {
            CommandEnd::Exited(0) => Ok(shell),
            CommandEnd::Exited(_)
            | CommandEnd::TimedOut { .. }
            | CommandEnd::Cancelled { .. }
            | CommandEnd::ShellEnded => {
                let said = started.output.text();
                let said = said.trim();
                Err(format!(
                    "the shell could not be started: {}",
                    if said.is_empty() {
                        "it said nothing"
                    } else {
                        first(said, 500)
                    }
                ))
            }
        }
    }

    /// The process above everything of it.
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Its working directory, after the last command.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// By which what it writes beside the workspace is measured.
    pub fn control(&self) -> Guard {
        self.control.guard()
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.screen.state().is_closed
    }

    /// Runs a command to its end.
    pub async fn run(
        &mut self,
        text: &str,
        longest: Duration,
        cancel: &CancellationToken,
        host: &dyn ToolHost,
    ) -> EndedCommand {
        let began = Instant::now();
        self.number += 1;
        self.screen.begin();
        let ended = match self.begin(text).await {
            Ok(()) => self.follow(began + longest, cancel, host).await,
            Err(_) => {
                self.process.kill();
                CommandEnd::ShellEnded
            }
        };
        let jobs = self.look_around().await;
        EndedCommand {
            ended,
            output: self.screen.take(),
            took: began.elapsed(),
            jobs,
        }
    }

    /// Lets bash read the command.
    async fn begin(&self, text: &str) -> std::io::Result<()> {
        let file = format!("{}.sh", self.number);
        let (name, text) = (file.clone(), format!("{text}\n"));
        self.files(move |control| {
            // What runs in the background may have put something there.
            control.clear()?;
            control.write(&name, &text)
        })
        .await?;
        let source = self.control.word(&file);
        let line = format!("\\. {source} </dev/null; {}", self.completion());
        self.type_in(line).await
    }

    /// What bash does when the command has ended. Only what has no name cannot be redefined, so what says that it has
    /// ended is a redirection alone.
    fn completion(&self) -> String {
        let word = |name: &str| self.control.word(&format!("{}.{name}", self.number));
        format!(
            ">|{}.\"$?\"; {{ \\pwd -P; \\jobs -l; }} >|{} 2>/dev/null </dev/null; >|{}\n",
            word("status"),
            word("state"),
            word("done")
        )
    }

    /// Works in the control directory where that may take its time.
    async fn files<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ControlDirectory) -> std::io::Result<T> + Send + 'static,
    ) -> std::io::Result<T> {
        let control = Arc::clone(&self.control);
        tokio::task::spawn_blocking(move || work(&control))
            .await
            .map_err(std::io::Error::other)?
    }

    /// A shell whose terminal takes nothing does not hold this up.
    async fn type_in(&self, line: String) -> std::io::Result<()> {
        match timeout(INTERRUPTED, self.terminal.type_in(line.as_bytes())).await {
            Ok(typed) => typed,
            Err(_) => Err(std::io::ErrorKind::TimedOut.into()),
        }
    }

    /// Waits for the end of the command.
    async fn follow(
        &mut self,
        deadline: Instant,
        cancel: &CancellationToken,
        host: &dyn ToolHost,
    ) -> CommandEnd {
        let mut next_piece = Instant::now() + PIECES;
        loop {
            if self.has_ended() {
                return CommandEnd::ShellEnded;
            }
            if self.is_done() {
                self.settle().await;
                return self.status().await;
            }
            tokio::select! {
                () = self.screen.changed.notified() => {}
                () = sleep(LOOK) => {}
                () = cancel.cancelled() => {
                    let is_kept = self.stop().await;
                    return CommandEnd::Cancelled { is_kept };
                }
                () = sleep_until(deadline) => {
                    let is_kept = self.stop().await;
                    return CommandEnd::TimedOut { is_kept };
                }
            }
            if Instant::now() >= next_piece {
                next_piece = Instant::now() + PIECES;
                self.screen.show(host);
            }
        }
    }

    /// Whether bash says that the command has ended, and has its terminal back.
    fn is_done(&self) -> bool {
        self.control.has(&format!("{}.done", self.number))
            && (self.terminal.groups()).is_some_and(|(front, leader)| front == leader)
    }

    /// Waits until what was written has been read.
    async fn settle(&self) {
        let longest = Instant::now() + LONGEST_QUIET;
        while Instant::now() < longest {
            if self.screen.is_settled()
                || timeout(QUIET, self.screen.changed.notified())
                    .await
                    .is_err()
            {
                return;
            }
        }
    }

    /// The status of the command that has ended.
    async fn status(&self) -> CommandEnd {
        let start = format!("{}.status.", self.number);
        let names = self.files(|control| Ok(control.names())).await;
        let status = (names.unwrap_or_default().iter())
            .find_map(|name| name.to_str()?.strip_prefix(&start)?.parse().ok());
        // Somebody else has written there; the command has ended all the same.
        CommandEnd::Exited(status.unwrap_or(u8::MAX))
    }

    /// Ends the command and keeps the shell if it can; false = the shell had to go, too.
    async fn stop(&mut self) -> bool {
        self.signal(Signal::INT, true);
        if self.comes_back(INTERRUPTED).await {
            return true;
        }
        for _ in 0..KILLS {
            if self.has_ended() || !self.signal(Signal::TERM, false) {
                break;
            }
            sleep(ASKED).await;
            self.signal(Signal::KILL, false);
            if self.comes_back(KILLED).await {
                return true;
            }
        }
        self.process.kill();
        let ended = async {
            while !self.has_ended() {
                self.screen.changed.notified().await;
            }
        };
        let _ = timeout(INTERRUPTED, ended).await;
        false
    }

    /// Sends a signal to whoever has the terminal; to the shell itself only if said so. Whether it was sent.
    fn signal(&self, signal: Signal, also_shell: bool) -> bool {
        let front = self
            .terminal
            .groups()
            .filter(|(front, leader)| also_shell || front != leader);
        front.is_some_and(|(front, _): (Pid, Pid)| kill_process_group(front, signal).is_ok())
    }

    /// Whether the shell takes commands again in time. An interrupt makes bash forget the rest of its line, so that is
    /// typed again, and once more where a dying command took it.
    async fn comes_back(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        while Instant::now() < deadline {
            sleep(LOOK).await;
            // Something there may be in the way of what bash writes.
            let _ = self.files(ControlDirectory::clear).await;
            let next = Instant::now() + RETYPE;
            if self.has_ended() || self.type_in(self.completion()).await.is_err() {
                return false;
            }
            while Instant::now() < next {
                if self.is_done() {
                    self.settle().await;
                    return true;
                }
                let _ = timeout(LOOK, self.screen.changed.notified()).await;
            }
        }
        false
    }

    /// Reads where the shell is now, and which jobs it has, and removes what is left of the command.
    async fn look_around(&mut self) -> String {
        let name = format!("{}.state", self.number);
        let looked = self.files(move |control| {
            let said = control.read(&name);
            control.clear().map(|()| said)
        });
        let said = match looked.await {
            Ok(said) => said.unwrap_or_default(),
            Err(_) => {
                // What cannot be removed would stay on the disk.
                self.process.kill();
                return String::new();
            }
        };
        let said = String::from_utf8_lossy(&said);
        let (cwd, jobs) = said.split_once('\n').unwrap_or_default();
        if cwd.starts_with('/') {
            self.cwd = PathBuf::from(cwd);
        }
        first(jobs, MAX_JOBS).to_owned()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.process.kill();
    }
}

/// A host for what nobody watches.
struct Silent;

impl ToolHost for Silent {
    fn progress(&self, _: &str) {}
}

/// Reads the terminal until nobody has its other end, whether a command runs or not: no program waits for a reader.
async fn read(
    terminal: Arc<Terminal>,
    screen: Arc<Screen>,
    process: Arc<RunningProcess>,
    kill: CancellationToken,
) {
    let mut buffer = vec![0; 16 * 1024];
    let mut is_killed = false;
    loop {
        let count = tokio::select! {
            count = terminal.read(&mut buffer) => count,
            () = kill.cancelled(), if !is_killed => {
                is_killed = true;
                process.kill();
                continue;
            }
        };
        screen.push(buffer.get(..count).unwrap_or_default());
        if count == 0 {
            return;
        }
    }
}

/// What came from the terminal since the last command began.
#[derive(Default)]
struct Screen {
    state: Mutex<ScreenState>,
    changed: Notify,
}

#[derive(Default)]
struct ScreenState {
    output: BoundedOutput,
    strip: StripBytes,
    /// For people watching.
    pieces: Pieces,
    /// The last byte, as it came.
    last: Option<u8>,
    is_closed: bool,
}

impl Screen {
    fn state(&self) -> MutexGuard<'_, ScreenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) {
        self.state().last = None;
    }

    /// Whether bash waits for the next line, or is gone: nothing more comes of the command.
    fn is_settled(&self) -> bool {
        let state = self.state();
        state.is_closed || state.last == Some(PROMPT)
    }

    /// Takes what came; nothing = it is closed.
    fn push(&self, bytes: &[u8]) {
        let mut state = self.state();
        let ScreenState {
            output,
            strip,
            pieces,
            last,
            is_closed,
        } = &mut *state;
        *is_closed |= bytes.is_empty();
        *last = bytes.last().copied().or(*last);
        for plain in strip.strip_next(bytes) {
            // A program that writes a line anew begins another one here.
            let plain: Vec<u8> = (plain.iter())
                .map(|byte| if *byte == b'\r' { b'\n' } else { *byte })
                .collect();
            pieces.take(&plain, output);
        }
        drop(state);
        self.changed.notify_one();
    }

    fn show(&self, host: &dyn ToolHost) {
        self.state().pieces.flush(host);
    }

    fn take(&self) -> BoundedOutput {
        let mut state = self.state();
        state.pieces = Pieces::default();
        std::mem::take(&mut state.output)
    }
}
