//! User messages that come from a person or program directly: console, HTTP, command line.

use sha2::{Digest, Sha256};

use crate::config::settings::BudgetSettings;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::{attachments, sessions};
use crate::engine::hooks::turn as hooks;
use crate::engine::inbound_files;
use crate::engine::people;
use crate::protocol::artifact::NewAttachment;
use crate::protocol::budget::TurnLimits;
use crate::protocol::command::{Accepted, BudgetRequest, MAX_TEXT_BYTES};
use crate::protocol::enums::{CacheScope, ContinuationState, Disposition, Surface};
use crate::protocol::ids::ContinuationId;
use crate::protocol::options::{
    DirectCall, MAX_ALLOWED_TOOLS, MAX_HINT_BYTES, MAX_HINTS, ToolChoice, TurnOptions,
};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{Ask, SendMessage};
use crate::store::commands::ingest_turn::{IngestOutcome, IngestTurn, TurnFiles};
use crate::store::input::{Origin, SessionChoice, TurnBounds, TurnCache};

/// The limits of a turn: the configured ones, lowered by the request, never raised.
pub fn limits(settings: &BudgetSettings, request: &BudgetRequest) -> TurnLimits {
    let most = settings.turn;
    let asked_ms = request
        .max_duration_seconds
        .map(|seconds| u64::from(seconds) * 1000);
    TurnLimits {
        max_steps: most.max_steps.min(request.max_steps.unwrap_or(u32::MAX)),
        max_tool_calls: most
            .max_tool_calls
            .min(request.max_tool_calls.unwrap_or(u32::MAX)),
        max_active_ms: most.max_active_ms.min(asked_ms.unwrap_or(u64::MAX)),
        max_tokens: most.max_tokens.min(request.max_tokens.unwrap_or(u64::MAX)),
        max_cost_usd: match (most.max_cost_usd, request.max_cost_usd) {
            (Some(configured), Some(asked)) => Some(configured.min(asked)),
            (configured, asked) => configured.or(asked),
        },
    }
}

/// SHA-256 over length-prefixed parts.
pub fn body_digest(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}

/// Whether a text can be sent.
pub fn check_text(text: &str) -> Result<(), Problem> {
    if text.trim().is_empty() {
        return Err(Problem::invalid(
            "`text` is empty; send at least one character that is not white space",
        ));
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(Problem::invalid(format!(
            "`text` has {} bytes; at most {MAX_TEXT_BYTES} are taken",
            text.len()
        )));
    }
    Ok(())
}

/// Whether an amount is one.
pub fn check_budgets(budgets: &BudgetRequest) -> Result<(), Problem> {
    match budgets.max_cost_usd {
        Some(cost) if !cost.is_finite() || cost < 0.0 => Err(Problem::invalid(
            "`budgets.max_cost_usd` is an amount of US dollars, 0 or more",
        )),
        Some(_) | None => Ok(()),
    }
}

/// The options of a message, without secrets; the error names the field and what is right.
fn check_options(engine: &Engine, mut options: TurnOptions) -> Result<TurnOptions, Problem> {
    if options.call.is_some() {
        return Err(Problem::invalid(
            "`options.call` is not a message's: use the command `call_tool`",
        ));
    }
    if let Some(wrong) = options.parameters.problem() {
        return Err(Problem::invalid(format!(
            "`{}`: {}; expected {}",
            wrong.field, wrong.problem, wrong.expected
        )));
    }
    let known = |field: &str, name: &str| match engine.tools().lookup(name) {
        Ok(_) => Ok(()),
        Err(unknown) => Err(Problem::invalid(format!("`{field}`: {unknown}"))),
    };
    if let Some(allowed) = &mut options.allow_tools {
        if allowed.len() > MAX_ALLOWED_TOOLS {
            return Err(Problem::invalid(format!(
                "`allow_tools` has {} names; at most {MAX_ALLOWED_TOOLS} are taken",
                allowed.len()
            )));
        }
        for name in allowed.iter() {
            known("allow_tools", name)?;
        }
        allowed.sort();
        allowed.dedup();
    }
    if let Some(ToolChoice::Tool(name)) = &options.parameters.tool_choice {
        known("tool_choice", name)?;
        if !options.allows(name) {
            return Err(Problem::invalid(format!(
                "`tool_choice` is `{name}`, which is not in `allow_tools`"
            ))
            .hint("add it to `allow_tools`, or leave one of the two out"));
        }
    }
    if options.hints.len() > MAX_HINTS {
        return Err(Problem::invalid(format!(
            "`hints` has {} entries; at most {MAX_HINTS} are taken",
            options.hints.len()
        )));
    }
    for (at, hint) in options.hints.iter_mut().enumerate() {
        if hint.trim().is_empty() || hint.len() > MAX_HINT_BYTES {
            return Err(Problem::invalid(format!(
                "`hints[{at}]` has {} bytes; expected 1 to {MAX_HINT_BYTES}, not only white space",
                hint.len()
            )));
        }
        *hint = engine.redactor.redact(hint).into_owned();
    }
    Ok(options)
}

