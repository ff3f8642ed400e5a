//! One run of a job: Claude Code, started here without a terminal.
//!
//! No call of the program runs because of this tool: its hook stands in settings that it gets on its command line, and asks
//! about each call. A run that says nothing is tried again in another way; one that said something is never repeated.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use crate::agents::run_output::{RunEnd, RunOutput};
use crate::config::agent_hooks::settings_of_run;
use crate::config::environment::Environment;
use crate::protocol::agent_job::{AgentRun, RUN_AGENT};
use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::{Access, Effect, ExternalAgent};
use crate::tools::output::BoundedOutput;
use crate::tools::process::RunningProcess;
use crate::tools::risk::RiskReason;
use crate::tools::tool::{
    AgentRunChange, EffectDisposition, Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec,
};

/// Longest run.
const MAX_DURATION: Duration = Duration::from_secs(24 * 3600);
/// Between asking the program to end and killing it.
const GRACE: Duration = Duration::from_millis(500);
/// How long its output may stay open after it ended.
const LINGER: Duration = Duration::from_millis(500);
/// Longest line of its output, in bytes.
const MAX_LINE: usize = 8 * 1024 * 1024;
/// What it gets of the environment of the daemon, beside what begins with one of [`PREFIXES`].
const VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TMPDIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "SSH_AUTH_SOCK",
];
/// The same: what Claude Code reads itself, and the words of the locale.
const PREFIXES: &[&str] = &["LC_", "XDG_", "ANTHROPIC_", "CLAUDE_"];
/// What its model is told.
const TOLD: &str =
    "Calls of tools may wait for a person. Make one call at a time where it changes something.";
/// What it is told where it was stopped.
const GO_ON: &str = "You were stopped in the midst of this. Look first at what is done already, then go on with the task.";

/// How the program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A new session with the task.
    Begin,
    /// The session as it stands: the call that it deferred comes again.
    Resume,
    /// The session with a new message.
    GoOn,
}

/// The tool.
pub struct RunAgent {
    spec: ToolSpec,
    data_dir: PathBuf,
}

