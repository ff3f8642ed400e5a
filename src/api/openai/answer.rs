//! From a request to the turn that answers it, and what both interfaces say of a turn.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use tokio::time::Instant;

use crate::api::auth::Caller;
use crate::api::error::Refusal;
use crate::api::openai::content::{add_text, wrong};
use crate::api::openai::conversation::{Conversations, Names, Place, steps};
use crate::api::openai::dialogue::Dialogue;
use crate::api::openai::follow::{
    Ended, Follower, failure, is_cut, note, standing_note, waiting, waiting_note,
};
use crate::api::openai::models;
use crate::api::request::Call;
use crate::api::state::Api;
use crate::api::wait;
use crate::clock::Clock;
use crate::protocol::command::BudgetRequest;
use crate::protocol::enums::ContinuationState;
use crate::protocol::enums::Surface;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::options::{ModelParameters, TurnOptions};
use crate::protocol::request::{Converse, GetContinuation};
use crate::protocol::session::Continuation;

/// Seconds that a request without a stream waits, where it does not say how long.
const USUAL_WAIT: u64 = 120;
/// Longest such wait, in seconds.
const LONGEST_WAIT: u64 = wait::LONGEST;
/// Names the conversation of a request.
const CONVERSATION: &str = "leverframe-conversation";
/// The name of no conversation: the session ends with the turn.
const NO_CONVERSATION: &str = "none";
/// Parameters of the request that had no effect.
const IGNORED: HeaderName = HeaderName::from_static("leverframe-ignored");
/// The session that has the turn.
const SESSION: HeaderName = HeaderName::from_static("leverframe-session");
/// The turn.
const CONTINUATION: HeaderName = HeaderName::from_static("leverframe-continuation");
/// Which try of a request it is: OpenAI's libraries count from 0.
const RETRY_COUNT: &str = "x-stainless-retry-count";
/// How long after the end of a turn a second try is taken for a try of the same, in milliseconds.
const RETRY_MILLIS: u64 = 15 * 60 * 1000;
/// What Open WebUI says of a request where it is told to.
const OPEN_WEBUI: [&str; 2] = ["x-openwebui-user-id", "x-openwebui-chat-id"];
/// How the messages begin that Open WebUI sends for itself: for titles, tags and suggestions.
const OPEN_WEBUI_TASK: &str = "### Task:";
/// What such a message has.
const OPEN_WEBUI_HISTORY: &str = "<chat_history>";

/// What a request asks for, whichever interface it came through.
#[derive(Debug, Default)]
pub struct Asked {
    /// The channel whose agent answers.
    pub model: String,
    /// What it says.
    pub dialogue: Dialogue,
    /// Where messages stand in the body.
    pub field: &'static str,
    /// Words of the client that name the conversation.
    pub conversation: Option<String>,
    /// The turn that it follows.
    pub previous: Option<ContinuationId>,
    /// What keeps conversations apart that say the same.
    pub apart: Vec<String>,
    /// Sampling.
    pub parameters: ModelParameters,
    /// Lower limits.
    pub budgets: BudgetRequest,
    /// Parameters that have no effect.
    pub ignored: Vec<String>,
}

/// A turn that answers a request.
#[derive(Debug)]
pub struct Begun {
    /// As it was when the request came.
    pub turn: Continuation,
    /// The turns before, whose ends the client has not seen.
    pub unseen: Vec<ContinuationId>,
    /// Parameters that have no effect.
    ignored: Vec<String>,
}

fn header<'a>(call: &'a Call, name: &str) -> Option<&'a str> {
    let value = call.headers.get(name)?.to_str().ok()?.trim();
    (!value.is_empty()).then_some(value)
}

/// How long a request without a stream waits.
pub fn patience(call: &Call) -> Duration {
    let wait = call.headers.get("prefer").and_then(wait::preferred);
    Duration::from_secs(wait.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT))
}

/// Whether a turn ended so short a time ago that a library can still repeat its request.
fn is_recent(turn: &Continuation) -> bool {
    Clock::System.now().millis_since(turn.updated_at) < RETRY_MILLIS
}

/// Whether a client asks for itself and not for a person.
fn is_task(dialogue: &Dialogue) -> bool {
    dialogue.earlier.is_empty()
        && dialogue.text.starts_with(OPEN_WEBUI_TASK)
        && dialogue.text.contains(OPEN_WEBUI_HISTORY)
}

