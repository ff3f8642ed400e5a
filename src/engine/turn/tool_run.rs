//! One tool call: evaluated once more, intent stored, run, outcome stored.
//!
//! A call starts only with the plan whose digest was allowed, and only under the stricter of the policy
//! it was allowed by and the policy of this moment.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::OptionFuture;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::crash_point;
use crate::engine::approvals::{self, Ask, Origin};
use crate::engine::core::Engine;
use crate::engine::datasets;
use crate::engine::handle::agent_jobs;
use crate::engine::hooks::turn as hooks;
use crate::engine::live_output::LiveOutput;
use crate::engine::mcp;
use crate::engine::reconcile;
use crate::engine::skills;
use crate::engine::tool_cache::{self, StoredResult};
use crate::engine::turn::error::TurnError;
use crate::engine::turn::evaluate::{self, Evaluation};
use crate::engine::turn::fold;
use crate::engine::turn::input::{CallStatus, Input};
use crate::engine::turn::large_result::{self, ResultExcerpt};
use crate::engine::turn::memory;
use crate::engine::turn::outbound_files;
use crate::engine::turn::policy_context::PolicyContext;
use crate::engine::turn::question;
use crate::protocol::agent_job::{AgentRun, RUN_AGENT};
use crate::protocol::approval::Preview;
use crate::protocol::artifact::ArtifactHash;
use crate::protocol::dataset::{Dataset, DatasetDescription, DatasetQuery, DatasetRows};
use crate::protocol::enums::{
    ApprovalKind, ApprovalState, DatasetFormat, Effect, MemoryScope, ToolCallState, VerdictKind,
};
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::{ContinuationId, ToolCallId};
use crate::protocol::session::CachedResult;
use crate::store::commands::finish_tool::FinishTool;
use crate::store::commands::refuse_call::RefuseCall;
use crate::store::commands::reopen_approval::ReopenApproval;
use crate::store::commands::start_tool::{StartTool, StartToolOutcome};
use crate::store::commands::taint_session::TaintSession;
use crate::store::error::StoreError;
use crate::store::input::NewApproval;
use crate::store::queries::turn::{CallRow, TurnRows};
use crate::tools::tool::{
    AgentRunChange, DatasetCopy, EffectDisposition, Probe, Tool, ToolContext, ToolHost,
    ToolOutcome, ToolSpec,
};

/// What becomes of a call whose agent waits no longer.
const NOBODY_WAITS: &str = "the agent stopped waiting before the call was allowed";

/// A decision not used within this time is asked again.
const MAX_DECISION_AGE_MS: i64 = 60_000;
/// The same where the agent has ended meanwhile: it may have to wait for others before it goes on.
const MAX_DEFERRED_AGE_MS: i64 = 15 * 60_000;

/// What a running tool shows goes out as ephemeral events.
struct LiveHost<'a> {
    engine: Engine,
    rows: &'a TurnRows,
    row: &'a CallRow,
    output: LiveOutput,
}

