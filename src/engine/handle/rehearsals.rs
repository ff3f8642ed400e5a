//! Rehearsing the command that an approval waits for: it runs in a throw-away copy of its workspace.
//!
//! A rehearsal is no run of the call: it writes no attempt, no step and no decision, and the approval stays as it was.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::file_changes::look_at_files;
use crate::engine::people;
use crate::engine::turn::evaluate::{NoHost, run_context};
use crate::protocol::approval::Approval;
use crate::protocol::ids::{ApprovalId, SessionId, ToolCallId};
use crate::protocol::problem::Problem;
use crate::protocol::rehearsal::{HEADING, Rehearsal, RehearsalEnd};
use crate::store::commands::record_audit::RecordAudit;
use crate::tools::guard::Guard;
use crate::tools::output;
use crate::tools::scratch::{self, Changes, Scratch, ScratchError};
use crate::tools::tool::{NoJournal, ToolContext, TrialRun};

/// Most bytes of output that an answer has: the beginning and the end.
const MAX_OUTPUT: usize = 64 * 1024;

fn not_offered(why: String) -> Problem {
    Problem::not_offered("not rehearsed", why).hint("decide without it, or deny; nothing was run")
}

/// Rehearses what an approval waits for. Whoever drops the answer ends it.
pub async fn run(
    engine: &Engine,
    caller: &Caller,
    approval_id: ApprovalId,
) -> Result<Rehearsal, Problem> {
    let approval = engine.approval(approval_id).await?;
    check(engine, caller, &approval)?;
    let right = engine.maintenance.try_rehearsal().ok_or_else(|| {
        Problem::conflict("not rehearsed", "another command is being rehearsed")
            .hint("try again when it has ended")
    })?;
    let cancel = engine.shutdown.child_token();
    let _ends_with_this = cancel.clone().drop_guard();
    let trial = Trial {
        engine: engine.clone(),
        record: RecordAudit {
            action: "rehearsal.started",
            by: caller.reference(),
            channel: Some(approval.channel.clone()),
            subject: approval_id.to_string(),
            detail: json!({ "tool": approval.tool, "digest": approval.digest, "outcome": null }),
        },
        approval,
        cancel,
    };
    // It cleans up and writes down how it ended, whatever becomes of whoever asked.
    let task = engine.tasks.spawn(trial.run(right));
    task.await
        .map_err(|error| Problem::internal(format!("the rehearsal was lost: {error}")))?
}

fn check(engine: &Engine, caller: &Caller, approval: &Approval) -> Result<(), Problem> {
    let settings = &engine.settings;
    if let Some(reason) = people::may_not_decide(settings, approval, &caller.actor, caller.surface)
    {
        return Err(Problem::forbidden("not allowed to rehearse this", reason));
    }
    if engine.is_held() || engine.emergency.is_quarantined() {
        return Err(Problem::unavailable(
            "not rehearsed",
            "nothing runs during an emergency stop or a quarantine",
        )
        .hint("release it first"));
    }
    if let Some(why) = approval.not_rehearsed() {
        return Err(not_offered(why.to_owned()));
    }
    match engine.sandbox.always_asks() {
        Some(why) => Err(not_offered(format!("no sandbox is proved: {why}"))),
        None => Ok(()),
    }
}

/// What a rehearsal needs to its end.
struct Trial {
    engine: Engine,
    approval: Approval,
    record: RecordAudit,
    cancel: CancellationToken,
}

impl Trial {
    async fn run(self, _right: OwnedMutexGuard<()>) -> Result<Rehearsal, Problem> {
        let store = &self.engine.store;
        store.write(self.record.clone()).await?;
        let mut changes = self.engine.emergency.changes();
        let stop = self.cancel.clone();
        let stopping = tokio::spawn(async move {
            tokio::select! {
                _ = changes.wait_for(Option::is_some) => stop.cancel(),
                () = stop.cancelled() => {}
            }
        });
        let at = self.engine.clock.now();
        let ran = self.try_out().await;
        self.cancel.cancel();
        // It only waits for what has just happened.
        let _ = stopping.await;
        let outcome = match &ran {
            Ok((run, changes)) => {
                let told = self.told(at, run.clone(), changes.clone());
                (
                    format!("{}; {}", told.outcome, told.files_in_words()),
                    Some(told),
                )
            }
            Err(why) => (format!("not started: {why}"), None),
        };
        let mut ended = RecordAudit {
            action: "rehearsal.ended",
            ..self.record.clone()
        };
        ended.detail["outcome"] = self.engine.redactor.redact(&outcome.0).into();
        store.write(ended).await?;
        match (ran, outcome.1) {
            (_, Some(told)) => Ok(told),
            (Err(why), None) => Err(not_offered(why)),
            (Ok(_), None) => Err(Problem::internal("the rehearsal told nothing".to_owned())),
        }
    }

