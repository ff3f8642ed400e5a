//! `execute_command`: runs a program, or a script, in the sandbox.
//!
//! No variable of our environment, no data of ours and no network reaches the program; where no sandbox
//! gives that, no rule lets it run without a person.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::{Access, Effect};
use crate::protocol::rehearsal::RehearsalEnd;
use crate::tools::guard::{Guard, Kind};
use crate::tools::place_watch::PlaceWatch;
use crate::tools::process::{ProcessEnd, Ran, run};
use crate::tools::read_file::{number, text};
use crate::tools::risk::RiskReason;
use crate::tools::sandbox::watch::{Excess, Growth, Watch};
use crate::tools::sandbox::{Program, REFUSED, Sandbox};
use crate::tools::script::simple_commands;
use crate::tools::tool::{
    EffectDisposition, Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec, TrialRun,
};
use crate::tools::{operands, output, scratch};

/// Run time when the call gives none, in seconds.
const DEFAULT_SECONDS: u64 = 60;
/// Longest run time that a call can give, in seconds.
pub const MAX_SECONDS: u64 = 900;
/// Most bytes of arguments or script (a quarter of what Linux passes to a program), and of standard input.
const MAX_WORDS: usize = 512 * 1024;
const MAX_WORD: usize = 120 * 1024;
const MAX_STDIN: usize = 1 << 20;
/// Where programs are looked for. Ours, not the one this process was started with.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Programs that only read, whatever their arguments are (for `find` and `date` see `only_reads`).
const READERS: [&str; 19] = [
    "basename", "cat", "cut", "date", "df", "dirname", "du", "echo", "find", "grep", "head", "id",
    "ls", "pwd", "stat", "tail", "true", "uname", "wc",
];

/// The tool.
pub struct ExecuteCommand {
    spec: ToolSpec,
    sandbox: Sandbox,
}

impl ExecuteCommand {
    /// The tool at a sandbox level.
    pub fn new(sandbox: Sandbox) -> Self {
        Self {
            spec: ToolSpec {
                name: "execute_command".into(),
                description:
                    "Run a program in the workspace: argv (preferred) or a sh script, exactly one. \
                              No network; only the workspace is writable."
                        .into(),
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "argv": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"type": "string"}, "description": "program and arguments, no shell"},
                        "script": {"type": "string", "minLength": 1, "description": "run by /bin/sh -c"},
                        "cwd": {"type": "string", "minLength": 1, "description": "default the workspace"},
                        "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": MAX_SECONDS, "description": "default 60"},
                        "stdin": {"type": "string"}
                    },
                    "additionalProperties": false
                }),
                access: Access::Exec,
                effect: Effect::NonIdempotent,
                max_duration: Duration::from_secs(MAX_SECONDS + 2),
                key_lifetime: None,
                cacheable: None,
            },
            sandbox,
        }
    }

    fn check(&self, guard: &Guard, args: &Value) -> Result<Request, PrepareError> {
        let invalid = |message: String| Err(PrepareError::Invalid(message));
        let (argv, script) = match (args.get("argv"), text(args, "script")) {
            (Some(Value::Array(words)), None) => (
                words
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect::<Vec<_>>(),
                None,
            ),
            (None, Some(script)) => (
                ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
                Some(script.to_owned()),
            ),
            _ => {
                return invalid(
                    "give exactly one of argv (a list of strings) and script (a string)".to_owned(),
                );
            }
        };
        if argv.iter().any(|word| word.contains('\0')) {
            return invalid("a NUL character cannot be passed to a program".to_owned());
        }
        if argv.iter().map(String::len).sum::<usize>() > MAX_WORDS
            || argv.iter().any(|word| word.len() > MAX_WORD)
        {
            return invalid(format!(
                "the command is too long: at most {MAX_WORD} bytes a word and {MAX_WORDS} together; write a \
                 file and run that"
            ));
        }
        if text(args, "stdin").is_some_and(|stdin| stdin.len() > MAX_STDIN) {
            return invalid(format!(
                "stdin: at most {MAX_STDIN} bytes; write a file instead"
            ));
        }
        let cwd = guard.directory(text(args, "cwd").unwrap_or("."))?;
        let Some((name, arguments)) = argv.split_first() else {
            return invalid("argv is empty: the first element is the program".to_owned());
        };
        let executable = self.executable(guard, &cwd.absolute, name)?;
        let real = executable
            .canonicalize()
            .unwrap_or_else(|_| executable.clone());
        Ok(Request {
            executable,
            real,
            arguments: arguments.to_vec(),
            script,
            cwd: cwd.absolute,
            argv,
        })
    }

    /// What the first word names, looked for as `execvp` does, in our own search path.
    fn executable(&self, guard: &Guard, cwd: &Path, name: &str) -> Result<PathBuf, PrepareError> {
        if name.is_empty() {
            return Err(PrepareError::Invalid(
                "argv: the program's name is empty".to_owned(),
            ));
        }
        if !name.contains('/') {
            return system_program(name).ok_or_else(|| {
                PrepareError::Invalid(format!(
                    "there is no program `{}` in {PATH}",
                    output::first(name, 200)
                ))
            });
        }
        let path = Path::new(name);
        let path = if path.is_absolute() && !path.starts_with(guard.workspace()) {
            if guard.is_hidden(path) || path.canonicalize().is_ok_and(|path| guard.is_hidden(&path))
            {
                return Err(PrepareError::Guarded(format!(
                    "`{name}` is not available to tools"
                )));
            }
            if path
                .components()
                .any(|part| part == std::path::Component::ParentDir)
            {
                return Err(PrepareError::Guarded(format!(
                    "`{name}`: give the program's path without `..`"
                )));
            }
            if !self.sandbox.shows(path, guard.workspace()) {
                return Err(PrepareError::Guarded(format!(
                    "`{name}` is outside the workspace and the system directories: programs there cannot be run"
                )));
            }
            path.to_owned()
        } else {
            let found = guard.resolve(&cwd.join(path).to_string_lossy())?;
            if found.kind != Kind::File {
                return Err(PrepareError::Invalid(format!(
                    "there is no program `{name}`"
                )));
            }
            found.absolute
        };
        if runnable(&path) {
            Ok(path)
        } else {
            Err(PrepareError::Invalid(format!(
                "`{name}` is not an executable file"
            )))
        }
    }
}

