//! The tool: one call after the other in the Python of its session.
//!
//! No call runs in a sandbox that does not protect what the workspace has now, and none is lost unnoticed: the next
//! one hears why its Python is new.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::config::settings::PythonSettings;
use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::{Access, Effect, InterpreterKind};
use crate::text::scripts;
use crate::tools::execute_command::{MAX_SECONDS, timeout_seconds};
use crate::tools::guard::Guard;
use crate::tools::interpreters::{CANCELLED, InterpreterLimits, Interpreters, Lease};
use crate::tools::output;
use crate::tools::place_watch::PlaceWatch;
use crate::tools::python::executable::PythonProgram;
use crate::tools::python::interpreter::{CellEnd, Interrupt, PythonInterpreter, RanCell, Stops};
use crate::tools::python::{code_risk, outputs};
use crate::tools::read_file::text;
use crate::tools::risk::RiskReason;
use crate::tools::sandbox::Sandbox;
use crate::tools::sandbox::watch::{Excess, Growth, MostProcesses, Watch};
use crate::tools::tool::{
    EffectDisposition, InterpreterTable, Plan, PrepareError, Tool, ToolContext, ToolOutcome,
    ToolSpec, arguments,
};

/// Most bytes of code.
const MAX_CODE: usize = 256 * 1024;
/// Most processes that cells start, at a time.
const MAX_PROCESSES: usize = 5;

/// The tool, and the Pythons of its sessions.
pub struct Python {
    spec: ToolSpec,
    sandbox: Sandbox,
    program: PythonProgram,
    interpreters: Interpreters<PythonInterpreter>,
    /// Where the datasets of a channel are, by its workspace.
    datasets: BTreeMap<PathBuf, PathBuf>,
}

impl Python {
    /// The tool with this Python. `datasets` are directories that it sees, by the workspace of their channel.
    pub fn new(
        sandbox: Sandbox,
        program: PythonProgram,
        settings: &PythonSettings,
        datasets: BTreeMap<PathBuf, PathBuf>,
    ) -> Self {
        let limits = InterpreterLimits {
            most: settings.max_interpreters,
            idle: Duration::from_secs(settings.idle_minutes * 60),
        };
        Self {
            spec: ToolSpec {
                name: "python".into(),
                description:
                    "Run Python in this session; variables and imports stay. Shows the last expression's value. Open \
                     figures, and a last value that is a table or picture, go to the conversation. No network."
                        .into(),
                input_schema: arguments!(["code"], {
                    "code": {"type": "string", "minLength": 1},
                    "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": MAX_SECONDS, "description": "default 60"}
                }),
                access: Access::Exec,
                effect: Effect::NonIdempotent,
                max_duration: Duration::from_secs(MAX_SECONDS + 30),
                key_lifetime: None,
                cacheable: None,
            },
            sandbox,
            program,
            interpreters: Interpreters::new(InterpreterKind::Python, limits),
            datasets,
        }
    }

    /// Whether its Python can read Parquet.
    pub(super) fn reads_parquet(&self) -> bool {
        (self.program.packages.iter()).any(|package| package.starts_with("pyarrow"))
    }

    /// Carries out a request in the Python of a session, which is started where there is none. The error says why
    /// nothing ran.
    pub(super) async fn run(
        &self,
        context: &ToolContext<'_>,
        shown: &str,
        request: impl FnOnce(&PythonInterpreter) -> Result<Value, String>,
        seconds: u64,
    ) -> Result<Finished, String> {
        if context.cancel.is_cancelled() {
            return Err(CANCELLED.to_owned());
        }
        let busy = "other code runs in this Python: wait for its end, or cancel it";
        let mut lease = self.interpreters.lock_for(context, busy).await?;
        let files = Guard::new(context);
        let places = PlaceWatch::begin(&files, context).await?;
        let new = self.ready(context, &places, &mut lease).await?;
        let Some(mut python) = lease.interpreter.take() else {
            return Err("there is no Python".to_owned());
        };
        let request = match request(&python) {
            Ok(request) => request,
            Err(problem) => {
                lease.interpreter = Some(python);
                return Err(problem);
            }
        };
        let others = lease.begin(shown, context.host.is_person());
        let kill = lease.ended().child_token();
        let (before, took) = places.measured();
        let most = self.sandbox.max_growth();
        let watch = Watch::counting(
            vec![files],
            Growth { before, took, most },
            Some(MostProcesses {
                own: python.own_processes(),
                more: MAX_PROCESSES,
            }),
            kill.clone(),
        );
        python.id().map(|id| watch.process().set(id));
        python.wake();
        let stops = Stops {
            timeout: Duration::from_secs(seconds),
            cancel: &context.cancel,
            kill: &kill,
        };
        let ran = python.run(request, &stops, context.host).await;
        let excess = watch.end().await;
        let mut finished = Finished {
            ended: ran.ended_because(excess.as_ref()),
            ran,
            seconds,
            new: [new, others].into_iter().flatten().collect(),
            notes: String::new(),
        };
        match &finished.ended {
            None => {
                lease.finish(&finished.end().0, python.background());
                python.rest();
                lease.interpreter = Some(python);
            }
            Some(why) => lease.lose(why),
        }
        finished.notes = places.end(&context.cancel).await;
        Ok(finished)
    }

    /// Starts a Python where there is none that can be used; what the model must know of it then.
    async fn ready(
        &self,
        context: &ToolContext<'_>,
        places: &PlaceWatch,
        lease: &mut Lease<PythonInterpreter>,
    ) -> Result<Option<String>, String> {
        let datasets = self
            .datasets
            .get(&context.workspace)
            .filter(|directory| directory.is_dir());
        let unusable = lease.interpreter.as_mut().and_then(|python| {
            if let Some(how) = python.has_ended() {
                return Some(format!("it ended between two calls ({how})"));
            }
            if !python.protects(places.list()) {
                return Some(
                    "the workspace has a new place from which programs are run, and its sandbox did not protect it".to_owned(),
                );
            }
            (datasets.is_some() && python.datasets().is_none())
                .then(|| "the channel has datasets now".to_owned())
        });
        let mut new = None;
        if let Some(why) = unusable {
            lease.lose(&why);
            let (noun, state) = (
                InterpreterKind::Python.noun(),
                InterpreterKind::Python.state(),
            );
            new = Some(format!("{noun} is new: {why}; {state} are lost"));
        }
        if lease.interpreter.is_none() {
            if new.is_none() {
                new = lease.why_new(context.host).await;
            }
            let started = PythonInterpreter::start(
                &self.sandbox,
                &self.program.path,
                context,
                places.list(),
                datasets.map(PathBuf::as_path),
            );
            let started = started.await?;
            let id = started.id();
            lease.start(started, id);
        }
        Ok(new)
    }
}