    /// Copies, runs and compares. The error says why nothing ran.
    async fn try_out(&self) -> Result<(TrialRun, Changes), String> {
        let engine = &self.engine;
        let approval = &self.approval;
        let workspace = engine
            .channel(&approval.channel)
            .map_err(|problem| problem.to_string())?
            .workspace
            .clone();
        let tool = engine
            .tools()
            .get(&approval.tool)
            .ok_or_else(|| format!("there is no tool {}", approval.tool))?;
        let context = ToolContext {
            journal: Arc::new(NoJournal),
            ..run_context(
                engine,
                workspace,
                approval.session_id.unwrap_or_else(SessionId::generate),
                approval.tool_call_id.unwrap_or_else(ToolCallId::generate),
                String::new(),
                self.cancel.clone(),
                &NoHost,
            )
        };
        let guard = Guard::new(&context);
        let (place, name) = (engine.rehearsals(), ApprovalId::generate().to_string());
        let (copied, cancel) = (guard.clone(), self.cancel.clone());
        let scratch = look_at_files(move || Scratch::copy(&copied, &place, &name, &cancel))
            .await
            .map_err(|problem| problem.detail)?
            .map_err(|error: ScratchError| error.to_string())?;
        let ran = tool
            .rehearse(&context, scratch.files(), &approval.args)
            .await;
        // A look that nobody waits for any more is short all the same; a stop does not wait for it.
        let looking = self.engine.shutdown.child_token();
        look_at_files(move || {
            let changes = scratch.changes(&guard, &looking);
            drop(scratch);
            ran.map(|run| (run, changes))
        })
        .await
        .map_err(|problem| problem.detail)?
    }

    /// The result for people: known secrets are taken out, and the output is cut in its middle.
    fn told(&self, at: crate::clock::Timestamp, run: TrialRun, changes: Changes) -> Rehearsal {
        let redact = |text: String| self.engine.redactor.redact(&text).into_owned();
        let mut files = changes.files;
        for file in &mut files {
            file.path = redact(std::mem::take(&mut file.path));
            file.note = file.note.take().map(redact);
            file.diff = file.diff.take().map(redact);
        }
        let redacted = redact(run.output);
        let output = if redacted.len() > MAX_OUTPUT {
            let (first, last) = (
                output::first(&redacted, MAX_OUTPUT / 2),
                output::last(&redacted, MAX_OUTPUT / 2),
            );
            format!("{first}\n[… the middle is left out …]\n{last}")
        } else {
            redacted
        };
        Rehearsal {
            approval_id: self.approval.id,
            revision: self.approval.revision,
            digest: self.approval.digest.clone(),
            by: self.record.by.label.clone(),
            at,
            ended: run.ended,
            outcome: match run.ended {
                RehearsalEnd::NotStarted => format!("not started; {HEADING}"),
                _ => run.outcome,
            },
            exit_status: run.exit_status,
            duration_ms: run.duration_ms,
            output,
            files,
            more_files: changes.more,
            incomplete: changes.incomplete,
            sandbox: "bubblewrap: a copy of the workspace, no network".to_owned(),
        }
    }
}

/// Removes the copies of a process that died during a rehearsal. Nothing runs yet.
pub async fn remove_left(engine: &Engine) {
    let place = engine.rehearsals();
    if let Err(problem) = look_at_files(move || scratch::remove_all(&place)).await {
        tracing::error!(why = %problem.detail, "cannot remove workspace copies of rehearsals");
    }
}
