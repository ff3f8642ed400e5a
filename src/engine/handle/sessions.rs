//! Opening, changing and ending sessions.

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::protocol::agent_job::is_job;
use crate::protocol::ids::SessionId;
use crate::protocol::problem::Problem;
use crate::protocol::request::UpdateSession;
use crate::protocol::session::{MAX_PREFERENCES, Session};
use crate::store::commands::end_session::EndSession;
use crate::store::commands::resume_session::ResumeSession;
use crate::store::commands::start_session::StartSession;
use crate::store::commands::update_session;

/// Longest title, in characters.
const MAX_TITLE: usize = 200;

/// Opens a session, or finds the active one of the same conversation.
pub async fn start(
    engine: &Engine,
    channel: Option<String>,
    conversation: Option<String>,
    title: Option<String>,
    model: Option<String>,
) -> Result<Session, Problem> {
    let channel = channel.unwrap_or_else(|| "api".to_owned());
    engine.channel(&channel)?;
    check_model(engine, &channel, model.as_deref())?;
    // A conversation nobody named is a fresh one.
    let conversation = conversation.unwrap_or_else(|| SessionId::generate().to_string());
    check_conversation(&conversation)?;
    check_place(&channel, &conversation)?;
    let title = title.map(|title| clean_title(engine, &title));
    let id = engine
        .write(StartSession {
            channel,
            conversation,
            title,
            model,
        })
        .await?;
    engine.session(id).await
}

/// Changes title, model, pause or preferences.
pub async fn update(
    engine: &Engine,
    caller: &Caller,
    change: UpdateSession,
) -> Result<Session, Problem> {
    let UpdateSession {
        session_id,
        title,
        model,
        paused,
        preferences,
    } = change;
    if model.is_some() {
        let session = engine.session(session_id).await?;
        check_model(engine, &session.channel, model.as_deref())?;
    }
    let title = title.map(|title| clean_title(engine, &title));
    let preferences = match preferences {
        Some(text) => Some(clean_preferences(engine, &text)?),
        None => None,
    };
    engine
        .write(update_session::UpdateSession {
            session_id,
            title,
            model,
            paused,
            preferences,
            by: caller.reference(),
        })
        .await?;
    if paused == Some(false) {
        engine.wake(session_id);
    }
    engine.session(session_id).await
}

/// Ends a session with everything open in it.
pub async fn end(
    engine: &Engine,
    caller: &Caller,
    session_id: SessionId,
) -> Result<Session, Problem> {
    let cancelled = engine
        .write(EndSession {
            session_id,
            reason: format!("ended by {}", caller.actor.label()),
            by: caller.reference(),
        })
        .await?;
    engine.sessions.cancel_all(cancelled);
    engine.session(session_id).await
}

/// Makes an earlier session the active one of its conversation again.
pub async fn resume(
    engine: &Engine,
    caller: &Caller,
    session_id: SessionId,
) -> Result<Session, Problem> {
    let cancelled = engine
        .write(ResumeSession {
            session_id,
            by: caller.reference(),
        })
        .await?;
    engine.sessions.cancel_all(cancelled);
    engine.session(session_id).await
}

/// Whether a text can be the key of a conversation.
pub fn check_conversation(key: &str) -> Result<(), Problem> {
    if key.is_empty() || key.chars().count() > 256 {
        return Err(Problem::invalid(
            "`conversation` must have 1 to 256 characters",
        ));
    }
    Ok(())
}

/// Refuses the conversation of a job: only the start of a job, and its runs, write there.
pub fn check_place(channel: &str, conversation: &str) -> Result<(), Problem> {
    if is_job(channel, conversation) {
        let detail = "a job of an external agent takes no messages and no other calls";
        return Err(Problem::not_offered("not possible here", detail)
            .hint("`leverframe agents run` starts a job"));
    }
    Ok(())
}

/// A title without control characters, shortened and redacted.
pub fn clean_title(engine: &Engine, title: &str) -> String {
    engine
        .redactor
        .redact(title.trim())
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_TITLE)
        .collect()
}

/// Preferences without control characters, redacted; empty = none any more.
fn clean_preferences(engine: &Engine, text: &str) -> Result<String, Problem> {
    let text = text.trim();
    if text.len() > MAX_PREFERENCES {
        return Err(Problem::invalid(format!(
            "`preferences` has {} bytes; at most {MAX_PREFERENCES} are taken",
            text.len()
        ))
        .hint("what is long belongs into a memory, or into a file that the agent reads"));
    }
    let text = engine.redactor.redact(text);
    let shown = text.chars().filter(|c| !c.is_control() || *c == '\n');
    Ok(shown.collect())
}

/// Whether a model may be chosen on a channel: it exists, and the channel's is not fixed to another one.
pub fn check_model(engine: &Engine, channel: &str, model: Option<&str>) -> Result<(), Problem> {
    let Some(name) = model else {
        return Ok(());
    };
    engine
        .models
        .get(name)
        .map_err(|error| Problem::invalid(error.to_string()))?;
    let settings = engine.channel(channel)?;
    let fixed = settings.model.as_ref().unwrap_or(&engine.settings.model);
    if settings.fixed_model && name != fixed {
        return Err(Problem::forbidden(
            "the model is fixed",
            format!("channel `{channel}` answers with {fixed} only, not with {name}"),
        )
        .hint(format!(
            "leave `model` out, or remove fixed_model from [channels.{channel}]"
        )));
    }
    Ok(())
}
