//! Looks at the other side for calls whose outcome nobody knows, and answers their questions where the look tells.
//!
//! A look only reads. It is asked once for each run of a call and start of the process, never while the engine is
//! held, and its answer goes the way of every decision: audited, compare-and-set, a person's answer wins.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use tokio_util::sync::CancellationToken;

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::decide;
use crate::engine::handle::decision;
use crate::engine::turn::evaluate;
use crate::engine::turn::policy_context::PolicyContext;
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::{DecisionKind, ToolCallState, VerdictKind};
use crate::protocol::problem::Problem;
use crate::store::commands::record_unknown_call::RecordUnknownCall;
use crate::store::queries::turn::{CallRow, TurnRows};
use crate::store::queries::unknown::UnknownCall;
use crate::tools::tool::{Probe, Tool, ToolContext, ToolHost};

/// Longest look.
const LIMIT: Duration = Duration::from_secs(30);
/// Looks under way at once after a start.
const AT_ONCE: usize = 4;
/// Most characters of what a look said that are shown and audited.
const MAX_SAID: usize = 500;

/// Nobody watches a look.
struct NoHost;

impl ToolHost for NoHost {
    fn progress(&self, _text: &str) {}
}

/// Looks for every call that waits for it. Returns at once.
pub fn begin(engine: &Engine) {
    let engine = engine.clone();
    engine.tasks.clone().spawn(async move {
        let calls = match engine.store.read(|reader| reader.unknown_calls()).await {
            Ok(calls) => calls,
            Err(error) => {
                tracing::warn!(%error, "cannot read the unknown outcomes");
                return;
            }
        };
        stream::iter(calls)
            .for_each_concurrent(AT_ONCE, |call| look(&engine, call))
            .await;
    });
}

/// One look, and what follows from it.
async fn look(engine: &Engine, call: UnknownCall) {
    let run = (call.call_id, call.attempt);
    if engine.is_held() || !engine.sessions.begin_probe(run) {
        return;
    }
    match settle(engine, call).await {
        Ok(true) => {}
        Ok(false) => {
            engine.sessions.forget_probe(run);
        }
        Err(problem) => {
            tracing::warn!(call = %call.call_id, %problem, "cannot settle an unknown outcome; a person must decide");
        }
    }
}

/// Whether the look was made; not when the engine was held or stopped meanwhile.
async fn settle(engine: &Engine, call: UnknownCall) -> Result<bool, Problem> {
    let id = call.continuation_id;
    let rows = engine.turn_rows(id).await?;
    let Some(row) = rows
        .calls
        .iter()
        .find(|row| row.call.id == call.call_id && row.call.state == ToolCallState::Indeterminate)
    else {
        return Ok(true);
    };
    let Some(probe) = ask_tool(engine, &rows, row).await else {
        return Ok(false);
    };
    let note = |text: String| RecordUnknownCall {
        approval_id: call.approval_id,
        text: format!("Looked up: {}.", said(engine, &text)),
    };
    match probe {
        Probe::Done { content } => {
            let reason = format!("looked up: it happened: {}", said(engine, &content));
            answer(engine, call, DecisionKind::Happened, reason, Some(content)).await?;
        }
        Probe::NotDone => match denied(engine, &rows, row).await? {
            None => {
                let reason = "looked up: it did not happen".to_owned();
                answer(engine, call, DecisionKind::RunAgain, reason, None).await?;
            }
            Some(why) => {
                let text = format!("it did not happen; it is not run again by itself: {why}");
                engine.write(note(text)).await?;
            }
        },
        Probe::Unclear { why } => {
            engine.write(note(why)).await?;
        }
    }
    Ok(true)
}

