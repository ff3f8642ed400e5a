//! Where a turn asks its hooks: before a model is asked, before proposed calls are evaluated, and once more before an
//! allowed call starts. What they did is recorded in the transaction of what follows from it.

use serde_json::{Value, json};

use crate::engine::core::Engine;
use crate::engine::hooks::document::About;
use crate::engine::hooks::limiter::Over;
use crate::engine::hooks::{PointOutcome, Stop};
use crate::engine::turn::error::TurnError;
use crate::engine::turn::proposal::{MAX_TOOL_NAME, ProposedCall, skip_reason};
use crate::model::request::ModelToolCall;
use crate::protocol::approval::Requester;
use crate::protocol::enums::HookPoint;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::hook::{HookNote, HookVerdict};
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::store::commands::record_audit::RecordAudit;
use crate::store::commands::record_hooks::RecordHooks;
use crate::store::input::ActorRef;
use crate::store::queries::turn::{CallRow, TurnRows};
use crate::text::untrusted::reveal_line;

/// Whether a model may be asked.
#[derive(Debug, Clone)]
pub enum Ask {
    /// Yes.
    Go {
        /// What it reads instead of the message, where that was changed now.
        sent_text: Option<String>,
        /// What operators should know, in words.
        notes: Vec<String>,
    },
    /// No: the turn fails.
    Stop { code: &'static str, message: String },
}

fn about(rows: &TurnRows) -> About<'_> {
    About {
        channel: &rows.channel,
        conversation: &rows.conversation,
        requester: &rows.requester,
        session_id: Some(rows.session_id),
        continuation_id: Some(rows.id),
        call: None,
        model: None,
    }
}

/// Tells whoever listens what hooks did.
fn publish(
    engine: &Engine,
    session_id: Option<SessionId>,
    continuation_id: Option<ContinuationId>,
    notes: &[HookNote],
) {
    for note in notes {
        engine.store.publish(Event {
            seq: None,
            at: note.at,
            session_id,
            continuation_id,
            body: EventBody::HookRan {
                hook: note.hook.clone(),
                point: note.point,
                verdict: note.verdict.clone(),
                dry_run: note.dry_run,
            },
        });
    }
}

/// The rows of the audit that the audit hook wants.
fn rows_of(
    asked: &PointOutcome,
    channel: &str,
    subject: &str,
    tool: Option<&str>,
) -> Vec<RecordAudit> {
    let notes = asked.audited.iter().filter_map(|at| asked.notes.get(*at));
    notes
        .map(|note| {
            let (action, said) = match &note.verdict {
                HookVerdict::Change { field, value } if note.before.is_some() => (
                    "hook.changed",
                    json!({ "field": field, "before": note.before, "after": value }),
                ),
                HookVerdict::Change { field, .. } => ("hook.changed", json!({ "field": field })),
                HookVerdict::Cancel { reason } => ("hook.cancelled", json!({ "reason": reason })),
                HookVerdict::Failed { error } => ("hook.failed", json!({ "error": error })),
                HookVerdict::Pass => ("hook.passed", Value::Null),
            };
            RecordAudit {
                action,
                by: ActorRef::engine(),
                channel: Some(channel.to_owned()),
                subject: subject.to_owned(),
                detail: json!({
                    "hook": note.hook, "point": note.point, "at_start": note.at_start, "tool": tool, "said": said,
                }),
            }
        })
        .collect()
}

/// What the model reads of a call that a hook stopped.
fn refusal(stop: &Stop) -> (String, String) {
    let Stop { hook, said, reason } = stop;
    if *said {
        (
            format!("cancelled by the hook `{hook}`: {reason}. Nothing ran"),
            format!("hook {hook}: cancelled"),
        )
    } else {
        (
            format!(
                "not run, because the hook `{hook}`, which has to look at it, failed: {reason}. \
                 Calling it again will not help; go on without it"
            ),
            format!("hook {hook}: failed"),
        )
    }
}

/// Asks the hooks of a model call. A changed text is durable before the model reads it.
pub async fn before_llm_call(
    engine: &Engine,
    rows: &TurnRows,
    model: &str,
) -> Result<Ask, TurnError> {
    let about = About {
        model: Some(model),
        ..about(rows)
    };
    let text = rows.sent_text.as_ref().unwrap_or(&rows.text);
    let asked = engine
        .hooks
        .ask(
            HookPoint::BeforeLlmCall,
            false,
            &about,
            Value::String(text.clone()),
        )
        .await;
    publish(engine, Some(rows.session_id), Some(rows.id), &asked.notes);
    let sent_text = match &asked.value {
        Value::String(changed) if asked.stop.is_none() && changed != text => Some(changed.clone()),
        _ => None,
    };
    let record = RecordHooks {
        notes: Vec::new(),
        sent_text: sent_text
            .clone()
            .map(|text| (rows.id, engine.store.epoch(), text)),
        rows: rows_of(&asked, &rows.channel, &rows.id.to_string(), None),
    };
    if !record.is_empty() {
        engine.persist(record).await?;
    }
    if let Some(Stop { hook, said, reason }) = asked.stop {
        let reason = reveal_line(&reason).into_owned();
        return Ok(if said {
            Ask::Stop {
                code: "hook_cancelled",
                message: format!("the hook `{hook}` stopped it: {reason}"),
            }
        } else {
            Ask::Stop {
                code: "hook_failed",
                message: format!(
                    "the hook `{hook}`, which has to look at it, failed: {reason}; \
                     see `leverframe hooks list`"
                ),
            }
        });
    }
    let notes = asked.notes.iter().map(|note| {
        let dry = if note.dry_run { " (dry run)" } else { "" };
        match &note.verdict {
            HookVerdict::Change { .. } => {
                format!(
                    "the hook {} changed what the model reads of the message{dry}",
                    note.hook
                )
            }
            HookVerdict::Cancel { reason } => {
                format!("the hook {} cancels it: {reason}{dry}", note.hook)
            }
            HookVerdict::Failed { error } => format!("the hook {} failed: {error}{dry}", note.hook),
            HookVerdict::Pass => format!("the hook {} had nothing to say{dry}", note.hook),
        }
    });
    Ok(Ask::Go {
        sent_text,
        notes: notes.collect(),
    })
}

