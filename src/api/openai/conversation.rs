//! Which session a request goes to. The session's own turns are the record: nothing is kept beside them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};
use ulid::Ulid;

use crate::api::error::Refusal;
use crate::api::openai::dialogue::Dialogue;
use crate::api::openai::history::{Fit, Standing, Turn, fit, joined};
use crate::api::state::Api;
use crate::protocol::artifact::{ArtifactHash, NewAttachment};
use crate::protocol::chat::{EarlierMessage, EarlierRole, own_prefix};
use crate::protocol::command::Actor;
use crate::protocol::enums::SessionState;
use crate::protocol::hex::hex;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{
    GetContinuation, GetSession, ListContinuations, ListSessions, ListSteps,
};
use crate::protocol::session::{Continuation, Session, Step, StepBody};
use crate::protocol::snapshot::PageRequest;

/// Most places of a history at which a session is looked for that began there.
const MAX_LOOKS: usize = 64;
/// Sessions of one beginning that are compared.
const MAX_SESSIONS: u32 = 20;
/// Turns that are read at a time.
const PAGE: u32 = 200;
/// Hexadecimal digits of a digest in a key.
const DIGITS: usize = 16;

/// Where a message goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The session that goes on; none = a new one.
    pub session_id: Option<SessionId>,
    /// Key of the conversation without the caller's prefix.
    pub key: String,
    /// What the session does not know of the conversation.
    pub earlier: Vec<EarlierMessage>,
    /// The turns before, whose ends the client has not seen.
    pub unseen: Vec<ContinuationId>,
    /// The turn that answers this very message already.
    pub repeats: Option<Continuation>,
}

/// How a client names its conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Which conversation it is, in words of the client.
    pub conversation: Option<String>,
    /// What keeps conversations apart that say the same: people behind one token, chats of a program.
    pub apart: Vec<String>,
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize()).chars().take(DIGITS).collect()
}

/// What the keys of a conversation begin with.
fn names_part(names: &Names) -> String {
    let apart: Vec<&str> = names.apart.iter().map(String::as_str).collect();
    match &names.conversation {
        Some(name) => format!(
            "k{}.",
            digest(&[&[name.as_str()], apart.as_slice()].concat())
        ),
        None if apart.is_empty() => "h.".to_owned(),
        None => format!("h{}.", digest(&apart)),
    }
}

/// What tells sessions apart by how they begin: all that was said before, and the first message.
fn beginning(before: &[EarlierMessage], text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for message in before {
        parts.push(match message.role {
            EarlierRole::User => "user",
            EarlierRole::Assistant => "assistant",
        });
        parts.push(&message.text);
    }
    parts.push(text);
    digest(&parts)
}

/// Whether a turn has exactly the files of a request. A turn that still waits for a file has not.
fn has_files(turn: &Continuation, files: &[NewAttachment]) -> bool {
    if turn.attachments.len() != files.len() {
        return false;
    }
    let hashes = files.iter().map(|file| {
        let content = BASE64.decode(&file.data).ok()?;
        Some(ArtifactHash::from_bytes(Sha256::digest(&content).into()))
    });
    let Some(mut sent) = hashes.collect::<Option<Vec<_>>>() else {
        return false;
    };
    let attachments = turn.attachments.iter();
    let mut stored: Vec<ArtifactHash> = attachments.map(|file| file.artifact.hash).collect();
    sent.sort_unstable();
    stored.sort_unstable();
    sent == stored
}

impl Place {
    /// A session of its own.
    pub fn fresh(names: &Names, dialogue: &Dialogue) -> Self {
        Self {
            session_id: None,
            key: format!(
                "{}{}.{}",
                names_part(names),
                beginning(&dialogue.earlier, &dialogue.text),
                Ulid::generate()
            ),
            earlier: dialogue.earlier.clone(),
            unseen: Vec::new(),
            repeats: None,
        }
    }
}

/// The engine, as one caller has it on one channel.
pub struct Conversations<'a> {
    /// The engine.
    pub api: &'a Api,
    /// Who calls.
    pub actor: &'a Actor,
    /// The channel whose agent answers.
    pub channel: &'a str,
}