/// Asks the tool of a stored call, in the surroundings in which the call ran. None when the engine was held or stopped
/// meanwhile.
async fn ask_tool(engine: &Engine, rows: &TurnRows, row: &CallRow) -> Option<Probe> {
    let unclear = |why: &str| {
        Some(Probe::Unclear {
            why: why.to_owned(),
        })
    };
    let Some(tool) = engine.tools().get(&row.call.name) else {
        return unclear("the tool no longer exists");
    };
    if engine
        .tools()
        .validate(&row.call.name, &row.call.args)
        .is_err()
    {
        return unclear("the tool takes other arguments now");
    }
    let Ok(settings) = engine.channel(&rows.channel) else {
        return unclear("its channel is no longer configured");
    };
    let cancel = engine.shutdown.child_token();
    let context = evaluate::run_context(
        engine,
        settings.workspace.clone(),
        rows.session_id,
        row.call.id,
        row.idempotency_key.clone(),
        cancel.clone(),
        &NoHost,
    );
    let mut held = engine.emergency.changes();
    tokio::select! {
        biased;
        () = engine.shutdown.cancelled() => None,
        _ = held.wait_for(Option::is_some) => {
            cancel.cancel();
            None
        }
        probe = bounded(tool.as_ref(), &context, &row.call.args, &cancel) => Some(probe),
    }
}

/// What a tool says, bounded in time; a tool that panics says nothing.
pub async fn bounded(
    tool: &dyn Tool,
    context: &ToolContext<'_>,
    args: &serde_json::Value,
    cancel: &CancellationToken,
) -> Probe {
    let look = AssertUnwindSafe(tool.probe(context, args)).catch_unwind();
    match tokio::time::timeout(LIMIT, look).await {
        Ok(Ok(probe)) => probe,
        // The payload is not shown: it could quote outside text or a secret.
        Ok(Err(_)) => Probe::Unclear {
            why: "the look-up stopped on a defect of Leverframe (a panic; see the log)".to_owned(),
        },
        Err(_) => {
            cancel.cancel();
            Probe::Unclear {
                why: format!("no answer within {} s", LIMIT.as_secs()),
            }
        }
    }
}

/// Why a call may not run again by itself under the policy of now; none = it may, or a person is asked first.
async fn denied(
    engine: &Engine,
    rows: &TurnRows,
    row: &CallRow,
) -> Result<Option<String>, Problem> {
    let policy_context = PolicyContext::read(engine, rows).await?;
    let evaluation = evaluate::evaluate(
        engine,
        &policy_context,
        rows,
        row.call.id,
        &row.call.name,
        &row.call.args,
        policy_context.policy.version,
    );
    Ok(match evaluation {
        Err(refusal) => Some(refusal.rule),
        Ok(evaluation) => match evaluation.verdict.decision {
            VerdictKind::Deny => Some(evaluation.verdict.rule),
            VerdictKind::Ask | VerdictKind::Allow => None,
        },
    })
}

/// Settles a run whose end is known from elsewhere. Somebody else's answer stands.
pub async fn happened(engine: &Engine, call: UnknownCall, content: String) -> Result<(), Problem> {
    let reason = format!("looked up: it happened: {content}");
    answer(engine, call, DecisionKind::Happened, reason, Some(content)).await
}

/// Answers a question in the engine's name. Somebody else's answer stands.
async fn answer(
    engine: &Engine,
    call: UnknownCall,
    decision: DecisionKind,
    reason: String,
    content: Option<String>,
) -> Result<(), Problem> {
    let id = call.approval_id;
    let approval = engine.approval(id).await?;
    let caller = Caller::engine();
    let request = DecisionRequest {
        revision: Some(approval.revision),
        reason: Some(reason),
        ..DecisionRequest::new(decision, approval.digest.clone())
    };
    decide::check(engine, &caller, &approval, &request)?;
    let mut command = decide::command(engine, &caller, &approval, request);
    if let Some(content) = content {
        command.result_content =
            crate::tools::output::fit(engine.redactor.redact(&content).into_owned());
    }
    let report = engine.write(command).await?;
    decision::settle(engine, &report);
    decision::outcome(id, report).map(|_| ())
}

/// What a look said, as one short line.
pub fn said(engine: &Engine, text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    engine
        .redactor
        .redact(&line)
        .chars()
        .take(MAX_SAID)
        .collect()
}
