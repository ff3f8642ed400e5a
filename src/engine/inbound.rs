//! What a bridge brings in: stored first, then routed. Authorisation is by the platform's sender id only.

use crate::engine::arrival::{Arrival, ingested};
use crate::engine::core::Engine;
use crate::engine::handle::messages;
use crate::engine::hooks::turn as hooks;
use crate::engine::inbound_files;
use crate::engine::slash;
use crate::protocol::bridge::{Inbound, InboundBody, InboundFile, Ingestion, Sender};
use crate::protocol::command::{DecisionRequest, MAX_TEXT_BYTES};
use crate::protocol::enums::{DecisionKind, Disposition};
use crate::protocol::problem::Problem;
use crate::store::commands::announce_emergency_stop::AnnounceEmergencyStop;
use crate::store::commands::ingest_turn::IngestTurn;
use crate::store::input::{SessionChoice, TurnCache};

/// Told to whoever writes during an emergency stop.
const HELD: &str = "The operator has stopped everything for now. Your message is stored; you hear more after the \
                    release.";
/// Told to whoever forwards, quotes or edits a command.
const INDIRECT: &str = "A forwarded, quoted or edited command has no effect; send it again.";

/// A text message.
struct Text<'a> {
    text: &'a str,
    /// To the bot alone.
    is_direct: bool,
    /// Meant for the bot.
    is_addressed: bool,
    /// Forwarded, quoted or edited.
    is_indirect: bool,
    files: &'a [InboundFile],
    group: Option<&'a str>,
}

impl Engine {
    /// Stores an inbound item durably and routes it. When this returns, the platform may be told.
    pub async fn ingest(&self, channel: &str, inbound: Inbound) -> Result<Ingestion, Problem> {
        let settings = self.channel(channel)?;
        let arrival = self.arrival(channel, settings, &inbound);
        match (&inbound.body, &inbound.sender) {
            (InboundBody::Other { what }, _) => self.ignore(&arrival, what, None).await,
            (_, None) => {
                self.ignore(&arrival, "the platform named no sender", None)
                    .await
            }
            (_, Some(sender)) if sender.is_bot => {
                self.ignore(&arrival, "written by a bot", None).await
            }
            (InboundBody::Click { token }, Some(_)) => self.click(&arrival, token).await,
            (
                InboundBody::Media {
                    what,
                    direct,
                    addressed,
                },
                Some(sender),
            ) => {
                self.media(&arrival, sender, what, *direct || *addressed)
                    .await
            }
            (
                InboundBody::Text {
                    text,
                    direct,
                    addressed,
                    indirect,
                    files,
                    group,
                },
                Some(sender),
            ) => {
                let text = Text {
                    text,
                    is_direct: *direct,
                    is_addressed: *direct || *addressed,
                    is_indirect: *indirect,
                    files,
                    group: group.as_deref(),
                };
                self.text(&arrival, sender, &text).await
            }
        }
    }

    /// During an emergency stop no answer leaves: a conversation is told so once, by the engine itself.
    async fn tell_held(&self, arrival: &Arrival<'_>) -> Result<(), Problem> {
        if !self.is_held() {
            return Ok(());
        }
        let reply = Some(HELD.to_owned());
        let mut record = self.record_row(arrival, Disposition::Command, "", reply);
        match record.notices.pop() {
            Some(notice) => self.write(AnnounceEmergencyStop { notice }).await,
            None => Ok(()),
        }
    }

    async fn text(
        &self,
        arrival: &Arrival<'_>,
        sender: &Sender,
        text: &Text<'_>,
    ) -> Result<Ingestion, Problem> {
        if !self.may_talk(arrival, sender).await? {
            return self.unknown_sender(arrival, sender, text.is_direct).await;
        }
        if !text.is_addressed
            && arrival.settings.require_mention
            && !self.joins(arrival, text.group).await?
        {
            return self.ignore(arrival, "not addressed to the bot", None).await;
        }
        let done = self.addressed(arrival, text).await?;
        self.tell_held(arrival).await?;
        Ok(done)
    }

    /// Whether an earlier message of the same group waits as a turn. Of an album, only one message has a text that could
    /// address the bot.
    async fn joins(&self, arrival: &Arrival<'_>, group: Option<&str>) -> Result<bool, Problem> {
        let Some(group) = group.map(str::to_owned) else {
            return Ok(false);
        };
        let (channel, conversation) = arrival.place();
        self.read_here(move |reader| reader.group_waits(&channel, &conversation, &group))
            .await
    }

