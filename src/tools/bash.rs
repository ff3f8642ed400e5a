//! `bash`: runs a command in the shell of its session, which keeps its state between calls.
//!
//! No command of a shell counts as one that only reads: an earlier one may have given every word another meaning. What
//! confines the shell, and bounds what it takes, is that of `execute_command`, for as long as the shell lives.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::config::settings::BashSettings;
use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::{Access, Effect, InterpreterKind};
use crate::protocol::ids::SessionId;
use crate::protocol::rule::BASH;
use crate::tools::execute_command::{
    MAX_SECONDS, PATH, environment, system_program, timeout_seconds,
};
use crate::tools::guard::Guard;
use crate::tools::interpreters::{CANCELLED, InterpreterLimits, Interpreters, Lease};
use crate::tools::place::ExecutableDirectory;
use crate::tools::place_watch::PlaceWatch;
use crate::tools::read_file::text;
use crate::tools::risk::RiskReason;
use crate::tools::sandbox::Sandbox;
use crate::tools::sandbox::tree;
use crate::tools::sandbox::watch::{Growth, Watch};
use crate::tools::shell::{CommandEnd, EndedCommand, Shell, ShellPlace};
use crate::tools::tool::{
    EffectDisposition, InterpreterTable, Plan, PrepareError, Tool, ToolContext, ToolOutcome,
    ToolSpec, arguments,
};
use crate::tools::{operands, output};

/// Longest command, in bytes.
const MAX_COMMAND: usize = 256 * 1024;

/// The directory in the data directory through which commands go to shells.
pub const SHELLS: &str = "shells";

/// The tool.
pub struct Bash {
    spec: ToolSpec,
    sandbox: Sandbox,
    /// Where control directories are.
    directory: PathBuf,
    shells: Interpreters<SessionShell>,
    /// Where the shell of each session stood when its last command ended; none = it has none.
    places: Mutex<HashMap<SessionId, PathBuf>>,
}

/// The shell of a session, with what watches over it.
struct SessionShell {
    shell: Shell,
    /// What in the workspace was protected when it started.
    protected: Vec<ExecutableDirectory>,
    /// How far the workspace may grow, from its start on.
    growth: Growth,
    /// Kills it.
    kill: CancellationToken,
    /// Processes of it when nothing runs.
    at_rest: usize,
    /// Looks at it while something runs, in the background too.
    watch: Option<Watch>,
    /// The places of the last command, while something of it runs in the background.
    places: Option<PlaceWatch>,
}

impl Bash {
    /// The tool at a sandbox level; `directory` is where it keeps what goes between it and its shells.
    pub fn new(sandbox: Sandbox, settings: BashSettings, directory: PathBuf) -> Self {
        let limits = InterpreterLimits {
            most: settings.max_shells,
            idle: Duration::from_secs(60 * settings.idle_minutes),
        };
        Self {
            spec: ToolSpec {
                name: BASH.into(),
                description: "Run a command in this session's bash: cd, variables, functions and background jobs stay. \
                              No terminal input, no network; only the workspace is writable."
                    .into(),
                input_schema: arguments!(["command"], {
                    "command": {"type": "string", "minLength": 1},
                    "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": MAX_SECONDS, "description": "default 60"}
                }),
                access: Access::Exec,
                effect: Effect::NonIdempotent,
                max_duration: Duration::from_secs(MAX_SECONDS + 5),
                key_lifetime: None,
                cacheable: None,
            },
            sandbox,
            directory,
            shells: Interpreters::new(InterpreterKind::Bash, limits),
            places: Mutex::default(),
        }
    }

    /// Where the shell of a session stands; none = the next command begins a new one.
    fn cwd(&self, session: SessionId) -> Option<PathBuf> {
        let is_there = (self.shells.list().iter()).any(|row| row.session_id == session);
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.get(&session).filter(|_| is_there).cloned()
    }

    fn set_cwd(&self, session: SessionId, cwd: Option<&Path>) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        match cwd {
            Some(cwd) => drop(places.insert(session, cwd.to_owned())),
            None => drop(places.remove(&session)),
        }
    }
}