/// The run time of a call.
pub fn timeout_seconds(args: &Value) -> u64 {
    number(args, "timeout_seconds")
        .unwrap_or(DEFAULT_SECONDS)
        .clamp(1, MAX_SECONDS)
}

/// The environment of a program whose home is the workspace.
pub fn environment(workspace: &Path) -> [(String, String); 4] {
    let home = workspace.to_string_lossy();
    [
        ("PATH", PATH),
        ("HOME", &home),
        ("LANG", "C.UTF-8"),
        ("TERM", "dumb"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
}

fn runnable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The program that a name without a slash stands for, as it is found in our own search path.
pub fn system_program(name: &str) -> Option<PathBuf> {
    PATH.split(':')
        .map(|directory| Path::new(directory).join(name))
        .find(|path| runnable(path))
}

/// A call whose arguments make sense.
struct Request {
    /// As it was found.
    executable: PathBuf,
    /// What that leads to, when it is a link.
    real: PathBuf,
    arguments: Vec<String>,
    script: Option<String>,
    cwd: PathBuf,
    /// As it was asked for, the script's shell included.
    argv: Vec<String>,
}

impl Request {
    /// Whether the program can change nothing, by its own documentation.
    fn only_reads(&self, guard: &Guard) -> bool {
        if let Some(script) = &self.script {
            return script_only_reads(script);
        }
        let name = self.executable.file_name().and_then(|name| name.to_str());
        !self.real.starts_with(guard.workspace())
            && name.is_some_and(|name| reads(name, &self.arguments))
    }
}

/// Whether a script is a row of programs of the system that change nothing, by their own documentation.
pub fn script_only_reads(script: &str) -> bool {
    let reads = |argv: &Vec<String>| {
        argv.split_first().is_some_and(|(program, arguments)| {
            system_program(program).is_some() && reads(program, arguments)
        })
    };
    simple_commands(script).is_some_and(|commands| commands.iter().all(reads))
}

/// Whether a program of the system changes nothing with these arguments.
fn reads(name: &str, arguments: &[String]) -> bool {
    let any = |bad: &dyn Fn(&str) -> bool| arguments.iter().any(|word| bad(word));
    // Words that hide what they say are for a person to look at.
    let hides = |c: char| c.is_control() && c != '\n' && c != '\t';
    let acts = |word: &str| {
        ["-exec", "-ok", "-delete", "-fprint", "-fls"]
            .iter()
            .any(|start| word.starts_with(start))
    };
    let changes = match name {
        "find" => any(&acts),
        "date" => any(&sets_the_date),
        _ => false,
    };
    READERS.contains(&name) && !changes && !any(&|word| word.contains(hides))
}

fn sets_the_date(word: &str) -> bool {
    match word.strip_prefix('-') {
        // `date MMDDhhmm` sets, `date +FORMAT` shows.
        None => !word.starts_with('+'),
        Some(option) => match option.strip_prefix('-') {
            Some(long) => {
                !long.is_empty() && "set".starts_with(long.split('=').next().unwrap_or(long))
            }
            None => option.contains('s'),
        },
    }
}

fn classify(request: &Request, guard: &Guard, sandbox: &Sandbox) -> RiskReason {
    if let Some(why) = sandbox.always_asks() {
        RiskReason::Unconfined(why, sandbox.least_risk())
    } else if request.only_reads(guard) {
        RiskReason::OnlyReads
    } else if (request.script.as_ref()).is_some_and(|script| simple_commands(script).is_none()) {
        RiskReason::ShellScript
    } else if request.real.starts_with(guard.workspace()) {
        RiskReason::WorkspaceProgram
    } else {
        RiskReason::ChangesFiles
    }
}

#[async_trait]
impl Tool for ExecuteCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let guard = Guard::new(context);
        let request = self.check(&guard, args)?;
        let operands = operands::of(
            &guard,
            &operands::Command {
                cwd: &request.cwd,
                executables: &[&request.executable, &request.real],
                arguments: &request.arguments,
                script: request.script.as_deref(),
                stdin: text(args, "stdin"),
            },
        );
        Ok(Plan {
            access: Access::Exec,
            risk_reasons: vec![classify(&request, &guard, &self.sandbox)],
            facts: PlanFacts {
                cwd: Some(request.cwd.to_string_lossy().into_owned()),
                executable: Some(request.real.to_string_lossy().into_owned()),
                bound: operands.names(),
                unbound: operands.incomplete,
                sandbox: Some(self.sandbox.describe().to_owned()),
                ..PlanFacts::default()
            },
            operands: operands.files,
            preview: Preview::Exec { argv: request.argv },
            always_asks: self.sandbox.always_asks(),
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let files = Guard::new(context);
        let most = self.sandbox.max_growth();
        match self.run(context, &files, most, args).await {
            Ok(finished) => finished.outcome(),
            Err(content) => ToolOutcome::not_done(content),
        }
    }

    async fn rehearse(
        &self,
        context: &ToolContext<'_>,
        files: &Path,
        args: &Value,
    ) -> Result<TrialRun, String> {
        if let Some(why) = self.sandbox.always_asks() {
            return Err(why);
        }
        let most = scratch::MAX_WRITTEN.min(self.sandbox.max_growth());
        // What is hidden from tools is not in the copy.
        let files = Guard::of(files.to_owned(), Vec::new());
        let finished = self.run(context, &files, most, args).await?;
        Ok(finished.trial())
    }
}

impl ExecuteCommand {
    /// Runs a call on files that lie in its workspace, or in a copy of it, which may grow by `most` bytes. The error says
    /// why the program was not started.
    async fn run(
        &self,
        context: &ToolContext<'_>,
        files: &Guard,
        most: u64,
        args: &Value,
    ) -> Result<Finished, String> {
        let request = self
            .check(&Guard::new(context), args)
            .map_err(|error| error.to_string())?;
        if context.cancel.is_cancelled() {
            return Err("cancelled before it started".to_owned());
        }
        let places = PlaceWatch::begin(files, context).await?;
        let environment = environment(&context.workspace);
        let command = self.sandbox.command(&Program {
            workspace: &context.workspace,
            files: files.workspace(),
            hidden: &context.hidden,
            readable: &[],
            writable: &[],
            protected: places.list(),
            cwd: &request.cwd,
            executable: &request.executable,
            arguments: &request.arguments,
            environment: &environment,
            max_file: most,
            service: None,
        });
        let seconds = timeout_seconds(args);
        let stdin = text(args, "stdin").map(str::to_owned);
        let cancel = context.cancel.child_token();
        let (before, took) = places.measured();
        let growth = Growth { before, took, most };
        let watch = Watch::begin(vec![files.clone()], growth, cancel.clone());
        let ran = Box::pin(run(
            command,
            stdin,
            Duration::from_secs(seconds),
            &cancel,
            context.host,
            watch.process(),
        ))
        .await;
        let excess = watch.end().await;
        let ran = ran.map_err(|error| format!("the program could not be started: {error}"))?;
        let notes = places.end(&context.cancel).await;
        Ok(Finished {
            ran,
            seconds,
            excess,
            notes,
        })
    }
}

/// A program that has ended.
struct Finished {
    ran: Ran,
    /// The time it had.
    seconds: u64,
    /// What it was ended for.
    excess: Option<Excess>,
    /// What it left that makes programs run, in lines.
    notes: String,
}

impl Finished {
    /// The result: how it ended on the first line, then what it wrote.
    fn outcome(&self) -> ToolOutcome {
        let (first, is_error, disposition) = self.end();
        let written = self.written();
        ToolOutcome {
            content: output::fit(format!("{first}\n{}{written}", self.notes)),
            is_error,
            disposition,
            partial: false,
        }
    }

    /// The same of a program that ran in a copy.
    fn trial(&self) -> TrialRun {
        let ended = match (self.ran.ended, &self.excess) {
            (ProcessEnd::Exited(status), _)
                if status.code() == Some(REFUSED) && self.is_refused() =>
            {
                RehearsalEnd::NotStarted
            }
            (ProcessEnd::Exited(_), _) => RehearsalEnd::Exited,
            (ProcessEnd::TimedOut, _) => RehearsalEnd::TimedOut,
            (ProcessEnd::Cancelled, Some(_)) => RehearsalEnd::OverLimit,
            (ProcessEnd::Cancelled | ProcessEnd::Lost, _) => RehearsalEnd::Cancelled,
        };
        let exit_status = match self.ran.ended {
            ProcessEnd::Exited(status) => status.code(),
            ProcessEnd::TimedOut | ProcessEnd::Cancelled | ProcessEnd::Lost => None,
        };
        TrialRun {
            ended,
            outcome: self.end().0,
            exit_status,
            duration_ms: u64::try_from(self.ran.took.as_millis()).unwrap_or(u64::MAX),
            output: output::fit(format!("{}{}", self.notes, self.written())),
        }
    }

    /// Whether the shell in front of the program said that it does not start it.
    fn is_refused(&self) -> bool {
        self.ran.output.text().starts_with("not started: ")
    }

    fn written(&self) -> String {
        self.ran.output.text_or_none()
    }

    /// How it ended: in words, whether that is an error, and whether its effect happened.
    fn end(&self) -> (String, bool, EffectDisposition) {
        let (ran, seconds, excess) = (&self.ran, self.seconds, self.excess.as_ref());
        let took = ran.took.as_secs_f64();
        match ran.ended {
            ProcessEnd::Exited(status) => {
                let words = match (status.code(), status.signal()) {
                    (Some(code), _) => format!("exit status {code}"),
                    (None, Some(signal)) => format!("killed by signal {signal}"),
                    (None, None) => "ended".to_owned(),
                };
                (
                    format!("{words} after {took:.1} s"),
                    !status.success(),
                    EffectDisposition::Done,
                )
            }
            ProcessEnd::TimedOut => (
                format!(
                    "killed after {seconds} s (timeout_seconds): it may have done part of its work"
                ),
                true,
                EffectDisposition::Unknown,
            ),
            ProcessEnd::Cancelled => (
                match excess {
                    Some(excess) => format!(
                        "killed after {took:.1} s because {excess}: it may have done part of its work"
                    ),
                    None => {
                        format!("cancelled after {took:.1} s: it may have done part of its work")
                    }
                },
                true,
                EffectDisposition::Unknown,
            ),
            ProcessEnd::Lost => (
                "lost: nobody knows how it ended".to_owned(),
                true,
                EffectDisposition::Unknown,
            ),
        }
    }
}
