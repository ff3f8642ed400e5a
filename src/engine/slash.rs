//! Slash commands. They touch only their own conversation; an unknown one gets the help text.

use crate::engine::arrival::{Arrival, reply};
use crate::engine::core::Engine;
use crate::engine::handle::continuations;
use crate::engine::slash_decide;
use crate::engine::slash_routines;
use crate::engine::turn::input::Halt;
use crate::protocol::approval::Approval;
use crate::protocol::bridge::Ingestion;
use crate::protocol::command::MAX_TEXT_BYTES;
use crate::protocol::enums::{ApprovalState, ContinuationState, DecisionKind, SessionState};
use crate::protocol::ids::{ApprovalId, SessionId};
use crate::protocol::problem::Problem;
use crate::protocol::session::{Continuation, Session};
use crate::protocol::slash::SlashCommand;
use crate::protocol::snapshot::PageRequest;
use crate::store::commands::end_session::EndSession;
use crate::store::commands::resume::Resume;
use crate::store::commands::resume_session::ResumeSession;
use crate::store::commands::update_session::UpdateSession;
use crate::store::queries::continuations::ContinuationFilter;
use crate::text::untrusted::limit_line;

/// How many sessions `/sessions` lists, and `/resume` finds.
const SESSIONS_SHOWN: u32 = 10;

/// The help text.
pub fn help() -> String {
    let mut text = String::from("What you can send here:\n");
    for command in SlashCommand::ALL {
        text.push_str(&format!("- {}: {}\n", command.usage(), command.summary()));
    }
    text.push_str("Anything else is a message to the agent.");
    text
}

/// Carries out a slash command.
pub async fn carry_out(
    engine: &Engine,
    arrival: &Arrival<'_>,
    text: &str,
) -> Result<Ingestion, Problem> {
    let (word, rest) = text[1..]
        .split_once(char::is_whitespace)
        .unwrap_or((&text[1..], ""));
    let word = word.split('@').next().unwrap_or(word);
    let rest = rest.trim();
    let Some(command) = SlashCommand::named(word) else {
        return reply(engine, arrival, "help", help()).await;
    };
    let decide = async |decision| slash_decide::carry_out(engine, arrival, decision, rest).await;
    let said = match command {
        SlashCommand::Approve => return decide(DecisionKind::Approve).await,
        SlashCommand::Deny => return decide(DecisionKind::Deny).await,
        SlashCommand::Answer => return decide(DecisionKind::Answer).await,
        SlashCommand::New => return new(engine, arrival).await,
        SlashCommand::Cancel => return cancel(engine, arrival, rest).await,
        SlashCommand::Resume => return resume(engine, arrival, rest).await,
        SlashCommand::Continue => return go_on(engine, arrival).await,
        SlashCommand::Retry => return retry(engine, arrival).await,
        SlashCommand::Fresh => return fresh(engine, arrival, rest).await,
        SlashCommand::Rename => return rename(engine, arrival, rest).await,
        SlashCommand::Routines => return slash_routines::carry_out(engine, arrival, rest).await,
        SlashCommand::Status => status(engine, arrival).await?,
        SlashCommand::Sessions => sessions(engine, arrival).await?,
        SlashCommand::Pending => pending(engine, arrival).await?,
        SlashCommand::Help => help(),
    };
    reply(engine, arrival, command.as_str(), said).await
}

async fn active(engine: &Engine, arrival: &Arrival<'_>) -> Result<Option<SessionId>, Problem> {
    let (channel, conversation) = arrival.place();
    engine
        .read(move |reader| reader.active_session(&channel, &conversation))
        .await
}

/// The newest continuations of this conversation's active session, newest first.
async fn recent(engine: &Engine, arrival: &Arrival<'_>) -> Result<Vec<Continuation>, Problem> {
    let Some(session) = active(engine, arrival).await? else {
        return Ok(Vec::new());
    };
    let filter = ContinuationFilter {
        state: None,
        session_id: Some(session),
    };
    let page = PageRequest {
        limit: Some(20),
        cursor: None,
    };
    engine
        .read(move |reader| reader.continuations(&filter, &page))
        .await
        .map(|page| page.items)
}