/// The command of a call.
fn command(args: &Value) -> Result<&str, PrepareError> {
    let command = text(args, "command").unwrap_or_default();
    if command.contains('\0') {
        return Err(PrepareError::Invalid(
            "a NUL character cannot be part of a command".to_owned(),
        ));
    }
    if command.len() > MAX_COMMAND {
        return Err(PrepareError::Invalid(format!(
            "the command has {} bytes, of {MAX_COMMAND}: write a file and run that",
            command.len()
        )));
    }
    Ok(command)
}

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn interpreters(&self) -> Option<&dyn InterpreterTable> {
        Some(&self.shells)
    }

    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let command = command(args)?;
        let bash = system_program("bash").ok_or_else(|| {
            PrepareError::Invalid(format!("there is no program `bash` in {PATH}: install it"))
        })?;
        let cwd = self.cwd(context.session_id);
        let (shell, cwd) = match cwd {
            Some(cwd) => ("in the shell of this session", cwd),
            None => ("in a new shell", context.workspace.clone()),
        };
        let guard = Guard::new(context);
        let arguments = ["-c".to_owned(), command.to_owned()];
        let operands = operands::of(
            &guard,
            &operands::Command {
                cwd: &cwd,
                executables: &[&bash],
                arguments: &arguments,
                script: Some(command),
                stdin: None,
            },
        );
        let reason = match self.sandbox.always_asks() {
            Some(why) => RiskReason::Unconfined(why, self.sandbox.least_risk()),
            None => RiskReason::ShellScript,
        };
        Ok(Plan {
            access: Access::Exec,
            risk_reasons: vec![reason],
            facts: PlanFacts {
                cwd: Some(cwd.to_string_lossy().into_owned()),
                executable: Some(bash.to_string_lossy().into_owned()),
                bound: operands.names(),
                unbound: operands.incomplete,
                sandbox: Some(format!("{}; {shell}", self.sandbox.describe())),
                ..PlanFacts::default()
            },
            operands: operands.files,
            preview: Preview::Text {
                text: command.to_owned(),
            },
            always_asks: self.sandbox.always_asks(),
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        match self.run(context, args).await {
            Ok(outcome) => outcome,
            Err(content) => ToolOutcome::not_done(content),
        }
    }
}

impl Bash {
    /// Runs a command in the shell of its session. The error says why it was not started.
    async fn run(&self, context: &ToolContext<'_>, args: &Value) -> Result<ToolOutcome, String> {
        let command = command(args).map_err(|error| error.to_string())?;
        let session = context.session_id;
        let cancelled = || CANCELLED.to_owned();
        let busy = "another command runs in this shell: wait for its end, or cancel it";
        let mut lease = self.shells.lock_for(context, busy).await?;
        if context.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let files = Guard::new(context);
        let mut notes = Vec::new();
        let mut left = String::new();
        // What ran on in the background has had its time; what it left is told with this command.
        if let Some(kept) = &mut lease.interpreter
            && let Some(places) = kept.places.take()
        {
            left = places.end(&context.cancel).await;
        }
        let places = PlaceWatch::begin(&files, context).await?;
        drop_unusable(&mut lease, &places).await;
        if lease.interpreter.is_none() {
            self.set_cwd(session, None);
            notes.extend(lease.why_new(context.host).await);
            let kept = tokio::select! {
                kept = self.start(context, &places) => kept?,
                () = context.cancel.cancelled() => return Err(cancelled()),
                () = lease.ended().cancelled() => return Err(cancelled()),
            };
            let pid = kept.shell.id();
            lease.start(kept, pid);
        }
        let Some(mut kept) = lease.interpreter.take() else {
            return Err("the shell was ended before the command began".to_owned());
        };
        notes.extend(lease.begin(command, context.host.is_person()));
        let seconds = timeout_seconds(args);
        let ended = kept.run(&lease, context, command, seconds, &files).await;
        let excess = match ended.ended {
            CommandEnd::ShellEnded => match kept.watch.take() {
                Some(watch) => watch.end().await.map(|excess| excess.to_string()),
                None => None,
            },
            CommandEnd::Exited(_) | CommandEnd::TimedOut { .. } | CommandEnd::Cancelled { .. } => {
                None
            }
        };
        let is_kept = is_kept(ended.ended);
        let running = if is_kept { kept.running() } else { 0 };
        if running > 0 {
            kept.places = Some(places);
        } else {
            if let Some(watch) = kept.watch.take() {
                let _ = watch.end().await;
            }
            left.push_str(&places.end(&context.cancel).await);
        }
        if is_kept {
            self.set_cwd(session, Some(kept.shell.cwd()));
        }
        let finished = Finished {
            notes: &notes,
            left: &left,
            seconds,
            running,
            cwd: kept.shell.cwd(),
            excess: excess.as_deref(),
            is_ended: lease.ended().is_cancelled(),
            command: &ended,
        };
        let outcome = finished.outcome();
        lease.finish(&finished.end().0, running);
        if is_kept {
            lease.interpreter = Some(kept);
        } else {
            self.set_cwd(session, None);
            lease.lose("it ended with its last command");
        }
        Ok(outcome)
    }

    /// Starts a shell in the workspace.
    async fn start(
        &self,
        context: &ToolContext<'_>,
        places: &PlaceWatch,
    ) -> Result<SessionShell, String> {
        let environment = environment(&context.workspace);
        let kill = CancellationToken::new();
        let shell = Shell::start(ShellPlace {
            sandbox: &self.sandbox,
            directory: &self.directory,
            workspace: &context.workspace,
            hidden: &context.hidden,
            protected: places.list(),
            environment: &environment,
            kill: kill.clone(),
        })
        .await?;
        let (before, took) = places.measured();
        Ok(SessionShell {
            at_rest: shell.id().map_or(0, tree::count),
            shell,
            protected: places.list().to_vec(),
            growth: Growth {
                before,
                took,
                most: self.sandbox.max_growth(),
            },
            kill,
            watch: None,
            places: None,
        })
    }
}