impl RunAgent {
    /// Runs whose hooks ask the daemon of this data directory.
    pub fn new(data_dir: PathBuf) -> Self {
        Self {
            spec: ToolSpec {
                name: RUN_AGENT.into(),
                description: "Runs an external agent on a task. Only jobs call it".into(),
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "agent": {"type": "string"}, "session": {"type": "string"}, "directory": {"type": "string"},
                        "task": {"type": "string"}, "after": {"type": "string"},
                    },
                    "required": ["agent", "session", "directory", "task"],
                    "additionalProperties": false,
                }),
                // By itself it asks its model. Each call that it makes is judged on its own.
                access: Access::ReadLocal,
                effect: Effect::NonIdempotent,
                max_duration: MAX_DURATION,
                key_lifetime: None,
                cacheable: None,
            },
            data_dir,
        }
    }

    fn command(&self, run: &AgentRun, way: Way) -> Result<Command, String> {
        let environment = Environment::capture();
        let program = program(run.agent, &environment)?;
        let own = std::env::current_exe()
            .map_err(|error| format!("the path of Leverframe is not known: {error}"))?;
        let settings = settings_of_run(&own, &self.data_dir, &environment)?;
        let mut command = Command::new(program);
        command.current_dir(&run.directory).env_clear();
        let prefixed = PREFIXES
            .iter()
            .flat_map(|prefix| environment.starting_with(prefix));
        for name in VARIABLES.iter().copied().chain(prefixed) {
            if let Some(value) = environment.path(name) {
                command.env(name, value);
            }
        }
        if let Some(home) = environment.home() {
            command.env("HOME", home);
        }
        command.env("TERM", "dumb");
        command.args(["-p", "--verbose", "--output-format", "stream-json"]);
        command.arg("--settings").arg(settings.to_string());
        command.args(["--append-system-prompt", TOLD]);
        command.args(match way {
            Way::Begin => ["--session-id", &run.session],
            Way::Resume | Way::GoOn => ["--resume", &run.session],
        });
        Ok(command)
    }

    /// Starts the program once and waits for its end. The text is what it wrote to standard error.
    async fn once(
        &self,
        context: &ToolContext<'_>,
        run: &AgentRun,
        way: Way,
    ) -> Result<(RunEnd, String), String> {
        let command = self.command(run, way)?;
        let prompt = match way {
            Way::Begin => Some(run.task.clone()),
            Way::GoOn => Some(format!("{GO_ON}\n\nThe task: {}", run.task)),
            Way::Resume => None,
        };
        let input = prompt.as_ref().map_or_else(Stdio::null, |_| Stdio::piped());
        let started = RunningProcess::start(&command, input, Stdio::piped(), Stdio::piped()).await;
        let mut process = started.map_err(|error| format!("{}: {error}", run.agent.product()))?;
        let child = process.child();
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        if let (Some(mut pipe), Some(prompt)) = (input, prompt) {
            // Ends by itself: with the text, or with the program that should have read it.
            tokio::spawn(async move {
                let _ = pipe.write_all(prompt.as_bytes()).await;
            });
        }
        let mut said = RunOutput::default();
        let mut problems = BoundedOutput::default();
        let mut is_lost = false;
        {
            let reading = async {
                let lines = async {
                    match output {
                        Some(output) => {
                            read_lines(output, |line| {
                                if let Some(text) = said.take(line) {
                                    context.host.progress(&text);
                                }
                            })
                            .await
                        }
                        None => true,
                    }
                };
                let rest = async {
                    if let Some(errors) = errors {
                        read_all(errors, &mut problems).await;
                    }
                };
                tokio::join!(lines, rest).0
            };
            tokio::pin!(reading);
            let read = tokio::select! {
                whole = &mut reading => Some(whole),
                _ = process.wait() => tokio::time::timeout(LINGER, &mut reading).await.ok(),
                () = context.cancel.cancelled() => {
                    process.ask();
                    if tokio::time::timeout(GRACE, process.wait()).await.is_err() {
                        process.kill();
                    }
                    None
                }
            };
            is_lost |= read == Some(false);
        }
        if is_lost {
            process.kill();
        }
        let ended = tokio::select! {
            ended = process.wait() => ended,
            () = context.cancel.cancelled() => {
                process.kill();
                process.wait().await
            }
        };
        let end = if context.cancel.is_cancelled() || is_lost || ended.is_err() {
            match said.end() {
                // What it said last counts, whoever ended it then.
                end @ (RunEnd::Deferred { .. } | RunEnd::Answered { .. }) => end,
                RunEnd::Silent | RunEnd::Unknown => RunEnd::Unknown,
            }
        } else {
            said.end()
        };
        Ok((end, problems.text().trim().to_owned()))
    }
}

