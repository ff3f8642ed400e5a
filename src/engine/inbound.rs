//! What a bridge brings in: stored first, then routed. Authorisation is by the platform's sender id only.

use crate::config::settings::{ChannelSettings, SessionScope};
use crate::engine::core::Engine;
use crate::engine::handle::{Caller, decide, messages};
use crate::engine::hooks::turn as hooks;
use crate::engine::people;
use crate::engine::problem::from_store;
use crate::engine::slash;
use crate::protocol::approval::Requester;
use crate::protocol::bridge::{Inbound, InboundBody, Ingested, Sender};
use crate::protocol::command::{BudgetRequest, DecisionRequest, MAX_TEXT_BYTES};
use crate::protocol::problem::Problem;
use crate::protocol::words::{ChannelKind, DecisionWord, Disposition, OutboxClass, Surface};
use crate::store::commands::decide::DecideReport;
use crate::store::commands::ingest_record::IngestRecord;
use crate::store::commands::ingest_turn::{IngestOutcome, IngestTurn};
use crate::store::commands::once::Once;
use crate::store::commands::tell_held::TellHeld;
use crate::store::input::{NewNotice, Origin, SessionChoice, TurnBounds, TurnCache};

/// Told to whoever writes during an emergency stop.
const HELD: &str = "Everything is held by the operator at the moment. Your message is kept; what follows from it is said \
                    after the release.";
/// Told to whoever forwards, quotes or edits a command.
const INDIRECT: &str = "A forwarded, quoted or edited command has no effect; send it anew.";

/// An item with everything that was found out about it.
pub struct Arrival<'a> {
    /// Channel name.
    pub channel: &'a str,
    /// Its settings.
    pub settings: &'a ChannelSettings,
    /// The item.
    pub inbound: &'a Inbound,
    /// Who acts.
    pub caller: Caller,
    /// Its origin row.
    pub origin: Origin,
}