/// Lets a shell go that has ended by itself, or that could change what has to be protected since it started.
async fn drop_unusable(lease: &mut Lease<SessionShell>, places: &PlaceWatch) {
    let Some(kept) = &mut lease.interpreter else {
        return;
    };
    if kept.shell.has_ended() {
        let excess = match kept.watch.take() {
            Some(watch) => watch.end().await,
            None => None,
        };
        match excess {
            Some(excess) => lease.lose(&format!("it was ended because {excess}")),
            None => lease.lose("it ended by itself"),
        }
    } else if kept.protected != places.list() {
        lease.lose("the workspace has other git or editor settings than when it started");
    }
}

fn is_kept(ended: CommandEnd) -> bool {
    match ended {
        CommandEnd::Exited(_) => true,
        CommandEnd::TimedOut { is_kept } | CommandEnd::Cancelled { is_kept } => is_kept,
        CommandEnd::ShellEnded => false,
    }
}

impl SessionShell {
    async fn run(
        &mut self,
        lease: &Lease<Self>,
        context: &ToolContext<'_>,
        command: &str,
        seconds: u64,
        files: &Guard,
    ) -> EndedCommand {
        if self.watch.is_none() {
            let guards = vec![files.clone(), self.shell.control()];
            let watch = Watch::begin(guards, self.growth, self.kill.clone());
            if let Some(id) = self.shell.id() {
                let _ = watch.process().set(id);
            }
            self.watch = Some(watch);
        }
        let (kill, ended) = (self.kill.clone(), lease.ended().clone());
        let longest = Duration::from_secs(seconds);
        let run = self
            .shell
            .run(command, longest, &context.cancel, context.host);
        let mut run = std::pin::pin!(run);
        tokio::select! {
            finished = &mut run => return finished,
            () = ended.cancelled() => kill.cancel(),
        }
        run.await
    }

    /// Processes that run on in the background.
    fn running(&self) -> usize {
        let now = self.shell.id().map_or(0, tree::count);
        now.saturating_sub(self.at_rest)
    }
}

/// What there is to tell of a command that has ended.
struct Finished<'a> {
    notes: &'a [String],
    left: &'a str,
    seconds: u64,
    running: usize,
    cwd: &'a Path,
    excess: Option<&'a str>,
    /// Whether the shell was ended from elsewhere.
    is_ended: bool,
    command: &'a EndedCommand,
}

impl Finished<'_> {
    /// How it ended on the first line, behind what is new of the shell; then what it wrote.
    fn outcome(&self) -> ToolOutcome {
        let (first, is_error, disposition) = self.end();
        let mut lines = String::new();
        for note in self.notes {
            lines.push_str(&format!("[{note}]\n"));
        }
        let jobs = match self.running {
            0 => String::new(),
            1 => format!(
                "[a process runs on in the background]\n{}",
                self.command.jobs
            ),
            count => format!(
                "[{count} processes run on in the background]\n{}",
                self.command.jobs
            ),
        };
        let written = self.command.output.text_or_none();
        ToolOutcome {
            content: output::fit(format!("{lines}{first}\n{}{jobs}{written}", self.left)),
            is_error,
            disposition,
            partial: false,
        }
    }

    /// How it ended: in words, whether that is an error, and whether its effect happened.
    fn end(&self) -> (String, bool, EffectDisposition) {
        let took = self.command.took.as_secs_f64();
        let lost =
            "the shell ended with it: its state is lost, and the next command gets a new one";
        let shell = |is_kept: bool| {
            if is_kept {
                "the shell is as it was left"
            } else {
                lost
            }
        };
        let part = "it may have done part of its work";
        match self.command.ended {
            CommandEnd::Exited(status) => (
                format!(
                    "exit status {status} after {took:.1} s, in {}",
                    self.cwd.to_string_lossy().escape_debug()
                ),
                status != 0,
                EffectDisposition::Done,
            ),
            CommandEnd::TimedOut { is_kept } => (
                format!(
                    "stopped after {} s (timeout_seconds): {part}; {}",
                    self.seconds,
                    shell(is_kept)
                ),
                true,
                EffectDisposition::Unknown,
            ),
            CommandEnd::Cancelled { is_kept } => (
                format!("cancelled after {took:.1} s: {part}; {}", shell(is_kept)),
                true,
                EffectDisposition::Unknown,
            ),
            CommandEnd::ShellEnded => {
                let why = match self.excess {
                    Some(excess) => format!(" because {excess}: {part}"),
                    None if self.is_ended => format!(" from outside: {part}"),
                    None => ": it may have been exit, exec or a signal".to_owned(),
                };
                let disposition = match (self.excess, self.is_ended) {
                    (None, false) => EffectDisposition::Done,
                    (Some(_), _) | (None, true) => EffectDisposition::Unknown,
                };
                (
                    format!(
                        "the shell ended after {took:.1} s{why}. Its state is lost, and the next command gets a new one"
                    ),
                    true,
                    disposition,
                )
            }
        }
    }
}