#[async_trait]
impl Tool for RunAgent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn untrusted(&self, _: &Value) -> Option<String> {
        Some("the answer of an external agent".to_owned())
    }

    // No model is told of it.
    fn is_offered(&self, _: bool) -> bool {
        false
    }

    fn prepare(&self, _: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let run = arguments(args).map_err(PrepareError::Invalid)?;
        if !Path::new(&run.directory).is_dir() {
            let problem = format!("`directory`: {} is no directory here", run.directory);
            return Err(PrepareError::Invalid(problem));
        }
        let found = program(run.agent, &Environment::capture()).map_err(PrepareError::Invalid)?;
        let product = run.agent.product();
        Ok(Plan {
            preview: Preview::Text { text: run.task },
            facts: PlanFacts {
                cwd: Some(run.directory),
                executable: Some(found.to_string_lossy().into_owned()),
                sandbox: Some(format!("none: {product} runs as you start it yourself")),
                ..PlanFacts::default()
            },
            ..Plan::new(Access::ReadLocal, vec![RiskReason::StartsAgent(product)])
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let run = match arguments(args) {
            Ok(run) => run,
            Err(problem) => return ToolOutcome::not_done(problem),
        };
        let tell = |change| context.host.agent_run(&run, change);
        if let Err(problem) = tell(AgentRunChange::Begins).await {
            return ToolOutcome::not_done(problem);
        }
        let outcome = self.run(context, &run).await;
        match tell(AgentRunChange::Ended).await {
            Ok(()) => outcome,
            Err(problem) => ToolOutcome::failed(problem, EffectDisposition::Unknown),
        }
    }
}

impl RunAgent {
    /// Starts the program until it says something.
    async fn run(&self, context: &ToolContext<'_>, run: &AgentRun) -> ToolOutcome {
        let product = run.agent.product();
        let ways: &[Way] = match run.after {
            None => &[Way::Begin, Way::Resume, Way::GoOn],
            Some(_) => &[Way::Resume, Way::GoOn],
        };
        // What it says of the first try is what is wrong.
        let mut silent: Option<String> = None;
        for way in ways {
            if *way == Way::GoOn
                && let Err(problem) = context.host.agent_run(run, AgentRunChange::GoesOn).await
            {
                return ToolOutcome::not_done(problem);
            }
            match self.once(context, run, *way).await {
                Err(problem) => return ToolOutcome::not_done(problem),
                Ok((RunEnd::Silent, problems)) => {
                    silent.get_or_insert(problems);
                }
                Ok((RunEnd::Unknown, problems)) => {
                    let text = format!("{product} ended without an answer\n{problems}");
                    return ToolOutcome::failed(text.trim().to_owned(), EffectDisposition::Unknown);
                }
                Ok((RunEnd::Answered { text, is_error }, _)) => {
                    return ToolOutcome {
                        content: text,
                        is_error,
                        disposition: EffectDisposition::Done,
                        partial: false,
                    };
                }
                Ok((RunEnd::Deferred { call, tool }, _)) => {
                    let change = AgentRunChange::Deferred(call);
                    return match context.host.agent_run(run, change).await {
                        Ok(()) => ToolOutcome {
                            content: format!(
                                "{product} has ended. It goes on after the decision about its call of {tool}."
                            ),
                            is_error: false,
                            disposition: EffectDisposition::Done,
                            partial: false,
                        },
                        Err(problem) => ToolOutcome::failed(problem, EffectDisposition::Done),
                    };
                }
            }
        }
        let problems = silent.unwrap_or_default();
        ToolOutcome::failed(
            format!("{product} did not begin: {problems}"),
            EffectDisposition::ConfirmedNoEffect,
        )
    }
}

fn arguments(args: &Value) -> Result<AgentRun, String> {
    let run: AgentRun = serde_json::from_value(args.clone()).map_err(|error| error.to_string())?;
    match run.agent {
        ExternalAgent::Claude => Ok(run),
        ExternalAgent::Codex | ExternalAgent::Gemini => Err(format!(
            "`agent`: {} cannot end while a call waits; only `claude` can",
            run.agent.product()
        )),
    }
}

/// The program that `PATH` leads to.
fn program(agent: ExternalAgent, environment: &Environment) -> Result<PathBuf, String> {
    let path = environment.path("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(agent.as_str()))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            format!(
                "`{agent}` is not on the PATH of the daemon: install {}, and start the daemon where `{agent}` is found",
                agent.product()
            )
        })
}

/// Gives each line; whether all of it could be read.
async fn read_lines(mut from: impl AsyncRead + Unpin, mut take: impl FnMut(&[u8])) -> bool {
    let mut line = Vec::new();
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let Ok(count) = from.read(&mut buffer).await else {
            return false;
        };
        if count == 0 {
            take(&line);
            return true;
        }
        let mut rest = &buffer[..count];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            line.extend_from_slice(&rest[..end]);
            take(&line);
            line.clear();
            rest = &rest[end + 1..];
        }
        line.extend_from_slice(rest);
        if line.len() > MAX_LINE {
            return false;
        }
    }
}

async fn read_all(mut from: impl AsyncRead + Unpin, into: &mut BoundedOutput) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        into.push(&buffer[..count]);
    }
}