impl Engine {
    /// Stores an inbound item durably and routes it. When this returns, the platform may be told.
    pub async fn ingest(&self, channel: &str, inbound: Inbound) -> Result<Ingested, Problem> {
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
                },
                Some(sender),
            ) => {
                self.text(&arrival, sender, text, *direct, *addressed, *indirect)
                    .await
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
                let told = self.store.write(TellHeld { notice }).await;
                told.map_err(from_store)
            }
            None => Ok(()),
        }
    }

    fn arrival<'a>(
        &self,
        channel: &'a str,
        settings: &'a ChannelSettings,
        inbound: &'a Inbound,
    ) -> Arrival<'a> {
        let platform_id = inbound.sender.as_ref().map_or_else(
            || format!("{}:unknown", settings.kind),
            |sender| format!("{}:{}", settings.kind, sender.id),
        );
        let actor = people::chat_actor(&self.settings, platform_id.clone());
        let person =
            people::person(&self.settings, &platform_id).map(|person| person.name.to_owned());
        let display = inbound
            .sender
            .as_ref()
            .map_or_else(|| "unknown".to_owned(), |sender| sender.display.clone());
        let surface = match settings.kind {
            ChannelKind::Scripted => Surface::Scripted,
            ChannelKind::Telegram
            | ChannelKind::Desk
            | ChannelKind::Api
            | ChannelKind::Mcp
            | ChannelKind::Cli
            | ChannelKind::Routine => Surface::Chat,
        };
        let conversation = match (settings.session_scope, &inbound.sender) {
            (SessionScope::Sender, Some(sender)) => {
                format!("{}#{}", inbound.conversation, sender.id)
            }
            (SessionScope::Sender | SessionScope::Chat, _) => inbound.conversation.clone(),
        };
        let body = serde_json::to_string(&inbound.body).unwrap_or_default();
        Arrival {
            channel,
            settings,
            inbound,
            caller: Caller {
                actor,
                surface,
                key: None,
            },
            origin: Origin {
                channel: channel.to_owned(),
                principal: channel.to_owned(),
                key: Some(inbound.dedupe_key.clone()),
                body_digest: messages::body_digest(&[&inbound.conversation, &body]),
                cursor: inbound.cursor.clone(),
                conversation,
                conversation_title: inbound.conversation_title.clone(),
                requester: Requester {
                    id: platform_id,
                    display,
                    person,
                },
                surface,
                message_ref: inbound.message_ref.clone(),
            },
        }
    }

    /// Stores an item that queues no turn.
    pub async fn record(
        &self,
        arrival: &Arrival<'_>,
        disposition: Disposition,
        detail: String,
        reply: Option<String>,
    ) -> Result<Ingested, Problem> {
        let record = self.record_row(arrival, disposition, detail, reply);
        let outcome = self.store.write(record).await.map_err(from_store)?;
        Ok(ingested(&outcome, None))
    }

    /// The row of an item that queues no turn, with its reply.
    pub fn record_row(
        &self,
        arrival: &Arrival<'_>,
        disposition: Disposition,
        detail: String,
        reply: Option<String>,
    ) -> IngestRecord {
        let notices = reply
            .map(|text| NewNotice {
                channel: arrival.channel.to_owned(),
                conversation: arrival.origin.conversation.clone(),
                class: OutboxClass::Notice,
                text,
                reply_to: arrival.inbound.message_ref.clone(),
                continuation_id: None,
            })
            .into_iter()
            .collect();
        let detail = self.redactor.redact(&detail).chars().take(200).collect();
        IngestRecord {
            origin: arrival.origin.clone(),
            disposition,
            detail,
            notices,
        }
    }

    async fn text(
        &self,
        arrival: &Arrival<'_>,
        sender: &Sender,
        text: &str,
        direct: bool,
        addressed: bool,
        indirect: bool,
    ) -> Result<Ingested, Problem> {
        if !self.may_talk(arrival, sender).await? {
            return self.stranger(arrival, sender, direct).await;
        }
        if !direct && !addressed && arrival.settings.require_mention {
            return self
                .record(
                    arrival,
                    Disposition::Ignored,
                    "not addressed to the bot".to_owned(),
                    None,
                )
                .await;
        }
        let done = self.addressed(arrival, text, indirect).await?;
        self.tell_held(arrival).await?;
        Ok(done)
    }

    /// A text of somebody who may talk, meant for the bot.
    async fn addressed(
        &self,
        arrival: &Arrival<'_>,
        text: &str,
        indirect: bool,
    ) -> Result<Ingested, Problem> {
        if text.trim_start().starts_with('/') {
            if indirect {
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
        if text.trim().is_empty() {
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
        let outcome = self
            .store
            .write(self.turn(arrival, text, None))
            .await
            .map_err(from_store)?;
        if !outcome.repeated
            && let Some(session) = outcome.session_id
        {
            self.wake(session);
        }
        Ok(ingested(&outcome, None))
    }

    /// A message without text: somebody who may talk here, and talks to the bot, is told that nobody reads it.
    async fn media(
        &self,
        arrival: &Arrival<'_>,
        sender: &Sender,
        what: &str,
        addressed: bool,
    ) -> Result<Ingested, Problem> {
        let heard = addressed && self.may_talk(arrival, sender).await?;
        if heard && let Some(refused) = self.one_too_many(arrival).await? {
            return Ok(refused);
        }
        let reply = heard.then(|| {
            format!(
                "I can read text only, and this is {what}. Please write in words what you need."
            )
        });
        self.record(arrival, Disposition::Ignored, what.to_owned(), reply)
            .await
    }

    /// Records a message that is one too many as ignored. Its sender is told, once a minute.
    pub async fn one_too_many(&self, arrival: &Arrival<'_>) -> Result<Option<Ingested>, Problem> {
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

    async fn click(&self, arrival: &Arrival<'_>, token: &str) -> Result<Ingested, Problem> {
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
            ingested.feedback = Some("This button is not valid any more.".to_owned());
            return Ok(ingested);
        };
        let request = DecisionRequest {
            revision: Some(found.revision),
            ..DecisionRequest::new(found.decision, found.digest)
        };
        self.decide_from_chat(arrival, found.approval_id, request)
            .await
    }

    /// Checks and carries out a decision from chat, in one transaction with the item that brought it.
    pub async fn decide_from_chat(
        &self,
        arrival: &Arrival<'_>,
        id: crate::protocol::ids::ApprovalId,
        request: DecisionRequest,
    ) -> Result<Ingested, Problem> {
        let approval = self
            .store
            .read_here(move |reader| reader.approval(id))
            .await
            .map_err(from_store)?;
        let word = request.decision;
        let detail = format!("{word} {id}");
        if let Err(problem) = decide::check(self, &arrival.caller, &approval, &request) {
            let mut ingested = self
                .record(arrival, Disposition::Command, detail, None)
                .await?;
            ingested.feedback = Some(format!("Not decided: {}.", problem.detail));
            return Ok(ingested);
        }
        let once = Once {
            record: self.record_row(arrival, Disposition::Command, detail, None),
            then: decide::command(self, &arrival.caller, &approval, request),
        };
        let (outcome, report) = self.store.write(once).await.map_err(from_store)?;
        let feedback = match report {
            None => "Already carried out.".to_owned(),
            Some(report) => self.feedback(id, word, report),
        };
        decide::announce(self, &approval).await;
        Ok(ingested(&outcome, Some(feedback)))
    }

    fn feedback(
        &self,
        id: crate::protocol::ids::ApprovalId,
        word: DecisionWord,
        report: DecideReport,
    ) -> String {
        decide::settle(self, &report);
        match decide::outcome(id, report) {
            Ok(_) => format!("Recorded: {word}."),
            Err(problem) => format!("{}: {}.", problem.title, problem.detail),
        }
    }
}

/// What the bridge is told.
pub fn ingested(outcome: &IngestOutcome, feedback: Option<String>) -> Ingested {
    Ingested {
        inbox_id: outcome.inbox_id,
        disposition: outcome.disposition,
        continuation_id: outcome.continuation_id,
        session_id: outcome.session_id,
        repeated: outcome.repeated,
        feedback,
    }
}
