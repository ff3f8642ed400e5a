//! The ends of a turn: answer, failure, budget question; and what the chat is told while it waits.

use crate::engine::approvals::{self, Ask, Origin};
use crate::engine::budget;
use crate::engine::compaction::{self, TurnEnd};
use crate::engine::core::Engine;
use crate::engine::turn::citations::citations;
use crate::engine::turn::error::TurnError;
use crate::engine::turn::evaluate;
use crate::engine::turn::outbound_files;
use crate::engine::turn::progress::Driver;
use crate::engine::turn::reply::stop_word;
use crate::model::request::StopReason;
use crate::protocol::citation::Citations;
use crate::protocol::enums::{ApprovalKind, ApprovalState, OutboxClass, Risk, ToolCallState};
use crate::protocol::ids::ApprovalId;
use crate::protocol::session::ErrorBody;
use crate::store::commands::ask_budget::AskBudget;
use crate::store::commands::fail_turn::FailTurn;
use crate::store::commands::finish_turn::FinishTurn;
use crate::store::commands::queue_notice::QueueNotice;
use crate::store::commands::release_turn::{Yield, YieldTo};
use crate::store::input::{BudgetKind, NewNotice, NewPart};
use crate::text::chunk::chunk;
use crate::text::untrusted::{limit_line, reveal_line};

/// First line of what the built-in script says on a real channel.
pub const SCRIPTED_LABEL: &str = "[built-in script, no AI model]";
/// Widest source named in a chat, in cells.
const SOURCE_CELLS: usize = 120;
/// Longest last line kept with a session, in characters.
const LAST_LINE_CHARS: usize = 200;

/// Stores the final answer with all its parts.
pub async fn finish(driver: &mut Driver<'_>) -> Result<(), TurnError> {
    let reply = driver
        .take_reply()
        .ok_or_else(|| TurnError::Bug("no answer to finish with".to_owned()))?;
    let engine = driver.engine;
    let active_ms = driver.take_active_ms();
    let rows = &driver.rows;
    let stop = stop_word(&reply.answer.stop).to_owned();
    let end = TurnEnd::of(&reply);
    let mut text = engine.redactor.redact(&reply.answer.text).into_owned();
    match &reply.answer.stop {
        StopReason::MaxTokens => text.push_str("\n\n[the answer was cut at the output limit]"),
        StopReason::Refusal if text.trim().is_empty() => {
            text.push_str("[the model declined to answer]");
        }
        StopReason::RefusedFor(rule) if text.trim().is_empty() => {
            let rule = engine
                .redactor
                .redact(&reveal_line(rule.as_str()))
                .into_owned();
            text = format!("[the model declined to answer: {rule}]");
        }
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::Refusal
        | StopReason::RefusedFor(_)
        | StopReason::Paused
        | StopReason::Other(_) => {}
    }
    // A silence after work was done is the operator's to evaluate; an empty message tells the chat nothing.
    let silent = text.trim().is_empty();
    let posted = !silent || rows.calls.is_empty();
    if silent {
        text = if posted {
            "[the model gave no answer]".to_owned()
        } else {
            "(no answer)".to_owned()
        };
    }
    let mut cited = citations(&rows.calls, &reply.retrieved);
    for item in &mut cited.items {
        item.source = engine.redactor.redact(&item.source).into_owned();
    }
    let mut shown = text.clone();
    let channel = engine.settings.channels.get(&rows.channel);
    if !silent && channel.is_some_and(|channel| channel.citations) {
        shown.push_str(&sources(&cited));
    }
    let mut parts = if posted {
        parts(driver, label(driver, &reply.model), &shown)
    } else {
        Vec::new()
    };
    parts.extend(outbound_files::parts(engine, rows).await?);
    let last_line: String = shown
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("")
        .chars()
        .take(LAST_LINE_CHARS)
        .collect();
    engine
        .persist(FinishTurn {
            continuation_id: rows.id,
            epoch: engine.store.epoch(),
            // The step of a direct call stands already: its result is the answer.
            model: rows
                .options
                .call
                .is_none()
                .then(|| reply.into_step(engine, active_ms)),
            text,
            stop,
            citations: cited,
            parts,
            session_last_line: last_line,
        })
        .await?;
    // A compaction asks a model; a direct call never is the reason for that.
    if rows.options.call.is_none() {
        compaction::after_turn(engine, rows, &end);
    }
    Ok(())
}