/// Finds the turn that answers a request, or begins it.
pub async fn begin(api: &Arc<Api>, call: &Call, asked: Asked) -> Result<Begun, Refusal> {
    let actor = call.actor()?;
    let channel = models::channel(api, actor, &asked.model).await?.name;
    let conversations = Conversations {
        api,
        actor,
        channel: &channel,
    };
    let mut names = Names {
        conversation: asked.conversation,
        apart: asked.apart,
    };
    names.apart.extend(
        OPEN_WEBUI
            .iter()
            .filter_map(|name| header(call, name).map(str::to_owned)),
    );
    let named = header(call, CONVERSATION);
    let is_task = is_task(&asked.dialogue);
    let once = is_task || named == Some(NO_CONVERSATION);
    if let Some(name) = named {
        names.conversation = Some(name.to_owned());
    }
    let place = match asked.previous {
        _ if once => Place::fresh(&names, &asked.dialogue),
        Some(id) => {
            let turn = conversations.turn(id).await?;
            if turn.channel != channel {
                let problem = format!("the previous response belongs to `{}`", turn.channel);
                return Err(wrong("model", &problem));
            }
            conversations.after(&turn, &asked.dialogue).await?
        }
        None => conversations.place(&names, &asked.dialogue).await?,
    };
    let key = call.idempotency_key()?;
    let is_retry = header(call, RETRY_COUNT).is_some_and(|count| count != "0");
    if key.is_none()
        && let Some(turn) = place.repeats
        && (!turn.state.is_terminal() || (is_retry && is_recent(&turn)))
    {
        return Ok(Begun {
            turn,
            unseen: place.unseen,
            ignored: asked.ignored,
        });
    }
    let command = Converse {
        channel,
        session_id: place.session_id,
        conversation: place.key,
        options: TurnOptions {
            // A title is made of what was said, not of files.
            allow_tools: is_task.then(Vec::new),
            hints: asked.dialogue.hints(asked.field)?,
            parameters: asked.parameters,
            ..TurnOptions::default()
        },
        text: asked.dialogue.text,
        earlier: place.earlier,
        once,
        budgets: asked.budgets,
        attachments: asked.dialogue.files,
    };
    let envelope = call.envelope_from(command, Surface::Http, key)?;
    let accepted = api.client.execute(envelope).await?;
    let id = accepted.continuation_id;
    let turn = api.client.call(GetContinuation { id }).await?;
    Ok(Begun {
        // A repeated request has what it had before, and no other.
        unseen: if accepted.repeated {
            Vec::new()
        } else {
            place.unseen
        },
        turn,
        ignored: asked.ignored,
    })
}

impl Begun {
    /// Follows it.
    pub fn follower(&self, api: &Arc<Api>, call: &Call) -> Follower {
        let before = self.unseen.iter().copied();
        let turns = before.chain([self.turn.id]);
        let session = self.turn.session_id;
        let turns: Vec<(ContinuationId, SessionId)> = turns.map(|id| (id, session)).collect();
        Follower::new(Arc::clone(api), call.caller.clone(), turns)
    }

    /// Says in the headers of an answer where its turn is, and what had no effect.
    pub fn mark(&self, response: &mut Response) {
        let headers = response.headers_mut();
        let mut say = |name: HeaderName, text: String| {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(name, value);
            }
        };
        say(SESSION, self.turn.session_id.to_string());
        say(CONTINUATION, self.turn.id.to_string());
        if !self.ignored.is_empty() {
            say(IGNORED, self.ignored.join(", "));
        }
    }

    /// Waits for the end of it.
    pub async fn settled(
        &self,
        api: &Api,
        call: &Call,
        wait: Duration,
    ) -> Result<Settled, Refusal> {
        let deadline = Instant::now() + wait;
        let mut text = String::new();
        for id in &self.unseen {
            let before = settle(api, *id, deadline).await?;
            match &before.response {
                _ if !before.state.is_terminal() => {
                    add_text(&mut text, &standing(api, &before).await?);
                    return Settled::open(api, self.turn.id, text).await;
                }
                Some(answer) => add_text(&mut text, &answer.text),
                None => add_text(&mut text, &note("the last turn ended without an answer.")),
            }
        }
        let turn = settle(api, self.turn.id, deadline).await?;
        Settled::of(api, call.caller.as_ref(), turn, text).await
    }
}

/// What is known of a turn when its client gets an answer.
#[derive(Debug)]
pub struct Settled {
    /// The turn.
    pub turn: Continuation,
    /// What the client reads.
    pub text: String,
    /// Whether the answer was cut at the output limit.
    pub is_cut: bool,
}

impl Settled {
    /// A turn as it is, behind what the client reads before it.
    ///
    /// # Errors
    /// Why it has no answer, where it ended without one.
    pub async fn of(
        api: &Api,
        caller: Option<&Caller>,
        turn: Continuation,
        mut text: String,
    ) -> Result<Self, Refusal> {
        if !turn.state.is_terminal() {
            add_text(&mut text, &standing(api, &turn).await?);
            return Ok(Self {
                turn,
                text,
                is_cut: false,
            });
        }
        match &turn.response {
            Some(answer) if turn.state == ContinuationState::Completed => {
                add_text(&mut text, &answer.text);
            }
            Some(_) | None => return Err(failure(&turn, caller)),
        }
        let is_cut = is_cut(&steps(api, turn.id).await?);
        Ok(Self { turn, text, is_cut })
    }

    async fn open(api: &Api, id: ContinuationId, text: String) -> Result<Self, Refusal> {
        Ok(Self {
            turn: api.client.call(GetContinuation { id }).await?,
            text,
            is_cut: false,
        })
    }
}

impl From<Ended> for Settled {
    fn from(ended: Ended) -> Self {
        Self {
            turn: ended.turn,
            text: String::new(),
            is_cut: ended.is_cut,
        }
    }
}

/// The turn once it is ended or the time is over.
async fn settle(api: &Api, id: ContinuationId, deadline: Instant) -> Result<Continuation, Refusal> {
    let ended = tokio::select! {
        ended = tokio::time::timeout_at(deadline, wait::follow(api, id, ContinuationState::is_terminal)) => ended.ok(),
        () = api.shutdown.cancelled() => None,
    };
    match ended.transpose()?.flatten() {
        Some(turn) => Ok(turn),
        None => Ok(api.client.call(GetContinuation { id }).await?),
    }
}

/// What a client is told of a turn that it does not get the end of now.
async fn standing(api: &Api, turn: &Continuation) -> Result<String, Refusal> {
    let mut lines: Vec<String> = waiting(api, turn).await?.iter().map(waiting_note).collect();
    if lines.is_empty() {
        lines.extend(standing_note(turn.state));
    }
    lines.push(note(
        "the next request of this conversation gets the answer.",
    ));
    Ok(lines.join("\n"))
}
