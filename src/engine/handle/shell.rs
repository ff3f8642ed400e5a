//! People at the shells and Pythons of sessions: what there is, a command of a person in one, and ending one.
//!
//! No command of a person asks anybody: the person is the decision. None runs without a row in the audit before it.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::interpreters;
use crate::engine::live_output::LiveOutput;
use crate::engine::turn::evaluate::run_context;
use crate::protocol::enums::{InterpreterKind, SessionState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{SessionId, ToolCallId};
use crate::protocol::problem::Problem;
use crate::protocol::rule::{BASH, PYTHON};
use crate::protocol::session::Session;
use crate::protocol::snapshot::Page;
use crate::protocol::tool::{Interpreter, ShellRequest, ShellRun};
use crate::store::commands::record_audit::RecordAudit;
use crate::tools::output::first;
use crate::tools::tool::{EffectDisposition, NoJournal, ToolContext, ToolHost, ToolOutcome};

/// Most bytes of a command, and of how it ended, in the audit.
const AUDITED: usize = 4096;

/// A person at a shell. What a command writes goes out as ephemeral events.
struct Person<'a> {
    engine: &'a Engine,
    session: SessionId,
    output: LiveOutput,
}

impl Person<'_> {
    fn show(&self, text: String) {
        let body = EventBody::ShellOutput { text };
        self.engine.publish(Some(self.session), None, body);
    }
}

#[async_trait]
impl ToolHost for Person<'_> {
    fn progress(&self, text: &str) {
        self.output.push(text, |text| self.show(text));
    }

    fn omitted(&self) {
        self.output.omit(|text| self.show(text));
    }

    fn is_person(&self) -> bool {
        true
    }
}

pub fn list(engine: &Engine) -> Page<Interpreter> {
    Page::from(interpreters::rows(engine))
}

pub async fn end(
    engine: &Engine,
    caller: &Caller,
    session_id: SessionId,
    kind: InterpreterKind,
) -> Result<Interpreter, Problem> {
    let session = engine.session(session_id).await?;
    let rows = interpreters::rows(engine);
    let row = rows
        .into_iter()
        .find(|row| row.session_id == session_id && row.kind == kind);
    let Some(row) = row else {
        return Err(
            Problem::not_found("interpreter", format!("{kind} of {session_id}"))
                .hint("`leverframe get interpreters` lists those there are"),
        );
    };
    let why = format!("{} ended it", caller.actor.label());
    interpreters::end_one(engine, session_id, kind, &why);
    let record = RecordAudit {
        action: "interpreter.ended",
        subject: session_id.to_string(),
        channel: Some(session.channel),
        by: caller.reference(),
        detail: json!({ "kind": kind, "commands": row.commands }),
    };
    engine.write(record).await?;
    Ok(row)
}