#[async_trait]
impl ToolHost for LiveHost<'_> {
    fn progress(&self, text: &str) {
        self.output.push(text, |text| self.show(text));
    }

    fn omitted(&self) {
        self.output.omit(|text| self.show(text));
    }

    async fn artifact(&self, hash: ArtifactHash) -> Result<String, String> {
        let found = self
            .engine
            .store
            .artifact_of_session(self.rows.session_id, hash);
        match found.await {
            Ok(artifact) if artifact.data.is_some() => Err(format!(
                "{} is not text: use the path of the file in the workspace",
                hash.reference()
            )),
            Ok(artifact) => Ok(artifact.text),
            Err(StoreError::NotFound { .. }) => Err(format!(
                "this conversation has no {}: a result names it, or it is gone",
                hash.reference()
            )),
            Err(error) => Err(format!("{} cannot be read: {error}", hash.reference())),
        }
    }

    async fn send_file(
        &self,
        path: &str,
        media_type: &str,
        content: Vec<u8>,
    ) -> Result<(), String> {
        let kept = outbound_files::keep(&self.engine, self.row.call.id, path, media_type, content);
        kept.await
            .map_err(|error| format!("`{path}` cannot be kept: {error}"))
    }

    async fn datasets(&self) -> Result<Vec<Dataset>, String> {
        let channel = self.rows.channel.clone();
        let all = self
            .engine
            .store
            .read(move |rows| rows.datasets(Some(&channel)));
        let all = all.await.map_err(|error| error.to_string())?;
        for dataset in &all {
            self.read_dataset(dataset).await?;
        }
        Ok(all)
    }

    async fn describe_dataset(&self, name: &str) -> Result<DatasetDescription, String> {
        let dataset = datasets::of_channel(&self.engine, &self.rows.channel, name).await?;
        self.read_dataset(&dataset).await?;
        let described = datasets::describe(&self.engine, dataset).await;
        described.map_err(|problem| problem.detail)
    }

    async fn query_dataset(&self, name: &str, query: DatasetQuery) -> Result<DatasetRows, String> {
        let dataset = datasets::of_channel(&self.engine, &self.rows.channel, name).await?;
        self.read_dataset(&dataset).await?;
        let answered = datasets::query(&self.engine, &dataset, query).await;
        answered.map_err(|problem| problem.detail)
    }

    async fn dataset_file(&self, name: &str, format: DatasetFormat) -> Result<DatasetCopy, String> {
        let dataset = datasets::of_channel(&self.engine, &self.rows.channel, name).await?;
        self.read_dataset(&dataset).await?;
        let copied = datasets::file_for_python(&self.engine, &dataset, format).await;
        copied.map_err(|problem| problem.detail)
    }

    async fn remember(&self, text: &str, scope: MemoryScope) -> Result<String, String> {
        memory::remember(&self.engine, self.rows, self.row, text, scope).await
    }

    async fn recall(&self, query: &str, limit: u32) -> Result<String, String> {
        memory::recall(&self.engine, self.rows, query, limit).await
    }

    async fn skill(&self, name: &str, file: Option<&str>) -> Result<String, String> {
        skills::read(&self.engine, &self.rows.channel, name, file).await
    }

    async fn find_tools(&self, query: &str, limit: Option<usize>) -> Result<String, String> {
        let engine = self.engine.current();
        mcp::find::search(&engine, &self.rows.channel, query, limit)
    }

    async fn read_resource(&self, server: &str, uri: Option<&str>) -> Result<String, String> {
        let engine = self.engine.current();
        mcp::resources::read(&engine, &self.rows.channel, server, uri).await
    }

    async fn ask(
        &self,
        asked_by: &str,
        question: &str,
        choices: &[String],
    ) -> Result<String, String> {
        let engine = &self.engine;
        question::ask(engine, self.rows, self.row, asked_by, question, choices).await
    }

    async fn agent_run(&self, run: &AgentRun, change: AgentRunChange) -> Result<(), String> {
        agent_jobs::run_changed(&self.engine.current(), self.rows, run, change).await
    }

    async fn ran_before(&self) -> bool {
        let call = &self.row.call;
        let (session, call, tool) = (self.rows.session_id, call.id, call.name.clone());
        let found = self
            .engine
            .store
            .read(move |reader| reader.ran_before(session, &tool, call));
        // It is about a sentence in a result.
        found.await.unwrap_or(false)
    }
}

impl LiveHost<'_> {
    fn show(&self, text: String) {
        let call_id = self.row.call.id;
        let body = EventBody::ToolOutput { call_id, text };
        self.engine.publish_of(self.rows, body);
    }

    /// The session is tainted before the model reads what taints it.
    async fn read_dataset(&self, dataset: &Dataset) -> Result<(), String> {
        let taint = TaintSession {
            session_id: self.rows.session_id,
            taint: dataset.taint.iter().cloned().collect(),
        };
        let noted = self.engine.persist(taint).await;
        noted.map_err(|error| error.to_string())
    }
}