async fn waiting(engine: &Engine, arrival: &Arrival<'_>) -> Result<Vec<Approval>, Problem> {
    let ids: Vec<ApprovalId> = recent(engine, arrival)
        .await?
        .into_iter()
        .flat_map(|continuation| continuation.approvals)
        .collect();
    engine
        .read(move |reader| {
            ids.iter()
                .map(|id| reader.approval(*id))
                .collect::<Result<Vec<_>, _>>()
        })
        .await
        .map(|all| {
            all.into_iter()
                .filter(|approval| approval.state == ApprovalState::Pending)
                .collect()
        })
}

async fn new(engine: &Engine, arrival: &Arrival<'_>) -> Result<Ingestion, Problem> {
    let text = "A new session begins with your next message.";
    let Some(session_id) = active(engine, arrival).await? else {
        return reply(engine, arrival, "new", text).await;
    };
    let end = EndSession {
        session_id,
        reason: "/new".to_owned(),
        by: arrival.caller.reference(),
    };
    let (ingested, cancelled) = engine.once(arrival, "/new", Some(text), end).await?;
    engine.sessions.cancel_all(cancelled.unwrap_or_default());
    Ok(ingested)
}

async fn cancel(
    engine: &Engine,
    arrival: &Arrival<'_>,
    reason: &str,
) -> Result<Ingestion, Problem> {
    let open = recent(engine, arrival)
        .await?
        .into_iter()
        .rev()
        .find(|continuation| !continuation.state.is_terminal());
    let Some(open) = open else {
        return reply(engine, arrival, "cancel", "Nothing runs or waits here.").await;
    };
    let reason = Some(reason.to_owned()).filter(|reason| !reason.is_empty());
    let cancel = continuations::cancellation(engine, &arrival.caller, open.id, reason, false);
    let (ingested, _) = engine
        .once(arrival, "/cancel", Some("Cancelled."), cancel.await?)
        .await?;
    engine.sessions.halt(open.id, Halt::Cancelled);
    engine.wake(open.session_id);
    Ok(ingested)
}

/// Goes back to a session of the sender in this conversation.
async fn resume(engine: &Engine, arrival: &Arrival<'_>, code: &str) -> Result<Ingestion, Problem> {
    let named: Vec<Session> = own_sessions(engine, arrival)
        .await?
        .into_iter()
        .filter(|session| session.id.code().eq_ignore_ascii_case(code))
        .collect();
    let [session] = named.as_slice() else {
        let text = if code.is_empty() {
            "Send /resume CODE; /sessions lists your sessions here with their codes. /continue goes on with an interrupted request.".to_owned()
        } else {
            format!(
                "No session of yours here has the code {}; /sessions lists them.",
                limit_line(code, 20)
            )
        };
        return reply(engine, arrival, "resume", text).await;
    };
    if session.state == SessionState::Active {
        let text = "You are already in this session.".to_owned();
        return reply(engine, arrival, "resume", text).await;
    }
    let text = match title_of(session) {
        title if title.is_empty() => "Back in that session.".to_owned(),
        title => format!("Back in the session: {title}"),
    };
    let resume = ResumeSession {
        session_id: session.id,
        by: arrival.caller.reference(),
    };
    let (ingested, cancelled) = engine.once(arrival, "/resume", Some(&text), resume).await?;
    engine.sessions.cancel_all(cancelled.unwrap_or_default());
    Ok(ingested)
}

/// Goes on with the newest interrupted request.
async fn go_on(engine: &Engine, arrival: &Arrival<'_>) -> Result<Ingestion, Problem> {
    let interrupted = recent(engine, arrival)
        .await?
        .into_iter()
        .find(|continuation| continuation.state == ContinuationState::Interrupted);
    let Some(interrupted) = interrupted else {
        return reply(engine, arrival, "continue", "Nothing here was interrupted.").await;
    };
    let resume = Resume {
        continuation_id: interrupted.id,
        by: arrival.caller.reference(),
    };
    let (ingested, _) = engine
        .once(arrival, "/continue", Some("Going on."), resume)
        .await?;
    engine.wake(interrupted.session_id);
    Ok(ingested)
}

async fn retry(engine: &Engine, arrival: &Arrival<'_>) -> Result<Ingestion, Problem> {
    let ended = recent(engine, arrival)
        .await?
        .into_iter()
        .find(|continuation| continuation.state.is_terminal());
    let Some(ended) = ended else {
        return reply(engine, arrival, "retry", "There is nothing to ask again.").await;
    };
    if let Some(refused) = engine.one_too_many(arrival).await? {
        return Ok(refused);
    }
    let mut turn = engine.turn(arrival, &ended.request.text, Some(ended.id));
    turn.options = engine.turn_rows(ended.id).await?.options;
    engine.take_up(turn).await
}