impl Conversations<'_> {
    /// Where a message goes whose client sends the history of its conversation.
    pub async fn place(&self, names: &Names, dialogue: &Dialogue) -> Result<Place, Refusal> {
        let begins = names_part(names);
        if names.conversation.is_some() && dialogue.earlier.is_empty() {
            return self.named(&begins, names, dialogue).await;
        }
        let mut places: Vec<usize> = (0..=dialogue.earlier.len())
            .filter(|at| {
                let message = dialogue.earlier.get(*at);
                message.is_none_or(|message| message.role == EarlierRole::User)
            })
            .collect();
        // Most sessions know their conversation from its first message on, most others since a short time.
        if places.len() > 1 {
            places.get_mut(1..).unwrap_or_default().reverse();
        }
        let mut repeats: Option<Continuation> = None;
        for at in places.into_iter().take(MAX_LOOKS) {
            let (before, since) = dialogue.earlier.split_at(at);
            let first = since
                .first()
                .map_or(dialogue.text.as_str(), |first| &first.text);
            let prefix = format!("{begins}{}.", beginning(before, first));
            for session in self.sessions(&prefix).await? {
                let turns = self.turns(session.id).await?;
                match fit(&turns, since, &dialogue.text) {
                    // A conversation that begins like another is not that one.
                    Fit::GoesOn { .. } if since.is_empty() => {}
                    Fit::GoesOn { unseen } => {
                        return Ok(Place {
                            repeats,
                            ..self.goes_on(&session, unseen)?
                        });
                    }
                    Fit::Repeats { turn, unseen } => {
                        let Some(turn) = self.repeated(turn, dialogue).await? else {
                            continue;
                        };
                        if !turn.state.is_terminal() {
                            return Ok(Place {
                                repeats: Some(turn),
                                unseen,
                                ..Place::fresh(names, dialogue)
                            });
                        }
                        repeats = repeats.or(Some(turn));
                    }
                    Fit::Other => {}
                }
            }
        }
        Ok(Place {
            repeats,
            ..Place::fresh(names, dialogue)
        })
    }

    /// Where a message goes whose client names the conversation and sends nothing of it.
    async fn named(
        &self,
        begins: &str,
        names: &Names,
        dialogue: &Dialogue,
    ) -> Result<Place, Refusal> {
        let Some(session) = self.sessions(begins).await?.into_iter().next() else {
            return Ok(Place::fresh(names, dialogue));
        };
        let turns = self.turns(session.id).await?;
        let last = turns.last();
        // The client sends its message again because it has heard nothing.
        let before = turns.len().saturating_sub(1);
        let is_open = last.is_some_and(|turn| turn.standing == Standing::Open);
        if is_open
            && let Fit::Repeats { turn, .. } =
                fit(turns.get(before..).unwrap_or_default(), &[], &dialogue.text)
            && let Some(turn) = self.repeated(turn, dialogue).await?
        {
            let place = self.goes_on(&session, Vec::new())?;
            return Ok(Place {
                repeats: Some(turn),
                ..place
            });
        }
        let unseen = last.filter(|_| is_open).map(|turn| turn.id);
        self.goes_on(&session, unseen.into_iter().collect())
    }

    /// Where a message goes that follows a turn of the caller.
    pub async fn after(&self, turn: &Continuation, dialogue: &Dialogue) -> Result<Place, Refusal> {
        let mut turns = self.turns(turn.session_id).await?;
        let at = turns.iter().position(|one| one.id == turn.id);
        let behind = turns.split_off(at.map_or(turns.len(), |at| at + 1));
        let id = turn.session_id;
        let session = self.api.client.call(GetSession { id }).await?;
        let is_newest = behind
            .iter()
            .all(|turn| turn.standing == Standing::Unanswered);
        let repeats = match fit(&behind, &[], &dialogue.text) {
            Fit::Repeats { turn, .. } => self.repeated(turn, dialogue).await?,
            Fit::GoesOn { .. } | Fit::Other => None,
        };
        if session.state == SessionState::Active && is_newest {
            let is_open = turns
                .last()
                .is_some_and(|turn| turn.standing == Standing::Open);
            let unseen = Some(turn.id).filter(|_| is_open);
            return self.goes_on(&session, unseen.into_iter().collect());
        }
        let mut told = Dialogue {
            earlier: Vec::new(),
            ..dialogue.clone()
        };
        for turn in turns {
            if let Standing::Answered { answer, .. } = turn.standing {
                told.earlier.push(EarlierMessage {
                    role: EarlierRole::User,
                    text: turn.request,
                });
                told.earlier.push(EarlierMessage {
                    role: EarlierRole::Assistant,
                    text: answer,
                });
            }
        }
        Ok(Place {
            repeats,
            ..Place::fresh(&Names::default(), &told)
        })
    }

    fn goes_on(&self, session: &Session, unseen: Vec<ContinuationId>) -> Result<Place, Refusal> {
        let prefix = own_prefix(self.actor);
        let key = session.conversation.strip_prefix(&prefix);
        let key = key.ok_or_else(|| Problem::not_found("session", session.id))?;
        Ok(Place {
            session_id: Some(session.id),
            key: key.to_owned(),
            earlier: Vec::new(),
            unseen,
            repeats: None,
        })
    }

    /// Active sessions of the caller whose key goes on like this, newest first.
    async fn sessions(&self, key: &str) -> Result<Vec<Session>, Refusal> {
        let query = ListSessions {
            state: Some(SessionState::Active),
            channel: Some(self.channel.to_owned()),
            prefix: Some(own_prefix(self.actor) + key),
            page: PageRequest {
                limit: Some(MAX_SESSIONS),
                cursor: None,
            },
        };
        Ok(self.api.client.call(query).await?.items)
    }

    /// A turn of the caller. One of somebody else does not exist.
    pub async fn turn(&self, id: ContinuationId) -> Result<Continuation, Refusal> {
        let found = self.api.client.call(GetContinuation { id }).await;
        match found {
            Ok(turn) if turn.conversation.starts_with(&own_prefix(self.actor)) => Ok(turn),
            Ok(_) => Err(Problem::not_found("response", id).into()),
            Err(problem) if problem.kind == ProblemKind::NotFound => {
                Err(Problem::not_found("response", id).into())
            }
            Err(problem) => Err(problem.into()),
        }
    }

    /// A turn with the text of the message, where it has its files too. The same text about another file is no repeat.
    async fn repeated(
        &self,
        id: ContinuationId,
        dialogue: &Dialogue,
    ) -> Result<Option<Continuation>, Refusal> {
        let turn = self.turn(id).await?;
        Ok(has_files(&turn, &dialogue.files).then_some(turn))
    }

    /// The turns of a session, oldest first.
    async fn turns(&self, session_id: SessionId) -> Result<Vec<Turn>, Refusal> {
        let mut turns = Vec::new();
        let mut cursor = None;
        loop {
            let query = ListContinuations {
                state: None,
                session_id: Some(session_id),
                page: PageRequest {
                    limit: Some(PAGE),
                    cursor,
                },
            };
            let page = self.api.client.call(query).await?;
            for turn in page.items {
                turns.push(self.known(turn).await?);
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        turns.reverse();
        Ok(turns)
    }

    async fn known(&self, turn: Continuation) -> Result<Turn, Refusal> {
        let standing = match turn.response {
            _ if !turn.state.is_terminal() => Standing::Open,
            None => Standing::Unanswered,
            Some(answer) => Standing::Answered {
                // A turn of one step says nothing but its answer, which is a step by itself.
                whole: if turn.steps <= 2 {
                    answer.text.clone()
                } else {
                    whole(&steps(self.api, turn.id).await?)
                },
                answer: answer.text,
            },
        };
        Ok(Turn {
            id: turn.id,
            request: turn.request.text,
            standing,
        })
    }
}

/// The steps of a turn.
pub async fn steps(api: &Api, continuation_id: ContinuationId) -> Result<Vec<Step>, Refusal> {
    Ok(api.client.call(ListSteps { continuation_id }).await?.items)
}

/// What the agent said in a turn, step by step: the number of each, and its text. The answer stands for the last one.
pub fn texts(steps: &[Step]) -> Vec<(u32, &str)> {
    let mut texts: Vec<(u32, &str)> = Vec::new();
    for step in steps {
        match &step.body {
            StepBody::Model { text, .. } => texts.push((step.n, text)),
            StepBody::Final { text, .. } => match texts.last_mut() {
                Some(last) if step.body.is_answer() => last.1 = text,
                Some(_) | None => texts.push((step.n, text)),
            },
            StepBody::ToolResult { .. }
            | StepBody::OperatorNote { .. }
            | StepBody::Error { .. } => {}
        }
    }
    texts
}

/// Everything the agent said in a turn.
pub fn whole(steps: &[Step]) -> String {
    joined(texts(steps).into_iter().map(|(_, text)| text))
}