/// Evaluates a call again, starts it, runs it and stores its outcome.
pub async fn start_and_run(
    engine: &Engine,
    rows: Arc<TurnRows>,
    id: ToolCallId,
    kill: CancellationToken,
) -> Result<Input, TurnError> {
    let rows = rows.as_ref();
    let row = rows
        .calls
        .iter()
        .find(|row| row.call.id == id)
        .ok_or_else(|| TurnError::Bug("the call to start is not of this turn".to_owned()))?
        .clone();
    let became = |status| Ok(Input::CallBecame { id, status });
    if let Some(status) = held_back(engine, &row, &kill).await? {
        return became(status);
    }
    // It is made elsewhere, once the answer arrives: by an agent that waits for the answer, or by nobody.
    if let Some(external) = rows.options.external() {
        let is_waited_for = tokio::select! {
            waits = engine.gate.is_waited_for(&external.request) => waits,
            () = kill.cancelled() => {
                return became(fold::status(row.call.state));
            }
        };
        if !is_waited_for {
            return refuse(engine, &row, NOBODY_WAITS.to_owned()).await;
        }
    }
    // Before the policy of this moment is asked: a hook may take its time.
    let (veto, record) = tokio::select! {
        looked = hooks::before_start(engine, rows, &row) => looked,
        () = kill.cancelled() => {
            return became(fold::status(row.call.state));
        }
    };
    if let Some(content) = veto {
        let refusal = RefuseCall {
            call_id: id,
            epoch: engine.store.epoch(),
            content,
        };
        engine.persist((refusal, record)).await?;
        return became(CallStatus::Settled);
    }
    // Nothing follows from what a hook on trial says, so it waits for nothing.
    if !record.is_empty() {
        engine.persist(record).await?;
    }
    let mut policy_context = PolicyContext::read(engine, rows).await?;
    policy_context.without_use_of(&row);
    let evaluation = evaluate::evaluate(
        engine,
        &policy_context,
        rows,
        id,
        &row.call.name,
        &row.call.args,
        row.call.verdict.policy_version,
    );
    let evaluation = match evaluation {
        Ok(evaluation) => evaluation,
        Err(refusal) => return refuse(engine, &row, refusal.content).await,
    };
    let approved = row.call.state == ToolCallState::Approved;
    match evaluation.verdict.decision {
        VerdictKind::Deny => {
            return refuse(
                engine,
                &row,
                "denied by policy: this call is no longer allowed here".to_owned(),
            )
            .await;
        }
        // Only what became stricter since it was evaluated comes here with nobody there.
        VerdictKind::Ask if evaluate::nobody_is_there(rows) => {
            return refuse(engine, &row, evaluate::UNATTENDED.to_owned()).await;
        }
        VerdictKind::Ask if !approved => {
            return ask_again(
                engine,
                &policy_context,
                rows,
                &row,
                "the policy became stricter before it started",
            )
            .await;
        }
        VerdictKind::Ask | VerdictKind::Allow => {}
    }
    // A call that was allowed without a person is evaluated as it is now, just above; one that a person allowed must
    // still be what they saw.
    if approved && evaluation.digest != row.digest && !crate::mutant!("digest_checked") {
        return ask_again(
            engine,
            &policy_context,
            rows,
            &row,
            "what it would do changed after it was approved",
        )
        .await;
    }
    let early = crate::mutant!("attempt_before_effect")
        .then(|| carry_out(engine, rows, &row, &evaluation, &kill));
    let early = OptionFuture::from(early).await.transpose()?;
    let start = StartTool {
        call_id: id,
        epoch: engine.store.epoch(),
        digest: row.digest.clone(),
        max_decision_age_ms: match rows.options.external() {
            Some(external) if external.deferred => MAX_DEFERRED_AGE_MS,
            Some(_) | None => MAX_DECISION_AGE_MS,
        },
        key_lifetime_ms: evaluation
            .tool
            .spec()
            .key_lifetime
            .map(|lifetime| u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX)),
        basis: evaluation.basis.filter(|_| !approved),
    };
    let started = loop {
        // Looked at before every try: a full disk may have held this up for hours.
        if !engine.writable().await || engine.is_held() || kill.is_cancelled() {
            return became(fold::status(row.call.state));
        }
        match engine.store.write(start.clone()).await {
            Err(StoreError::Full(_)) => {
                engine.writable_again().await;
            }
            outcome => break outcome?,
        }
    };
    let attempt = match started {
        StartToolOutcome::Started { attempt } => attempt,
        StartToolOutcome::DigestMismatch => {
            return ask_again(
                engine,
                &policy_context,
                rows,
                &row,
                "what it would do changed after it was approved",
            )
            .await;
        }
        StartToolOutcome::NoLongerAllowed => {
            // Evaluated again from the beginning, under what is in force now.
            return became(fold::status(row.call.state));
        }
        StartToolOutcome::DecisionTooOld => {
            // It is asked again, and its old cards are disarmed: people get new ones.
            engine.scheduler.deadlines_changed();
            return became(CallStatus::Awaiting);
        }
        StartToolOutcome::KeyRanOut => {
            reconcile::begin(engine);
            return became(CallStatus::Indeterminate);
        }
        StartToolOutcome::NotStartable(state) => {
            return became(fold::status(state));
        }
    };
    let (kept, pass) =
        tool_cache::consult(engine, rows, &row, &evaluation.plan, &policy_context).await;
    let cached = kept.as_ref().map(|kept| kept.cached);
    let (outcome, duration_ms) = match kept.map(given_again).or(early) {
        Some(ran) => ran,
        None => {
            let progress = engine.open_calls.progress(rows.id);
            if let Some(progress) = &progress {
                progress.tool_started(id, &row.call.name);
            }
            let ran = carry_out(engine, rows, &row, &evaluation, &kill).await;
            if let Some(progress) = &progress {
                progress.tool_finished(id);
            }
            ran?
        }
    };
    let content = hooks::clean_result(engine, rows, &outcome.content);
    let windows = evaluation.tool.reads_windows();
    let shown = large_result::show(engine, content, windows).await;
    let finished = finished(
        engine,
        rows,
        &row,
        attempt,
        (duration_ms, cached),
        &outcome,
        &shown,
    );
    let state = finished.state;
    // The session is tainted before the model reads what taints it.
    let taint = TaintSession {
        session_id: rows.session_id,
        taint: untrusted(evaluation.tool.as_ref(), &row, &outcome)
            .into_iter()
            .collect(),
    };
    engine.persist((taint, finished)).await?;
    pass.settle(engine, rows, &row.call.name, &outcome, &shown, duration_ms);
    // Until here, the file must not be swept.
    drop(shown);
    engine.scheduler.deadlines_changed();
    Ok(Input::ToolEnded {
        id,
        status: fold::status(state),
    })
}

