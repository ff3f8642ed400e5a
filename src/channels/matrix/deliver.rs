//! One outbound part to a room, and exactly what is known about it afterwards.
//!
//! Every send has the key of its part, so the homeserver shows it once, however often it comes.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::Value;

use crate::channels::card;
use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::matrix::api::Api;
use crate::channels::matrix::content::{self, Kind};
use crate::channels::matrix::events::{Me, parse_conversation};
use crate::channels::matrix::rooms::Rooms;
use crate::channels::pacing::Pacing;
use crate::channels::parts::{self, Repetition};
use crate::channels::platform::Platform;
use crate::channels::sync::lock;
use crate::client::channel_port::ChannelPort;
use crate::protocol::artifact::SentFile;
use crate::protocol::bridge::{FileRequest, Outbound, OutboundBody, SendOutcome};
use crate::protocol::channel::LengthUnit;
use crate::protocol::ids::OutboxId;
use crate::text::chunk::chunk;

/// The type of everything that we send.
const MESSAGE: &str = "m.room.message";
/// Bytes of source of a piece, where a part turns out too long for one event: every byte of it may become six.
const LAST_RESORT_PIECE: usize = 4_000;
/// Rooms of two that are looked into for the one person.
const MAX_LOOKS: usize = 20;
/// Times the interval of edits grows when the homeserver asked to wait.
const SLOWER: u32 = 4;

/// Rates of one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intervals {
    /// Between sends in one room.
    pub send: Duration,
    /// Between edits in one room: each is an event that stays for ever.
    pub edit: Duration,
}

/// Sends parts for one account.
pub struct Deliverer {
    /// Platform side.
    pub api: Api,
    /// Engine side.
    pub port: Arc<dyn ChannelPort>,
    /// Where exchanges are noted.
    pub health: Arc<HealthLog>,
    /// Who we are.
    pub me: Me,
    /// What is known of rooms.
    pub rooms: Arc<Rooms>,
    /// Survives reconnects: the homeserver's limits do too.
    pub pacing: Arc<Pacing>,
    /// How often.
    pub intervals: Intervals,
    /// The homeserver asked to wait since we connected.
    pub was_limited: AtomicBool,
    /// Rooms that see us type.
    pub typed: Mutex<HashSet<String>>,
    /// Held while a room for direct messages is looked for or made.
    pub opening: tokio::sync::Mutex<()>,
}

/// Where a part goes.
struct Place {
    room: String,
    thread: Option<String>,
}

/// Why a part was not sent.
enum NotSent {
    /// A call that shows nothing in a room failed.
    Before(CallError),
    /// The send itself failed.
    Send(CallError),
    /// It is not sent, whatever the homeserver says.
    Never(String),
}

impl Deliverer {
    /// Where a conversation is: a room or a thread, or the room in which a user reads direct messages.
    async fn place(&self, conversation: &str) -> Result<Place, NotSent> {
        let (room, thread) = parse_conversation(conversation);
        if room.starts_with('@') {
            let room = self.direct_room(room).await.map_err(NotSent::Before)?;
            return Ok(Place { room, thread: None });
        }
        if !room.starts_with('!') {
            return Err(NotSent::Never("the conversation is not a room".to_owned()));
        }
        let now = self.rooms.current(room);
        let place = Place {
            // A thread does not move to the room that replaces its own.
            thread: thread.filter(|_| now == room).map(str::to_owned),
            room: now,
        };
        if self
            .rooms
            .room(&place.room)
            .is_some_and(|room| room.encrypted)
        {
            return Err(NotSent::Never(
                "the room is encrypted, and this channel can only write unencrypted".to_owned(),
            ));
        }
        Ok(place)
    }