/// The options as a part of a message's digest; none where there are none.
fn options_text(options: &TurnOptions) -> Result<Option<String>, Problem> {
    if *options == TurnOptions::default() {
        return Ok(None);
    }
    let text = serde_json::to_string(options)
        .map_err(|error| Problem::internal(format!("the options cannot be written: {error}")))?;
    Ok(Some(format!("options {text}")))
}

/// Refuses a message that is one too many. Nothing of it is kept: its sender knows at once, and can send it again.
pub(super) async fn check_rate(
    engine: &Engine,
    caller: &Caller,
    channel: &str,
) -> Result<(), Problem> {
    let requester = people::requester(&caller.actor);
    let Some((over, record)) = hooks::limit_message(engine, channel, &requester) else {
        return Ok(());
    };
    if let Some(record) = record {
        engine.write(record).await?;
    }
    Err(
        Problem::new(ProblemKind::TooMany, "rate limit", over.reason)
            .hint("wait, then send it again; the limits are under [hooks.rate_limit]"),
    )
}

/// The files and options of a message, checked like its text and its budgets.
pub(super) fn check_content(
    engine: &Engine,
    text: &str,
    budgets: &BudgetRequest,
    attachments: Vec<NewAttachment>,
    options: TurnOptions,
) -> Result<(Vec<attachments::File>, TurnOptions), Problem> {
    let files = attachments::read(engine, attachments)?;
    if files.is_empty() || !text.is_empty() {
        check_text(text)?;
    }
    check_budgets(budgets)?;
    Ok((files, check_options(engine, options)?))
}

/// The digest of a message: its parts, its files and its options.
pub(super) fn content_digest(
    parts: &[&str],
    files: &[attachments::File],
    options: &TurnOptions,
) -> Result<[u8; 32], Problem> {
    let (digests, options) = (attachments::digests(files), options_text(options)?);
    let mut parts = parts.to_vec();
    parts.extend(digests.iter().map(String::as_str));
    parts.extend(options.as_deref());
    Ok(body_digest(&parts))
}

/// Submits a message to a session.
pub async fn send(
    engine: &Engine,
    caller: &Caller,
    message: SendMessage,
) -> Result<Accepted, Problem> {
    let SendMessage {
        session_id,
        text,
        model,
        budgets,
        fresh,
        attachments,
        options,
    } = message;
    let (files, options) = check_content(engine, &text, &budgets, attachments, options)?;
    let session = engine.session(session_id).await?;
    sessions::check_place(&session.channel, &session.conversation)?;
    sessions::check_model(engine, &session.channel, model.as_deref())?;
    check_rate(engine, caller, &session.channel).await?;
    let (id, of_model) = (session_id.to_string(), model.as_deref().unwrap_or(""));
    let mut parts = vec!["message", &id, &text, of_model];
    parts.extend(fresh.then_some("fresh"));
    let body = content_digest(&parts, &files, &options)?;
    let origin = origin(caller, &session.channel, &session.conversation, body);
    let text = engine.redactor.redact(&text).into_owned();
    let turn = IngestTurn {
        model,
        limits: limits(&engine.settings.budgets, &budgets),
        cache: TurnCache {
            fresh,
            private: false,
        },
        options,
        bounds: TurnBounds {
            // Nobody waits behind a turn there: a host is told at once.
            alone: caller.surface == Surface::Mcp,
            ..TurnBounds::default()
        },
        ..turn(engine, origin, SessionChoice::Id(session_id), text)
    };
    submit_with_files(engine, turn, files).await
}

/// Submits a message to a session of its own.
pub async fn ask(engine: &Engine, caller: &Caller, message: Ask) -> Result<Accepted, Problem> {
    let Ask {
        channel,
        conversation,
        text,
        model,
        budgets,
        fresh,
        attachments,
        options,
    } = message;
    let (files, options) = check_content(engine, &text, &budgets, attachments, options)?;
    sessions::check_model(engine, &channel, model.as_deref())?;
    if engine.has_bridge(&channel) {
        return Err(Problem::invalid(format!(
            "`{channel}` is a chat platform; ask on `api` or `cli`"
        )));
    }
    engine.channel(&channel)?;
    check_rate(engine, caller, &channel).await?;
    let mut parts = vec!["ask", &channel, &text, model.as_deref().unwrap_or("")];
    parts.extend(fresh.then_some("fresh"));
    let body = content_digest(&parts, &files, &options)?;
    let conversation = conversation.unwrap_or_else(|| ContinuationId::generate().to_string());
    sessions::check_conversation(&conversation)?;
    sessions::check_place(&channel, &conversation)?;
    let origin = origin(caller, &channel, &conversation, body);
    let text = engine.redactor.redact(&text).into_owned();
    let turn = IngestTurn {
        model,
        limits: limits(&engine.settings.budgets, &budgets),
        cache: TurnCache {
            fresh,
            private: false,
        },
        options,
        ..turn(engine, origin, SessionChoice::Temporary, text)
    };
    submit_with_files(engine, turn, files).await
}