/// Waits until an approved call can no longer be taken back: counted from its recorded decision, so that a restart does
/// not begin it again. Some = it does not start now, and what became of it.
async fn held_back(
    engine: &Engine,
    row: &CallRow,
    kill: &CancellationToken,
) -> Result<Option<CallStatus>, TurnError> {
    let decision = row.call.decision.as_ref();
    let is_held = row.call.state == ToolCallState::Approved
        && decision.is_some_and(|decision| decision.starts_at.is_some());
    let Some(approval) = row.call.approval_id.filter(|_| is_held) else {
        return Ok(None);
    };
    // From before the first look, so that nothing is missed behind it.
    let mut events = engine.store.subscribe();
    loop {
        let found = engine
            .store
            .read(move |reader| reader.approval(approval))
            .await?;
        if found.state != ApprovalState::Approved {
            return Ok(Some(match found.state {
                ApprovalState::Pending => CallStatus::Awaiting,
                ApprovalState::Approved
                | ApprovalState::Denied
                | ApprovalState::Expired
                | ApprovalState::Revoked
                | ApprovalState::Consumed => CallStatus::Settled,
            }));
        }
        let now = engine.clock.now();
        let starts = found.decision.and_then(|decision| decision.starts_at);
        let Some(starts) = starts.filter(|starts| *starts > now) else {
            return Ok(None);
        };
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(starts.millis_since(now))) => {}
            () = turn_changed(&mut events, row.call.continuation_id) => {}
            () = kill.cancelled() => return Ok(Some(fold::status(row.call.state))),
        }
    }
}