/// The sources of an answer as they stand below it in a chat; nothing for none. A path is no Markdown.
fn sources(cited: &Citations) -> String {
    if cited.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n\nSources:");
    for item in &cited.items {
        let source = limit_line(&item.source.replace('`', "'"), SOURCE_CELLS);
        text.push_str(&format!("\n- {} `{source}`", item.kind));
    }
    if cited.more > 0 {
        text.push_str(&format!("\n- and {} more", cited.more));
    }
    text
}

/// What the first part of a reply begins with, where the built-in script speaks on a real channel.
fn label(driver: &Driver<'_>, model: &str) -> &'static str {
    let engine = driver.engine;
    let real = engine
        .settings
        .channels
        .get(&driver.rows.channel)
        .is_some_and(|channel| channel.kind.is_platform());
    if real && engine.models.is_scripted(model) {
        SCRIPTED_LABEL
    } else {
        ""
    }
}

fn parts(driver: &Driver<'_>, label: &str, text: &str) -> Vec<NewPart> {
    let rows = &driver.rows;
    let reply_to = rows.message_ref.as_deref();
    parts_for(
        driver.engine,
        &rows.channel,
        &rows.conversation,
        reply_to,
        label,
        text,
    )
}

/// The parts a bridge will send; none where no bridge carries the channel. The first begins with the label.
pub fn parts_for(
    engine: &Engine,
    channel: &str,
    conversation: &str,
    reply_to: Option<&str>,
    label: &str,
    text: &str,
) -> Vec<NewPart> {
    if !engine.delivers(channel, conversation) {
        return Vec::new();
    }
    let known = engine.delivery.link(channel).capabilities();
    let limit = known.map(|known| (known.max_length, known.unit));
    // The bridge may not have said yet what it can; Telegram's limit is the smallest of all bridges.
    let (max, unit) = limit.unwrap_or((4000, crate::protocol::channel::LengthUnit::Utf16));
    let mut pieces = if label.is_empty() {
        chunk(text, max, unit)
    } else {
        chunk(text, max.saturating_sub(label.len() + 2), unit)
    };
    if let Some(first) = pieces.first_mut().filter(|_| !label.is_empty()) {
        *first = format!("{label}\n\n{first}");
    }
    pieces
        .into_iter()
        .enumerate()
        .map(|(index, text)| NewPart {
            channel: channel.to_owned(),
            conversation: conversation.to_owned(),
            text,
            reply_to: reply_to.filter(|_| index == 0).map(str::to_owned),
            file: None,
        })
        .collect()
}

fn notice(driver: &Driver<'_>, text: String) -> Vec<NewNotice> {
    let rows = &driver.rows;
    if !driver.engine.delivers(&rows.channel, &rows.conversation) {
        return Vec::new();
    }
    vec![NewNotice {
        channel: rows.channel.clone(),
        conversation: rows.conversation.clone(),
        class: OutboxClass::Notice,
        text,
        reply_to: rows.message_ref.clone(),
        continuation_id: Some(rows.id),
    }]
}

/// Stores the failure and tells the chat.
pub async fn fail(
    driver: &mut Driver<'_>,
    code: &'static str,
    message: String,
) -> Result<(), TurnError> {
    let engine = driver.engine;
    tracing::warn!(continuation = %driver.continuation, code, %message, "turn failed");
    let told = match code {
        "hook_cancelled" => format!("This was not answered: {message}."),
        _ => "Sorry, this failed; the operator can see why.".to_owned(),
    };
    let notices = notice(driver, told);
    engine
        .persist(FailTurn {
            continuation_id: driver.continuation,
            epoch: engine.store.epoch(),
            error: ErrorBody {
                code: code.to_owned(),
                message,
            },
            model: None,
            notices,
        })
        .await?;
    Ok(())
}

/// Lets go until somebody resumes it, keeps what readers saw, and tells the chat.
pub async fn interrupt(
    driver: &mut Driver<'_>,
    reason: String,
    partial: String,
) -> Result<(), TurnError> {
    let engine = driver.engine;
    tracing::warn!(continuation = %driver.continuation, %reason, "turn interrupted");
    let text = "The answer could not be finished. Send /continue to go on with it.".to_owned();
    let notice = notice(driver, text).pop();
    let active_ms = driver.take_active_ms();
    let interrupted = Yield {
        continuation_id: driver.continuation,
        epoch: engine.store.epoch(),
        to: YieldTo::Interrupted,
        reason,
        active_ms,
        partial: Some(partial).filter(|partial| !partial.is_empty()),
    };
    match notice {
        Some(notice) => {
            engine
                .persist((interrupted, QueueNotice { notice }))
                .await?;
        }
        None => engine.persist(interrupted).await?,
    }
    Ok(())
}

/// Asks a person for more of a used-up budget.
pub async fn ask_budget(driver: &mut Driver<'_>, kind: BudgetKind) -> Result<(), TurnError> {
    let engine = driver.engine;
    driver.refresh().await?;
    let question = match driver.take_stop() {
        Some(stop) => budget::of_stop(&stop),
        None => budget::of_turn(kind, &driver.rows),
    };
    if evaluate::nobody_is_there(&driver.rows) {
        let reached = question.text.split(". Continue with").next();
        let message = format!(
            "{}. Nobody can allow more: raise the limits of the routine, or let it wait for a person (park)",
            reached.unwrap_or_default()
        );
        return fail(driver, "budget_reached", message).await;
    }
    let digest = crate::tools::canonical::digest(&[
        "budget",
        &driver.continuation.to_string(),
        kind.as_str(),
        &question.limit.to_string(),
    ]);
    let ask = Ask::new(ApprovalKind::Budget, digest, Risk::Medium, question.text);
    let approval = approvals::build(engine, Origin::of(&driver.rows), ask);
    let code = approval.short_code.clone();
    let active_ms = driver.take_active_ms();
    let ask = AskBudget {
        continuation_id: driver.continuation,
        epoch: engine.store.epoch(),
        budget: question.budget,
        extra: Some(question.extra),
        day: question.day,
        limit: question.limit,
        used: question.used,
        approval,
        active_ms,
    };
    let text = format!("This needs more budget; waiting for a decision, code {code}.");
    match notice(driver, text).pop() {
        Some(notice) => {
            engine.persist((ask, QueueNotice { notice })).await?;
        }
        None => {
            engine.persist(ask).await?;
        }
    }
    engine.scheduler.deadlines_changed();
    Ok(())
}

/// What the chat is told when the turn starts to wait for people.
pub async fn waiting_notice(driver: &Driver<'_>) -> Result<Vec<NewNotice>, TurnError> {
    let engine = driver.engine;
    if !engine.delivers(&driver.rows.channel, &driver.rows.conversation) {
        return Ok(Vec::new());
    }
    let calls = driver.rows.calls.iter().filter(|row| {
        row.call.state == ToolCallState::Awaiting
            && row.approval_state == Some(ApprovalState::Pending)
    });
    let Some(risk) = calls.clone().map(|row| row.call.risk).max() else {
        return Ok(Vec::new());
    };
    let waiting: Vec<ApprovalId> = calls.filter_map(|row| row.call.approval_id).collect();
    let codes = engine
        .store
        .read(move |reader| {
            waiting
                .iter()
                .map(|id| reader.approval(*id).map(|approval| approval.short_code))
                .collect::<Result<Vec<_>, _>>()
        })
        .await?;
    let (origin, now) = (Origin::of(&driver.rows), engine.clock.now());
    let asked = approvals::cards(engine, origin, ApprovalKind::Execute, &[], risk, now);
    let nobody = match approvals::asked_from(engine, origin, risk, now) {
        _ if !asked.is_empty() => String::new(),
        Some(time) => format!(" These are quiet hours: people are asked at {time}."),
        None => " Nobody could be notified in chat; the operator's console shows it.".to_owned(),
    };
    Ok(notice(
        driver,
        format!("Waiting for a decision, code {}.{nobody}", codes.join(", ")),
    ))
}