async fn fresh(engine: &Engine, arrival: &Arrival<'_>, text: &str) -> Result<Ingestion, Problem> {
    if text.is_empty() || text.len() > MAX_TEXT_BYTES {
        return reply(
            engine,
            arrival,
            "fresh",
            "Send /fresh QUESTION to ask the model even if a response is cached.",
        )
        .await;
    }
    if let Some(refused) = engine.one_too_many(arrival).await? {
        return Ok(refused);
    }
    let mut turn = engine.turn(arrival, text, None);
    turn.cache.fresh = true;
    engine.take_up(turn).await
}

async fn rename(engine: &Engine, arrival: &Arrival<'_>, title: &str) -> Result<Ingestion, Problem> {
    let Some(session_id) = active(engine, arrival).await?.filter(|_| !title.is_empty()) else {
        return reply(
            engine,
            arrival,
            "rename",
            "Send /rename TITLE in a session.",
        )
        .await;
    };
    let rename = UpdateSession {
        session_id,
        title: Some(crate::engine::handle::sessions::clean_title(engine, title)),
        model: None,
        paused: None,
        preferences: None,
        by: arrival.caller.reference(),
    };
    let (ingested, _) = engine
        .once(arrival, "/rename", Some("Renamed."), rename)
        .await?;
    Ok(ingested)
}

async fn status(engine: &Engine, arrival: &Arrival<'_>) -> Result<String, Problem> {
    let channel = arrival.channel.to_owned();
    let policy = engine.read(move |reader| reader.policy(&channel)).await?;
    let mut text = format!("Autonomy here: {}.", policy.autonomy);
    if engine.is_held() {
        text.push_str("\nThe operator has stopped everything for now; messages are stored.");
    }
    let open: Vec<Continuation> = recent(engine, arrival)
        .await?
        .into_iter()
        .filter(|continuation| !continuation.state.is_terminal())
        .collect();
    if open.is_empty() {
        text.push_str("\nNothing runs or waits.");
    }
    for continuation in open {
        text.push_str(&format!(
            "\n- {}: {}",
            continuation.state,
            limit_line(&continuation.request.text, 60)
        ));
    }
    Ok(text)
}

/// The newest sessions of this conversation in which the sender asked, newest first.
async fn own_sessions(engine: &Engine, arrival: &Arrival<'_>) -> Result<Vec<Session>, Problem> {
    let (channel, conversation) = arrival.place();
    let requester = arrival.origin.requester.id.clone();
    engine
        .read(move |reader| {
            reader.conversation_sessions(&channel, &conversation, &requester, SESSIONS_SHOWN)
        })
        .await
}

/// What a session is called in a list: its title, or its last line.
fn title_of(session: &Session) -> String {
    let title = session.title.as_deref().or(session.last_line.as_deref());
    limit_line(title.unwrap_or_default(), 60)
}

async fn sessions(engine: &Engine, arrival: &Arrival<'_>) -> Result<String, Problem> {
    let sessions = own_sessions(engine, arrival).await?;
    if sessions.is_empty() {
        return Ok("No sessions yet; send a message to start one.".to_owned());
    }
    let mut text = String::from("Your sessions here, newest first; /resume CODE goes back to one:");
    for session in sessions {
        text.push_str(&format!(
            "\n- {} {}: {} turn(s) {}",
            session.id.code(),
            session.state,
            session.turns,
            title_of(&session)
        ));
    }
    Ok(text)
}

async fn pending(engine: &Engine, arrival: &Arrival<'_>) -> Result<String, Problem> {
    let waiting = waiting(engine, arrival).await?;
    if waiting.is_empty() {
        return Ok("Nothing waits for a decision here.".to_owned());
    }
    let mut text = String::from("Waiting for a decision:");
    for approval in waiting {
        let what = if approval.tool.is_empty() {
            approval.kind.as_str()
        } else {
            &approval.tool
        };
        text.push_str(&format!(
            "\n- {} {} ({} risk)",
            approval.short_code,
            limit_line(what, 60),
            approval.risk
        ));
    }
    Ok(text)
}