/// Resolves once something was recorded about a turn, or may have been.
async fn turn_changed(events: &mut broadcast::Receiver<Arc<Event>>, turn: ContinuationId) {
    loop {
        match events.recv().await {
            Ok(event) if event.seq.is_some() && event.continuation_id == Some(turn) => return,
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// A result that was kept, as if the tool had run just now and taken no time.
fn given_again(kept: StoredResult) -> (ToolOutcome, u64) {
    let outcome = ToolOutcome {
        content: kept.content,
        is_error: false,
        disposition: EffectDisposition::Done,
        partial: false,
    };
    crash_point!("tool.effect_done");
    (outcome, 0)
}

/// Carries out a call whose start is on disk: how it ended, and after how many milliseconds.
async fn carry_out(
    engine: &Engine,
    rows: &TurnRows,
    row: &CallRow,
    evaluation: &Evaluation,
    kill: &CancellationToken,
) -> Result<(ToolOutcome, u64), TurnError> {
    let id = row.call.id;
    let (tool, plan) = (&evaluation.tool, &evaluation.plan);
    let workspace = engine
        .channel(&rows.channel)
        .map_err(|problem| TurnError::Bug(problem.to_string()))?
        .workspace
        .clone();
    let host = LiveHost {
        engine: engine.clone(),
        rows,
        row,
        output: LiveOutput::new(&engine.redactor),
    };
    let change = tool_cache::begin_change(engine, row, &workspace);
    let started = Instant::now();
    let limit = tool.spec().max_duration;
    let outcome = {
        let cancel = kill.child_token();
        let context = ToolContext {
            operands: plan.operands.clone(),
            ..evaluate::run_context(
                engine,
                workspace,
                rows.session_id,
                id,
                row.idempotency_key.clone(),
                cancel.clone(),
                &host,
            )
        };
        let mut outcome = execute(tool.as_ref(), &context, &row.call.args, limit).await;
        host.output.finish(|text| host.show(text));
        crash_point!("tool.effect_done");
        let lost = outcome.disposition == EffectDisposition::Unknown && !kill.is_cancelled();
        let cancel = kill.child_token();
        let context = ToolContext {
            cancel: cancel.clone(),
            ..context
        };
        if lost && row.call.effect == Effect::Keyed && key_lives(tool.spec(), started) {
            // The same run once more: under the same key it is the first one, if that one happened.
            outcome = execute(tool.as_ref(), &context, &row.call.args, limit).await;
            host.output.finish(|text| host.show(text));
            crash_point!("tool.effect_done");
        } else if lost && row.call.effect == Effect::Reconcilable && !engine.is_held() {
            let probe = reconcile::bounded(tool.as_ref(), &context, &row.call.args, &cancel).await;
            host.output.finish(|text| host.show(text));
            outcome = looked_up(engine, outcome, probe);
        }
        outcome
    };
    if let Some(change) = change {
        change.end();
    }
    Ok((outcome, started.elapsed().as_millis() as u64))
}

/// Executes a call, bounded in time. A tool that panics has done nobody knows what.
async fn execute(
    tool: &dyn Tool,
    context: &ToolContext<'_>,
    args: &serde_json::Value,
    limit: Duration,
) -> ToolOutcome {
    let work = AssertUnwindSafe(tool.execute(context, args)).catch_unwind();
    tokio::pin!(work);
    let ended = tokio::select! {
        ended = &mut work => ended,
        () = tokio::time::sleep(limit) => {
            context.cancel.cancel();
            work.await
        }
    };
    // The payload of a panic is not shown: it could quote outside text or a secret.
    ended.unwrap_or_else(|_| ToolOutcome {
        content: "a fault in Leverframe stopped the tool (a panic; see the log)".to_owned(),
        is_error: true,
        disposition: EffectDisposition::Unknown,
        partial: false,
    })
}

/// Whether the other side still remembers the key of a run that began then.
fn key_lives(spec: &ToolSpec, began: Instant) -> bool {
    spec.key_lifetime
        .is_none_or(|lifetime| began.elapsed() < lifetime)
}

/// An unknown outcome after a look at the other side. What did not happen is reported to the model, which may call
/// again: repeating it here could go on for ever.
fn looked_up(engine: &Engine, outcome: ToolOutcome, probe: Probe) -> ToolOutcome {
    match probe {
        Probe::Done { content } => ToolOutcome {
            content,
            is_error: false,
            disposition: EffectDisposition::Done,
            partial: false,
        },
        Probe::NotDone => ToolOutcome {
            content: format!(
                "{}
looked up: it did not happen",
                outcome.content
            ),
            is_error: true,
            disposition: EffectDisposition::ConfirmedNoEffect,
            partial: false,
        },
        Probe::Unclear { why } => ToolOutcome {
            content: format!(
                "{}
looked up: {}",
                outcome.content,
                reconcile::said(engine, &why)
            ),
            ..outcome
        },
    }
}

/// Whose text a result holds that nobody here vouches for; none = it holds none. What never reached the other side is
/// told in words of ours.
fn untrusted(tool: &dyn Tool, row: &CallRow, outcome: &ToolOutcome) -> Option<String> {
    match outcome.disposition {
        EffectDisposition::ConfirmedNoEffect => None,
        EffectDisposition::Done | EffectDisposition::Unknown => tool.untrusted(&row.call.args),
    }
}

/// How an outcome is stored. An unknown one of a call that must not run twice becomes a question.
fn finished(
    engine: &Engine,
    rows: &TurnRows,
    row: &CallRow,
    attempt: u32,
    (duration_ms, cached): (u64, Option<CachedResult>),
    outcome: &ToolOutcome,
    shown: &ResultExcerpt,
) -> FinishTool {
    let repeatable = matches!(row.call.effect, Effect::ReadOnly | Effect::Idempotent);
    let (state, resolve) = match outcome.disposition {
        EffectDisposition::Unknown if !repeatable => (
            ToolCallState::Indeterminate,
            Some(resolve_unknown(engine, rows, row, &shown.content)),
        ),
        EffectDisposition::Done
        | EffectDisposition::ConfirmedNoEffect
        | EffectDisposition::Unknown => {
            let state = if outcome.is_error {
                ToolCallState::Failed
            } else {
                ToolCallState::Succeeded
            };
            (state, None)
        }
    };
    FinishTool {
        call_id: row.call.id,
        epoch: engine.store.epoch(),
        attempt,
        state,
        content: shown.content.clone(),
        is_error: outcome.is_error,
        duration_ms,
        artifact: shown.artifact(),
        cached,
        resolve,
    }
}

fn resolve_unknown(engine: &Engine, rows: &TurnRows, row: &CallRow, known: &str) -> NewApproval {
    let question = if row.call.name == RUN_AGENT {
        "the job was stopped: `run again` goes on with the program's own session, `give up` ends the job"
    } else {
        "it was stopped while it ran: did it happen?"
    };
    let (kind, digest) = (ApprovalKind::ResolveUnknown, row.digest.clone());
    let ask = Ask {
        preview: Preview::Text {
            text: known.to_owned(),
        },
        ..Ask::new(kind, digest, row.call.risk, question.to_owned())
    };
    approvals::build(engine, Origin::of(rows), ask)
}

async fn refuse(engine: &Engine, row: &CallRow, content: String) -> Result<Input, TurnError> {
    engine
        .persist(RefuseCall {
            call_id: row.call.id,
            epoch: engine.store.epoch(),
            content,
        })
        .await?;
    Ok(Input::CallBecame {
        id: row.call.id,
        status: CallStatus::Settled,
    })
}

/// The call must be asked (again): evaluated afresh under the policy of now.
async fn ask_again(
    engine: &Engine,
    policy_context: &PolicyContext,
    rows: &TurnRows,
    row: &CallRow,
    reason: &str,
) -> Result<Input, TurnError> {
    let fresh = evaluate::evaluate(
        engine,
        policy_context,
        rows,
        row.call.id,
        &row.call.name,
        &row.call.args,
        policy_context.policy.version,
    );
    let evaluation: Evaluation = match fresh {
        Ok(evaluation) => evaluation,
        Err(refusal) => return refuse(engine, row, refusal.content).await,
    };
    let model_text = rows
        .steps
        .iter()
        .rev()
        .find_map(|step| match &step.body {
            crate::protocol::session::StepBody::Model { text, .. } => Some(text.as_str()),
            crate::protocol::session::StepBody::ToolResult { .. }
            | crate::protocol::session::StepBody::OperatorNote { .. }
            | crate::protocol::session::StepBody::Final { .. }
            | crate::protocol::session::StepBody::Error { .. } => None,
        })
        .unwrap_or_default();
    let approval = evaluate::approval(engine, rows, model_text, &row.call.args, &evaluation);
    let facts = evaluate::call_facts(engine, &row.call.name, row.call.args.clone(), &evaluation);
    engine
        .persist(ReopenApproval {
            call_id: row.call.id,
            epoch: engine.store.epoch(),
            approval,
            reason: reason.to_owned(),
            call: facts,
        })
        .await?;
    engine.scheduler.deadlines_changed();
    Ok(Input::CallBecame {
        id: row.call.id,
        status: CallStatus::Awaiting,
    })
}