    /// The room in which a user reads direct messages; it is made when there is none.
    async fn direct_room(&self, user: &str) -> Result<String, CallError> {
        let _alone = self.opening.lock().await;
        let candidates = self.rooms.direct_candidates(user);
        if let Some(room) = candidates.certain {
            return Ok(room);
        }
        for room in candidates.possible.iter().take(MAX_LOOKS) {
            match self.api.joined_members(room).await {
                Ok(members) if members.iter().any(|member| member == user) => {
                    self.rooms.made(user, room);
                    return Ok(room.clone());
                }
                Ok(_) | Err(CallError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let room = self.api.create_direct_room(user).await?;
        self.rooms.made(user, &room);
        Ok(room)
    }

    async fn send_part(&self, part: &Outbound) -> Result<SendOutcome, NotSent> {
        let place = match &part.body {
            OutboundBody::CardUpdate { external_ref, .. } => message_place(external_ref)?,
            OutboundBody::Markdown { .. } | OutboundBody::File(_) | OutboundBody::Card { .. } => {
                self.place(&part.conversation).await?
            }
        };
        let refs = |events: Vec<String>| -> Vec<String> {
            let refs = events.iter().map(|event| format!("{}/{event}", place.room));
            refs.collect()
        };
        match &part.body {
            OutboundBody::Markdown { text } => {
                let events = self.send_markdown(part, &place, text).await?;
                self.end_typing(&place.room).await;
                Ok(self.sent(refs(events)))
            }
            OutboundBody::File(file) => {
                let content = self.upload(file).await?;
                let event = self.send_one(part, &place, content).await?;
                Ok(self.sent(refs(vec![event])))
            }
            OutboundBody::Card { approval, buttons } => {
                let (content, whole) = content::question(approval, buttons);
                let event = self.send_one(part, &place, content).await?;
                Ok(parts::accepted(&self.health, refs(vec![event]), whole))
            }
            OutboundBody::CardUpdate {
                approval,
                external_ref,
            } => {
                let event = place.thread.as_deref().unwrap_or_default();
                let text = content::lines(&card::outcome(approval));
                let edited = content::edit(event, content::message(&text, Kind::Call));
                self.send_event(&place.room, &part.idempotency_key, &edited)
                    .await?;
                Ok(self.sent(vec![external_ref.clone()]))
            }
        }
    }

    /// A message, in as many events as it needs. Each has a key of its own, so doing it again doubles none.
    async fn send_markdown(
        &self,
        part: &Outbound,
        place: &Place,
        source: &str,
    ) -> Result<Vec<String>, NotSent> {
        let whole = content::message(&content::markdown(source), Kind::Notice);
        if content::fits(&whole) {
            return Ok(vec![self.send_one(part, place, whole).await?]);
        }
        let mut events = Vec::new();
        for (at, piece) in chunk(source, LAST_RESORT_PIECE, LengthUnit::Bytes)
            .iter()
            .enumerate()
        {
            let mut content = content::message(&content::markdown(piece), Kind::Notice);
            let reply_to = part.reply_to.as_deref().filter(|_| at == 0);
            content::relate(&mut content, place.thread.as_deref(), reply_to);
            let key = format!("{}.{at}", part.idempotency_key);
            events.push(self.send_event(&place.room, &key, &content).await?);
        }
        Ok(events)
    }

    async fn send_one(
        &self,
        part: &Outbound,
        place: &Place,
        mut content: Value,
    ) -> Result<String, NotSent> {
        content::relate(
            &mut content,
            place.thread.as_deref(),
            part.reply_to.as_deref(),
        );
        let key = &part.idempotency_key;
        match self.send_event(&place.room, key, &content).await {
            // Not every event can begin a thread.
            Err(NotSent::Send(CallError::Refused { code: 400, .. })) if place.thread.is_some() => {
                if let Some(fields) = content.as_object_mut() {
                    fields.remove("m.relates_to");
                }
                content::relate(&mut content, None, part.reply_to.as_deref());
                self.send_event(&place.room, &format!("{key}.r"), &content)
                    .await
            }
            done => done,
        }
    }

    async fn send_event(&self, room: &str, key: &str, content: &Value) -> Result<String, NotSent> {
        self.api
            .send(room, MESSAGE, key, content)
            .await
            .map_err(NotSent::Send)
    }

    async fn upload(&self, file: &SentFile) -> Result<Value, NotSent> {
        let content = self
            .port
            .file_content(file.artifact.hash)
            .await
            .map_err(|problem| NotSent::Never(format!("the file cannot be read: {problem}")))?;
        let media_type = &file.artifact.media_type;
        let mxc = self
            .api
            .upload(&file.name, media_type, content)
            .await
            .map_err(NotSent::Before)?;
        Ok(content::file(file, &mxc))
    }

    /// Nobody waits for more once the answer is there.
    async fn end_typing(&self, room: &str) {
        let was_typing = lock(&self.typed).remove(room);
        if was_typing && let Err(error) = self.api.typing(room, &self.me.user, false).await {
            tracing::debug!(%error, "cannot end the typing indicator; it stays for some seconds");
        }
    }

    fn sent(&self, external_refs: Vec<String>) -> SendOutcome {
        parts::accepted(&self.health, external_refs, true)
    }

    /// Tells health and pacing about a failed call.
    fn note(&self, error: &CallError) {
        if let Some(rest) = error.retry_after() {
            self.was_limited.store(true, Ordering::Relaxed);
            self.pacing.freeze_all(rest, Instant::now());
        }
        self.health.send_failed(error, || error.to_string());
    }

    /// What a failure means for the part.
    fn ended(&self, part: &Outbound, failure: NotSent) -> SendOutcome {
        let (error, is_sending) = match failure {
            NotSent::Before(error) => (error, false),
            NotSent::Send(error) => (error, true),
            NotSent::Never(error) => return SendOutcome::Failed { error },
        };
        self.note(&error);
        let (now, said) = (self.health.now(), error.to_string());
        let repetition = if is_sending {
            Repetition::Shows
        } else {
            Repetition::Harmless
        };
        if let CallError::Refused { code, name, .. } = &error {
            match name.as_str() {
                // The token is at fault, not the message: the sync stops the channel with the fix.
                _ if *code == 401 => return parts::retry_in(60, now, said),
                // The homeserver has reached a limit of its own.
                "M_RESOURCE_LIMIT_EXCEEDED" => return parts::retry_in(300, now, said),
                "M_FORBIDDEN" => {
                    return parts::never(format!(
                        "the bot may not write there (was it removed?): {said}"
                    ));
                }
                _ => {}
            }
        }
        parts::failed(&error, repetition, part.attempts, now, said)
    }

    /// The room of a conversation, where no call is needed to know it.
    fn known_room(&self, conversation: &str) -> Option<Place> {
        let (room, thread) = parse_conversation(conversation);
        let (room, thread) = if room.starts_with('@') {
            (self.rooms.direct_candidates(room).certain?, None)
        } else {
            let now = self.rooms.current(room);
            let thread = thread.filter(|_| now == room).map(str::to_owned);
            (now, thread)
        };
        let known = self.rooms.room(&room)?;
        (!known.encrypted).then_some(Place { room, thread })
    }

    /// The destination that pacing counts.
    fn destination(&self, conversation: &str) -> String {
        let (room, _) = parse_conversation(conversation);
        self.rooms.current(room)
    }

    fn edit_interval(&self) -> Duration {
        if self.was_limited.load(Ordering::Relaxed) {
            self.intervals.edit * SLOWER
        } else {
            self.intervals.edit
        }
    }

    /// Heeds a 429 for something that nobody misses.
    fn note_decoration(&self, error: &CallError) {
        if error.retry_after().is_some() {
            self.note(error);
        }
    }
}

/// A key that no send ever had.
fn fresh_key() -> String {
    OutboxId::generate().to_string()
}

/// Where a message is that we sent: `room/event`.
fn message_place(message_ref: &str) -> Result<Place, NotSent> {
    match parse_conversation(message_ref) {
        (room, Some(event)) => Ok(Place {
            room: room.to_owned(),
            thread: Some(event.to_owned()),
        }),
        (_, None) => Err(NotSent::Never(
            "the message's id is not one of this channel's".to_owned(),
        )),
    }
}

#[async_trait]
impl Platform for Deliverer {
    fn may_send(&self, conversation: &str) -> Result<(), Duration> {
        let destination = self.destination(conversation);
        self.pacing
            .take(&destination, self.intervals.send, Instant::now())
    }

    async fn deliver(&self, part: &Outbound) -> SendOutcome {
        match self.send_part(part).await {
            Ok(outcome) => outcome,
            Err(failure) => self.ended(part, failure),
        }
    }

    async fn typing(&self, conversation: &str) {
        let Some(place) = self.known_room(conversation) else {
            return;
        };
        if !self.pacing.take_typing(&place.room, Instant::now()) {
            return;
        }
        lock(&self.typed).insert(place.room.clone());
        match self.api.typing(&place.room, &self.me.user, true).await {
            Err(error @ CallError::Limited { .. }) => self.note(&error),
            // A room that refuses us says so at the next message too.
            Err(CallError::Refused { .. }) => {}
            answer => self.health.optional("typing", &answer),
        }
    }

    fn may_show_progress(&self, conversation: &str) -> bool {
        let destination = self.destination(conversation);
        self.pacing
            .take_progress(&destination, self.edit_interval(), Instant::now())
    }

    async fn show_progress(
        &self,
        conversation: &str,
        shown: Option<&str>,
        text: &str,
    ) -> Option<String> {
        let mut content = content::message(&content::markdown(text), Kind::Notice);
        let key = fresh_key();
        let answer = match shown {
            Some(message_ref) => {
                let (room, event) = parse_conversation(message_ref);
                let edited = content::edit(event?, content);
                self.api
                    .send(room, MESSAGE, &key, &edited)
                    .await
                    .map(|_| message_ref.to_owned())
            }
            None => {
                let place = self.known_room(conversation)?;
                content::relate(&mut content, place.thread.as_deref(), None);
                let sent = self.api.send(&place.room, MESSAGE, &key, &content).await;
                sent.map(|event| format!("{}/{event}", place.room))
            }
        };
        match answer {
            Ok(message_ref) => Some(message_ref),
            Err(error) => {
                self.note_decoration(&error);
                shown.map(str::to_owned)
            }
        }
    }

    async fn remove_progress(&self, _conversation: &str, message_ref: &str) {
        let (room, Some(event)) = parse_conversation(message_ref) else {
            return;
        };
        // One that stays says what is over: it goes after the rest that the homeserver asks for.
        for _ in 0..2 {
            match self.api.redact(room, event, &fresh_key()).await {
                Err(error @ CallError::Limited { retry_after, .. }) => {
                    self.note(&error);
                    tokio::time::sleep(retry_after.min(Duration::from_secs(30))).await;
                }
                Ok(()) | Err(_) => break,
            }
        }
    }

    async fn fetch(&self, request: &FileRequest) -> Result<Vec<u8>, CallError> {
        let content = self
            .api
            .download(&request.reference, request.max_bytes)
            .await?;
        content.ok_or_else(|| CallError::Refused {
            code: 413,
            name: "M_TOO_LARGE".to_owned(),
            detail: format!("it has more than {} MiB", request.max_bytes / (1024 * 1024)),
            moved_to: None,
        })
    }
}