/// A turn with the limits of the configuration and of its channel, and nothing beside its text.
pub fn turn(engine: &Engine, origin: Origin, session: SessionChoice, text: String) -> IngestTurn {
    let channel = engine.channel(&origin.channel);
    IngestTurn {
        role: people::role_word(&engine.settings, &origin.requester).to_owned(),
        said_at: said_at(engine, &origin.channel),
        max_queue: channel.map_or(10, |channel| channel.max_queue),
        origin,
        session,
        text,
        model: None,
        limits: engine.settings.budgets.turn,
        unlimited_queue: engine.is_held(),
        retry_of: None,
        queue_full_notice: None,
        title: None,
        cache: TurnCache::default(),
        options: TurnOptions::default(),
        bounds: TurnBounds::default(),
        files: TurnFiles::default(),
    }
}

/// A turn whose one step is a call that is given.
pub fn turn_of_call(
    engine: &Engine,
    origin: Origin,
    session: SessionChoice,
    text: String,
    call: DirectCall,
) -> IngestTurn {
    IngestTurn {
        // One step and one call, and then no budget is asked for more.
        limits: TurnLimits {
            max_steps: 2,
            max_tool_calls: 2,
            ..engine.settings.budgets.turn
        },
        options: TurnOptions {
            call: Some(Box::new(call)),
            ..TurnOptions::default()
        },
        ..turn(engine, origin, session, text)
    }
}

/// What models are told of when a message came that comes now. A cached response is given to questions of other times:
/// where answers are kept, they are told no more than the day, which a cached response is known by.
pub fn said_at(engine: &Engine, channel: &str) -> String {
    let now = engine.clock.now();
    match engine
        .channel(channel)
        .map(|channel| channel.response_cache)
    {
        Ok(CacheScope::User | CacheScope::Channel) => now.day_in_zone(),
        Ok(CacheScope::Off) | Err(_) => now.in_zone(),
    }
}

/// The origin of something a caller submits directly.
pub fn origin(caller: &Caller, channel: &str, conversation: &str, body_digest: [u8; 32]) -> Origin {
    Origin {
        channel: channel.to_owned(),
        principal: caller.actor.id(),
        key: caller.key.clone(),
        body_digest,
        cursor: None,
        conversation: conversation.to_owned(),
        conversation_title: None,
        requester: people::requester(&caller.actor),
        surface: caller.surface,
        message_ref: None,
        trace: caller.trace,
    }
}

/// Stores the files of a turn, then the turn that refers to them, and starts it.
pub(super) async fn submit_with_files(
    engine: &Engine,
    mut turn: IngestTurn,
    files: Vec<attachments::File>,
) -> Result<Accepted, Problem> {
    // Held until the turn is committed: nothing sweeps a file that is about to be named.
    let stored = attachments::store(engine, &mut turn, files).await?;
    let accepted = submit(engine, turn).await;
    drop(stored);
    accepted
}

/// Stores a turn and starts it.
pub async fn submit(engine: &Engine, turn: IngestTurn) -> Result<Accepted, Problem> {
    let max_queue = turn.max_queue;
    let waits = turn.retry_of.is_some() || !turn.files.untranscribed.is_empty();
    let channel = turn.origin.channel.clone();
    let outcome = engine.write(turn).await?;
    if waits {
        inbound_files::announce(engine, &channel);
    }
    accepted(engine, &outcome, max_queue)
}

/// The answer to a stored turn.
pub fn accepted(
    engine: &Engine,
    outcome: &IngestOutcome,
    max_queue: u32,
) -> Result<Accepted, Problem> {
    match (
        outcome.disposition,
        outcome.session_id,
        outcome.continuation_id,
    ) {
        (Disposition::Turn, Some(session_id), Some(continuation_id)) => {
            if !outcome.repeated {
                engine.wake(session_id);
            }
            Ok(Accepted {
                session_id,
                continuation_id,
                state: outcome.state.unwrap_or(ContinuationState::Pending),
                at: engine.clock.now(),
                repeated: outcome.repeated,
            })
        }
        (Disposition::QueueFull, _, _) => Err(Problem::new(
            ProblemKind::TooMany,
            "queue full",
            format!("{max_queue} messages of this session wait already"),
        )
        .hint("wait for an answer, or cancel a continuation")),
        (
            Disposition::Turn | Disposition::Command | Disposition::Pairing | Disposition::Ignored,
            _,
            _,
        ) => Err(Problem::internal(
            "the message was stored without a continuation",
        )),
    }
}