impl RanCell {
    /// Why the interpreter is gone, as a clause; none = it lives.
    fn ended_because(&self, excess: Option<&Excess>) -> Option<String> {
        match (&self.ended, excess, self.interrupt) {
            (CellEnd::Answered(_), _, _) => None,
            (_, Some(excess), _) => Some(excess.to_string()),
            (CellEnd::Died(how), None, _) => Some(how.clone()),
            (CellEnd::Killed(why), None, _) if why.is_empty() => {
                Some("it was ended from elsewhere".to_owned())
            }
            (CellEnd::Killed(why), None, _) => Some(why.clone()),
        }
    }
}

/// A cell that has ended, and what is told of it.
pub(super) struct Finished {
    /// How.
    pub(super) ran: RanCell,
    /// Why the interpreter is gone; none = it lives.
    ended: Option<String>,
    /// The time that it had.
    seconds: u64,
    /// What the model must know: why the interpreter was a new one, and that people ran code in it.
    new: Vec<String>,
    /// What it left that makes programs run, in lines.
    notes: String,
}

impl Finished {
    /// What the model must know before it reads the rest, in lines.
    pub(super) fn notice(&self) -> String {
        let mut text = String::new();
        for new in &self.new {
            let _ = writeln!(text, "[{new}]");
        }
        text
    }