/// Runs a command of a person in the shell of a session.
pub async fn run(
    engine: &Engine,
    caller: &Caller,
    session_id: SessionId,
    request: ShellRequest,
) -> Result<ShellRun, Problem> {
    let session = engine.session(session_id).await?;
    if session.state != SessionState::Active {
        let detail = format!("{} has ended", session.id);
        return Err(Problem::conflict("not run", detail).hint("resume the session first"));
    }
    let kind = request.kind;
    let tool = tool_of(kind);
    let mut args = match kind {
        InterpreterKind::Bash => json!({ "command": request.command }),
        InterpreterKind::Python => json!({ "code": request.command }),
    };
    if let (Some(seconds), Some(map)) = (request.timeout_seconds, args.as_object_mut()) {
        map.insert("timeout_seconds".to_owned(), Value::from(seconds));
    }
    if engine.tools().get(tool).is_none() {
        let detail = format!("there is no tool `{tool}`");
        return Err(Problem::not_offered("not run", detail).hint(format!(
            "add the table [tools.{tool}] to the configuration, and start the daemon again"
        )));
    }
    let fits = engine.tools().validate(tool, &args);
    fits.map_err(|problem| Problem::invalid(problem.to_string()))?;
    let command = engine.redactor.redact(&request.command).into_owned();
    let cancel = engine.shutdown.child_token();
    let _ends_with_this = cancel.clone().drop_guard();
    let attended = AttendedCommand {
        engine: engine.clone(),
        record: RecordAudit {
            action: "shell.started",
            subject: session.id.to_string(),
            channel: Some(session.channel.clone()),
            by: caller.reference(),
            detail: json!({ "command": first(&command, AUDITED), "kind": kind }),
        },
        kind,
        session,
        args,
        cancel,
    };
    let (at, began) = (engine.clock.now(), Instant::now());
    // It is interrupted, and written down to its end, when whoever asked goes away.
    let task = engine.tasks.spawn(attended.run());
    let (outcome, content) = task
        .await
        .map_err(|error| Problem::internal(format!("the command was lost: {error}")))??;
    if outcome.disposition == EffectDisposition::ConfirmedNoEffect {
        return Err(Problem::conflict("not run", content)
            .hint("`leverframe get interpreters` says what runs"));
    }
    Ok(ShellRun {
        session_id,
        by: caller.actor.label(),
        at,
        content,
        is_error: outcome.is_error,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// A command of a person, with what it needs to its end.
struct AttendedCommand {
    engine: Engine,
    /// That it begins.
    record: RecordAudit,
    /// What runs it.
    kind: InterpreterKind,
    session: Session,
    args: Value,
    cancel: CancellationToken,
}

impl AttendedCommand {
    /// What came of it, and what it said, redacted.
    async fn run(self) -> Result<(ToolOutcome, String), Problem> {
        let engine = &self.engine;
        let mut changes = engine.emergency.changes();
        if engine.is_held() || engine.emergency.is_quarantined() {
            let detail = "nothing runs during an emergency stop or a quarantine";
            return Err(Problem::unavailable("not run", detail).hint("release it first"));
        }
        engine.write(self.record.clone()).await?;
        let outcome = {
            let mut running = std::pin::pin!(self.execute());
            tokio::select! {
                outcome = &mut running => outcome,
                () = async { drop(changes.wait_for(Option::is_some).await) } => {
                    self.cancel.cancel();
                    running.await
                }
            }
        };
        let content = match &outcome {
            Ok(outcome) => engine.redactor.redact(&outcome.content).into_owned(),
            Err(problem) => problem.detail.clone(),
        };
        let told = content.lines().find(|line| !line.starts_with('['));
        let mut detail = self.record.detail.clone();
        detail["outcome"] = Value::from(first(told.unwrap_or_default(), AUDITED));
        let ends = RecordAudit {
            action: "shell.ended",
            detail,
            ..self.record.clone()
        };
        engine.write(ends).await?;
        Ok((outcome?, content))
    }

    async fn execute(&self) -> Result<ToolOutcome, Problem> {
        let engine = &self.engine;
        let workspace = engine.channel(&self.session.channel)?.workspace.clone();
        let Some(tool) = engine.tools().get(tool_of(self.kind)) else {
            return Err(Problem::internal("the tool vanished".to_owned()));
        };
        let everywhere = !engine.sandbox.is_confined();
        let change = engine.tool_cache.workspaces().begin(&workspace, everywhere);
        let person = Person {
            engine,
            session: self.session.id,
            output: LiveOutput::new(&engine.redactor),
        };
        let context = ToolContext {
            journal: Arc::new(NoJournal),
            ..run_context(
                engine,
                workspace,
                self.session.id,
                ToolCallId::generate(),
                String::new(),
                self.cancel.clone(),
                &person,
            )
        };
        let outcome = tool.execute(&context, &self.args).await;
        person.output.finish(|text| person.show(text));
        change.end();
        Ok(outcome)
    }
}

/// The tool whose calls run in it.
fn tool_of(kind: InterpreterKind) -> &'static str {
    match kind {
        InterpreterKind::Bash => BASH,
        InterpreterKind::Python => PYTHON,
    }
}
