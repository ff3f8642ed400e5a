//! What a bridge brings in: stored first, then routed. Authorisation is by the platform's sender id only.

use crate::engine::arrival::{Arrival, ingested};
use crate::engine::core::Engine;
use crate::engine::handle::messages;
use crate::engine::hooks::turn as hooks;
use crate::engine::inbound_files;
use crate::engine::people;
use crate::engine::problem::from_store;
use crate::engine::slash;
use crate::protocol::bridge::{Inbound, InboundBody, InboundFile, Ingestion, Sender};
use crate::protocol::command::{BudgetRequest, DecisionRequest, MAX_TEXT_BYTES};
use crate::protocol::enums::{DecisionKind, Disposition, OutboxClass};
use crate::protocol::options::TurnOptions;
use crate::protocol::problem::Problem;
use crate::store::commands::announce_emergency_stop::AnnounceEmergencyStop;
use crate::store::commands::ingest_turn::{IngestTurn, TurnFiles};
use crate::store::input::{NewNotice, SessionChoice, TurnBounds, TurnCache};

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
            (InboundBody::Other { what }, _) => {
                self.record(&arrival, Disposition::Ignored, what.clone(), None)
                    .await
            }
            (_, None) => {
                self.record(
                    &arrival,
                    Disposition::Ignored,
                    "the platform named no sender".to_owned(),
                    None,
                )
                .await
            }
            (_, Some(sender)) if sender.is_bot => {
                self.record(
                    &arrival,
                    Disposition::Ignored,
                    "written by a bot".to_owned(),
                    None,
                )
                .await
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
        let mut record = self.record_row(
            arrival,
            Disposition::Command,
            String::new(),
            Some(HELD.to_owned()),
        );
        match record.notices.pop() {
            Some(notice) => {
                let told = self.store.write(AnnounceEmergencyStop { notice }).await;
                told.map_err(from_store)
            }
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
            return self
                .record(
                    arrival,
                    Disposition::Ignored,
                    "not addressed to the bot".to_owned(),
                    None,
                )
                .await;
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
        let channel = arrival.channel.to_owned();
        let conversation = arrival.origin.conversation.clone();
        self.store
            .read_here(move |reader| reader.group_waits(&channel, &conversation, &group))
            .await
            .map_err(from_store)
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
                return self
                    .record(
                        arrival,
                        Disposition::Command,
                        "a forwarded, quoted or edited command".to_owned(),
                        Some(INDIRECT.to_owned()),
                    )
                    .await;
            }
            return slash::carry_out(self, arrival, text.trim()).await;
        }
        if text.trim().is_empty() && files.is_empty() {
            return self
                .record(
                    arrival,
                    Disposition::Ignored,
                    "empty message".to_owned(),
                    None,
                )
                .await;
        }
        if text.len() > MAX_TEXT_BYTES {
            let reply = format!(
                "That message is too long; at most {} KiB are read.",
                MAX_TEXT_BYTES / 1024
            );
            return self
                .record(
                    arrival,
                    Disposition::Ignored,
                    "message too long".to_owned(),
                    Some(reply),
                )
                .await;
        }
        if let Some(refused) = self.one_too_many(arrival).await? {
            return Ok(refused);
        }
        let unheard = |file: &InboundFile| {
            let media_type = file.media_type.as_deref().unwrap_or_default();
            inbound_files::is_audio(media_type) && !inbound_files::is_transcribed(self, media_type)
        };
        if text.trim().is_empty() && files.iter().all(unheard) {
            let reply = "I cannot listen to recordings here. Please write what you need.";
            return self
                .record(
                    arrival,
                    Disposition::Ignored,
                    "a recording without text".to_owned(),
                    Some(reply.to_owned()),
                )
                .await;
        }
        let mut turn = self.turn(arrival, text, None);
        turn.files = TurnFiles {
            stored: Vec::new(),
            untranscribed: Vec::new(),
            notes: Vec::new(),
            remote: files.iter().map(inbound_files::checked).collect(),
            group: group.map(str::to_owned),
        };
        let outcome = self.store.write(turn).await.map_err(from_store)?;
        if !files.is_empty() {
            inbound_files::announce(self, arrival.channel);
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
        self.record(arrival, Disposition::Ignored, what.to_owned(), reply)
            .await
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
        Ok(Some(ingested(&outcome.map_err(from_store)?, None)))
    }

    /// A message as a turn.
    pub fn turn(
        &self,
        arrival: &Arrival<'_>,
        text: &str,
        retry_of: Option<crate::protocol::ids::ContinuationId>,
    ) -> IngestTurn {
        let max_queue = arrival.settings.max_queue;
        IngestTurn {
            files: TurnFiles::default(),
            origin: arrival.origin.clone(),
            session: SessionChoice::Conversation,
            text: self.redactor.redact(text).into_owned(),
            role: people::role_word(&self.settings, &arrival.origin.requester).to_owned(),
            said_at: messages::said_at(self, arrival.channel),
            model: None,
            limits: messages::limits(&self.settings.budgets, &BudgetRequest::default()),
            max_queue,
            unlimited_queue: self.is_held(),
            retry_of,
            queue_full_notice: Some(NewNotice {
                channel: arrival.channel.to_owned(),
                conversation: arrival.origin.conversation.clone(),
                class: OutboxClass::Notice,
                text: format!(
                    "{max_queue} messages wait already; please send this again after an answer."
                ),
                reply_to: arrival.inbound.message_ref.clone(),
                continuation_id: None,
            }),
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
            options: TurnOptions::default(),
            bounds: TurnBounds::default(),
        }
    }

    /// Whether this sender has not been refused on this channel before.
    pub async fn first_refusal(
        &self,
        arrival: &Arrival<'_>,
        detail: String,
    ) -> Result<bool, Problem> {
        let channel = arrival.channel.to_owned();
        self.store
            .read_here(move |reader| reader.refused_before(&channel, &detail))
            .await
            .map(|before| !before)
            .map_err(from_store)
    }

    async fn click(&self, arrival: &Arrival<'_>, token: &str) -> Result<Ingestion, Problem> {
        let wanted = token.to_owned();
        let found = self
            .store
            .read_here(move |reader| reader.card_token(&wanted))
            .await
            .map_err(from_store)?;
        let Some(found) = found else {
            let mut ingested = self
                .record(
                    arrival,
                    Disposition::Command,
                    "a button that is not valid any more".to_owned(),
                    None,
                )
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