    /// A text of somebody who may talk, meant for the bot.
    async fn addressed(
        &self,
        arrival: &Arrival<'_>,
        Text {
            text,
            is_indirect,
            files,
            group,
            ..
        }: &Text<'_>,
    ) -> Result<Ingestion, Problem> {
        if text.trim_start().starts_with('/') {
            if *is_indirect {
                // It is somebody else's word, or not what was first said: it may be read, and orders nothing.
                let (detail, reply) =
                    ("a forwarded, quoted or edited command", INDIRECT.to_owned());
                return self
                    .record(arrival, Disposition::Command, detail, Some(reply))
                    .await;
            }
            return slash::carry_out(self, arrival, text.trim()).await;
        }
        if text.trim().is_empty() && files.is_empty() {
            return self.ignore(arrival, "empty message", None).await;
        }
        if text.len() > MAX_TEXT_BYTES {
            let reply = format!(
                "That message is too long; at most {} KiB are read.",
                MAX_TEXT_BYTES / 1024
            );
            return self.ignore(arrival, "message too long", Some(reply)).await;
        }
        if let Some(refused) = self.one_too_many(arrival).await? {
            return Ok(refused);
        }
        let unheard = |file: &InboundFile| {
            let media_type = file.media_type.as_deref().unwrap_or_default();
            inbound_files::is_audio(media_type) && !inbound_files::is_transcribed(self, media_type)
        };
        if text.trim().is_empty() && files.iter().all(unheard) {
            let reply =
                "I cannot listen to recordings here. Please write what you need.".to_owned();
            return self
                .ignore(arrival, "a recording without text", Some(reply))
                .await;
        }
        let mut turn = self.turn(arrival, text, None);
        turn.files.remote = files.iter().map(inbound_files::checked).collect();
        turn.files.group = group.map(str::to_owned);
        self.take_up(turn).await
    }

    async fn ignore(
        &self,
        arrival: &Arrival<'_>,
        detail: &str,
        reply: Option<String>,
    ) -> Result<Ingestion, Problem> {
        self.record(arrival, Disposition::Ignored, detail, reply)
            .await
    }

    /// Stores a turn and starts it.
    pub async fn take_up(&self, turn: IngestTurn) -> Result<Ingestion, Problem> {
        let waits = turn.retry_of.is_some() || !turn.files.remote.is_empty();
        let channel = turn.origin.channel.clone();
        let outcome = self.write(turn).await?;
        if waits {
            inbound_files::announce(self, &channel);
        }
        if !outcome.repeated
            && let Some(session) = outcome.session_id
        {
            self.wake(session);
        }
        Ok(ingested(&outcome, None))
    }

    /// A message without text and file: somebody who may talk here, and talks to the bot, is told that nobody reads it.
    async fn media(
        &self,
        arrival: &Arrival<'_>,
        sender: &Sender,
        what: &str,
        addressed: bool,
    ) -> Result<Ingestion, Problem> {
        let heard = addressed && self.may_talk(arrival, sender).await?;
        if heard && let Some(refused) = self.one_too_many(arrival).await? {
            return Ok(refused);
        }
        let reply = heard.then(|| {
            format!("I can read text and files, and this is {what}. Please write what you need.")
        });
        self.ignore(arrival, what, reply).await
    }

    /// Records a message that is one too many as ignored. Its sender is told, once a minute.
    pub async fn one_too_many(&self, arrival: &Arrival<'_>) -> Result<Option<Ingestion>, Problem> {
        let limited = hooks::limit_message(self, arrival.channel, &arrival.origin.requester);
        let Some((over, audit)) = limited else {
            return Ok(None);
        };
        let reply = over
            .first
            .then(|| format!("This message was not read: {}.", over.reason));
        let record = self.record_row(arrival, Disposition::Ignored, over.reason, reply);
        let outcome = match audit {
            Some(audit) => self.store.write((record, audit)).await.map(|both| both.0),
            None => self.store.write(record).await,
        };
        Ok(Some(ingested(&outcome?, None)))
    }

    /// A message as a turn.
    pub fn turn(
        &self,
        arrival: &Arrival<'_>,
        text: &str,
        retry_of: Option<crate::protocol::ids::ContinuationId>,
    ) -> IngestTurn {
        let max_queue = arrival.settings.max_queue;
        let origin = arrival.origin.clone();
        let text = self.redactor.redact(text).into_owned();
        IngestTurn {
            retry_of,
            queue_full_notice: Some(arrival.notice(format!(
                "{max_queue} messages wait already; please send this again after an answer."
            ))),
            title: arrival.inbound.conversation_title.clone(),
            cache: TurnCache {
                fresh: retry_of.is_some(),
                private: match &arrival.inbound.body {
                    InboundBody::Text { direct, .. } => *direct,
                    InboundBody::Click { .. }
                    | InboundBody::Media { .. }
                    | InboundBody::Other { .. } => true,
                },
            },
            ..messages::turn(self, origin, SessionChoice::Conversation, text)
        }
    }

    /// Whether this sender has not been refused on this channel before.
    pub async fn first_refusal(
        &self,
        arrival: &Arrival<'_>,
        detail: String,
    ) -> Result<bool, Problem> {
        let channel = arrival.channel.to_owned();
        self.read_here(move |reader| reader.refused_before(&channel, &detail))
            .await
            .map(|before| !before)
    }

    async fn click(&self, arrival: &Arrival<'_>, token: &str) -> Result<Ingestion, Problem> {
        let wanted = token.to_owned();
        let found = self
            .read_here(move |reader| reader.card_token(&wanted))
            .await?;
        let Some(found) = found else {
            let detail = "a button that is not valid any more";
            let mut ingested = self
                .record(arrival, Disposition::Command, detail, None)
                .await?;
            ingested.feedback = Some("This button is no longer valid.".to_owned());
            return Ok(ingested);
        };
        let request = DecisionRequest {
            revision: Some(found.revision),
            answer: (found.decision == DecisionKind::Answer).then_some(found.label),
            ..DecisionRequest::new(found.decision, found.digest)
        };
        self.decide_from_chat(arrival, found.approval_id, request)
            .await
    }
}