/// Asks the hooks of the calls of an answer, in order. Calls that will not run are not asked about.
///
/// Cancel-safe: nothing is recorded before the caller records the calls.
pub async fn before_tool_calls(
    engine: &Engine,
    rows: &TurnRows,
    calls: Vec<ModelToolCall>,
) -> (Vec<ProposedCall>, RecordHooks) {
    let mut proposed = Vec::with_capacity(calls.len());
    let mut record = RecordHooks::default();
    for (index, mut call) in calls.into_iter().enumerate() {
        let id = ToolCallId::generate();
        let args = match &mut call.args {
            Ok(args) if skip_reason(engine, rows, index).is_none() => args,
            Ok(_) | Err(_) => {
                proposed.push(ProposedCall {
                    id,
                    call,
                    stopped: None,
                });
                continue;
            }
        };
        let tool: String = call.name.chars().take(MAX_TOOL_NAME).collect();
        let about = About {
            call: Some((id, &tool)),
            ..about(rows)
        };
        let asked = engine
            .hooks
            .ask(
                HookPoint::BeforeToolCall,
                false,
                &about,
                std::mem::take(args),
            )
            .await;
        publish(engine, Some(rows.session_id), Some(rows.id), &asked.notes);
        let audit = rows_of(&asked, &rows.channel, &id.to_string(), Some(&tool));
        record.rows.extend(audit);
        if !asked.notes.is_empty() {
            record.notes.push((id, asked.notes));
        }
        *args = asked.value;
        proposed.push(ProposedCall {
            id,
            call,
            stopped: asked.stop.as_ref().map(refusal),
        });
    }
    (proposed, record)
}

/// Asks once more before a call starts that was allowed as it is. What is answered: what the model reads of a veto,
/// if there is one, and what is recorded either way: a hook on trial leaves notes and stops nothing.
pub async fn before_start(
    engine: &Engine,
    rows: &TurnRows,
    row: &CallRow,
) -> (Option<String>, RecordHooks) {
    let call = &row.call;
    if !engine.hooks.looks_at_start(&rows.channel, &call.name) {
        return (None, RecordHooks::default());
    }
    let about = About {
        call: Some((call.id, &call.name)),
        ..about(rows)
    };
    let asked = engine
        .hooks
        .ask(HookPoint::BeforeToolCall, true, &about, call.args.clone())
        .await;
    publish(engine, Some(rows.session_id), Some(rows.id), &asked.notes);
    let veto = asked.stop.as_ref().map(|stop| refusal(stop).0);
    let mut record = RecordHooks {
        rows: rows_of(
            &asked,
            &rows.channel,
            &call.id.to_string(),
            Some(&call.name),
        ),
        ..RecordHooks::default()
    };
    if !asked.notes.is_empty() {
        record.notes.push((call.id, asked.notes));
    }
    (veto, record)
}

/// A tool's result without secrets.
pub fn clean_result(engine: &Engine, rows: &TurnRows, content: &str) -> String {
    let (clean, changed) = engine.hooks.clean_result(content);
    if changed {
        let note = HookNote {
            hook: "redaction".to_owned(),
            point: HookPoint::AfterToolCall,
            at_start: false,
            dry_run: false,
            verdict: HookVerdict::Change {
                field: "result".to_owned(),
                value: Value::Null,
            },
            before: None,
            at: engine.clock.now(),
        };
        publish(engine, Some(rows.session_id), Some(rows.id), &[note]);
    }
    clean
}

/// Why a message is one too many, where it is. The record is for the first within a minute: later ones are not worth a row.
pub fn limit_message(
    engine: &Engine,
    channel: &str,
    requester: &Requester,
) -> Option<(Over, Option<RecordHooks>)> {
    let over = engine.hooks.limit_message(channel, requester).err()?;
    let note = HookNote {
        hook: "rate_limit".to_owned(),
        point: HookPoint::MessageReceived,
        at_start: false,
        dry_run: false,
        verdict: HookVerdict::Cancel {
            reason: over.reason.clone(),
        },
        before: None,
        at: engine.clock.now(),
    };
    publish(engine, None, None, std::slice::from_ref(&note));
    let record = over.first.then(|| {
        let asked = PointOutcome {
            value: Value::Null,
            notes: vec![note],
            stop: None,
            audited: vec![0],
        };
        RecordHooks {
            rows: rows_of(&asked, channel, &requester.id, None),
            ..RecordHooks::default()
        }
    });
    Some((over, record))
}