    /// How it ended: in words, whether that is an error, and whether its effect happened.
    pub(super) fn end(&self) -> (String, bool, EffectDisposition) {
        let took = self.ran.took.as_secs_f64();
        let stopped = match self.ran.interrupt {
            Some(Interrupt::TimedOut) => Some(format!(
                "stopped after {} s (timeout_seconds)",
                self.seconds
            )),
            Some(Interrupt::Cancelled) => Some(format!("cancelled after {took:.1} s")),
            None => None,
        };
        match (&self.ran.ended, &self.ended) {
            (CellEnd::Answered(reply), _) => match stopped {
                Some(stopped) => (
                    format!("{stopped}; variables stay"),
                    true,
                    EffectDisposition::Done,
                ),
                None if reply.error.is_some() => (
                    format!("error after {took:.1} s"),
                    true,
                    EffectDisposition::Done,
                ),
                None => (
                    format!("done after {took:.1} s"),
                    false,
                    EffectDisposition::Done,
                ),
            },
            (end, why) => {
                let why = why.as_deref().unwrap_or_default();
                let lost = InterpreterKind::Python.state();
                let words = match stopped {
                    Some(stopped) => format!(
                        "{stopped}, and the interpreter was killed ({why}): {lost} are lost"
                    ),
                    None => {
                        format!("the interpreter died after {took:.1} s ({why}): {lost} are lost")
                    }
                };
                let disposition = match end {
                    // It is known how far it got: to where it ended itself.
                    CellEnd::Died(_) | CellEnd::Answered(_) => EffectDisposition::Done,
                    CellEnd::Killed(_) => EffectDisposition::Unknown,
                };
                (words, true, disposition)
            }
        }
    }

    /// The result: how it ended on the first line, then what it wrote and gave.
    async fn outcome(self, context: &ToolContext<'_>) -> ToolOutcome {
        let (first, is_error, disposition) = self.end();
        let new = self.notice();
        let mut content = format!("{first}\n{new}{}", self.notes);
        let mut add = |part: &str| {
            content.push_str(part);
            if !part.is_empty() && !part.ends_with('\n') {
                content.push('\n');
            }
        };
        add(&self.ran.output.text());
        if let CellEnd::Answered(reply) = &self.ran.ended {
            add(reply.value.as_deref().unwrap_or_default());
            add(reply.error.as_deref().unwrap_or_default());
            add(&outputs::send(context, reply).await);
        }
        ToolOutcome {
            content: output::fit(content.trim_end().to_owned()),
            is_error,
            disposition,
            partial: false,
        }
    }
}

fn check(args: &Value) -> Result<&str, PrepareError> {
    let code = text(args, "code").unwrap_or_default();
    if code.len() > MAX_CODE {
        return Err(PrepareError::Invalid(format!(
            "the code has more than {} KiB: write it to a file and import that",
            MAX_CODE / 1024
        )));
    }
    if code.contains('\0') {
        return Err(PrepareError::Invalid(
            "Python takes no NUL character".to_owned(),
        ));
    }
    Ok(code)
}

#[async_trait]
impl Tool for Python {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn source(&self) -> String {
        format!("Python {}", self.program.version)
    }

    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let code = check(args)?;
        let mut risk_reasons = vec![RiskReason::RunsPython];
        let has_one =
            |row: &crate::protocol::tool::Interpreter| row.session_id == context.session_id;
        if !self.interpreters.list().iter().any(has_one) {
            risk_reasons.push(RiskReason::NewInterpreter);
        }
        if let Some(why) = self.sandbox.always_asks() {
            risk_reasons.push(RiskReason::Unconfined(why, self.sandbox.least_risk()));
        }
        risk_reasons.extend(code_risk::of_code(code));
        risk_reasons.extend(scripts::warning(code).map(RiskReason::MixedScripts));
        let real = self
            .program
            .path
            .canonicalize()
            .unwrap_or_else(|_| self.program.path.clone());
        Ok(Plan {
            facts: PlanFacts {
                cwd: Some(context.workspace.to_string_lossy().into_owned()),
                executable: Some(real.to_string_lossy().into_owned()),
                sandbox: Some(self.sandbox.describe().to_owned()),
                ..PlanFacts::default()
            },
            preview: Preview::Text {
                text: code.to_owned(),
            },
            always_asks: self.sandbox.always_asks(),
            ..Plan::new(Access::Exec, risk_reasons)
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let code = match check(args) {
            Ok(code) => code,
            Err(error) => return ToolOutcome::not_done(error.to_string()),
        };
        let seconds = timeout_seconds(args);
        let request = json!({"code": code, "directory": outputs::directory(context.call_id)});
        match Box::pin(self.run(context, code, |_| Ok(request), seconds)).await {
            Ok(finished) => finished.outcome(context).await,
            Err(problem) => ToolOutcome::not_done(problem),
        }
    }

    fn interpreters(&self) -> Option<&dyn InterpreterTable> {
        Some(&self.interpreters)
    }
}
