//! An inbound item with what was found out about it, and the record of one that queues no turn.

use std::borrow::Cow;

use crate::config::settings::{ChannelSettings, SessionScope};
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::messages;
use crate::engine::people;
use crate::protocol::approval::Requester;
use crate::protocol::bridge::{Inbound, InboundBody, Ingestion};
use crate::protocol::enums::{ChannelKind, Disposition, OutboxClass, Surface};
use crate::protocol::problem::Problem;
use crate::store::command::WriteCommand;
use crate::store::commands::idempotent_ingest::IdempotentIngest;
use crate::store::commands::ingest_record::IngestRecord;
use crate::store::commands::ingest_turn::IngestOutcome;
use crate::store::commands::queue_notice::QueueNotice;
use crate::store::input::{NewNotice, Origin};

/// An item with everything that was found out about it.
pub struct Arrival<'a> {
    pub channel: &'a str,
    pub settings: &'a ChannelSettings,
    pub inbound: &'a Inbound,
    pub caller: Caller,
    /// Its origin row.
    pub origin: Origin,
}

impl Arrival<'_> {
    /// Its channel and conversation.
    pub fn place(&self) -> (String, String) {
        (self.channel.to_owned(), self.origin.conversation.clone())
    }

    /// A notice to its conversation.
    pub fn notice(&self, text: String) -> NewNotice {
        NewNotice {
            channel: self.channel.to_owned(),
            conversation: self.origin.conversation.clone(),
            class: OutboxClass::Notice,
            text,
            reply_to: self.inbound.message_ref.clone(),
            continuation_id: None,
        }
    }
}

impl Engine {
    /// Finds out about an item what its settings say.
    pub fn arrival<'a>(
        &self,
        channel: &'a str,
        settings: &'a ChannelSettings,
        inbound: &'a Inbound,
    ) -> Arrival<'a> {
        let platform_id = inbound.sender.as_ref().map_or_else(
            || format!("{}:unknown", settings.id_prefix),
            |sender| format!("{}:{}", settings.id_prefix, sender.id),
        );
        let actor = people::chat_actor(&self.settings, platform_id.clone());
        let person =
            people::person(&self.settings, &platform_id).map(|person| person.name.to_owned());
        let display = inbound
            .sender
            .as_ref()
            .map_or_else(|| "unknown".to_owned(), |sender| sender.display.clone());
        let surface = if settings.kind == ChannelKind::Scripted {
            Surface::Scripted
        } else {
            Surface::Chat
        };
        let conversation = match (settings.session_scope, &inbound.sender) {
            (SessionScope::Sender, Some(sender)) => {
                format!("{}#{}", inbound.conversation, sender.id)
            }
            (SessionScope::Sender | SessionScope::Chat, _) => inbound.conversation.clone(),
        };
        let body = serde_json::to_string(&stable(&inbound.body)).unwrap_or_default();
        Arrival {
            channel,
            settings,
            inbound,
            caller: Caller {
                actor,
                surface,
                key: None,
                trace: None,
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
                trace: None,
            },
        }
    }

    /// Stores an item that queues no turn.
    pub async fn record(
        &self,
        arrival: &Arrival<'_>,
        disposition: Disposition,
        detail: impl Into<String>,
        reply: Option<String>,
    ) -> Result<Ingestion, Problem> {
        let record = self.record_row(arrival, disposition, detail, reply);
        let outcome = self.write(record).await?;
        Ok(ingested(&outcome, None))
    }

    /// Carries out a store command with the item that orders it: once, however often that comes.
    pub async fn once<C: WriteCommand>(
        &self,
        arrival: &Arrival<'_>,
        detail: impl Into<String>,
        reply: Option<&str>,
        then: C,
    ) -> Result<(Ingestion, Option<C::Output>), Problem> {
        let reply = reply.map(str::to_owned);
        let record = self.record_row(arrival, Disposition::Command, detail, reply);
        let (outcome, done) = self.write(IdempotentIngest { record, then }).await?;
        Ok((ingested(&outcome, None), done))
    }

    /// The row of an item that queues no turn, with its reply.
    pub fn record_row(
        &self,
        arrival: &Arrival<'_>,
        disposition: Disposition,
        detail: impl Into<String>,
        reply: Option<String>,
    ) -> IngestRecord {
        let notices = reply.map(|text| arrival.notice(text)).into_iter().collect();
        let detail = detail.into();
        let detail = self.redactor.redact(&detail).chars().take(200).collect();
        IngestRecord {
            origin: arrival.origin.clone(),
            disposition,
            detail,
            notices,
        }
    }
}

/// What stays the same of a message when its platform delivers it again.
fn stable(body: &InboundBody) -> Cow<'_, InboundBody> {
    let mut body = Cow::Borrowed(body);
    if let InboundBody::Text { files, .. } = &*body
        && !files.is_empty()
        && let InboundBody::Text { files, .. } = body.to_mut()
    {
        for file in files {
            file.reference.clear();
        }
    }
    body
}

/// What the bridge is told.
pub fn ingested(outcome: &IngestOutcome, feedback: Option<String>) -> Ingestion {
    Ingestion {
        inbox_id: outcome.inbox_id,
        disposition: outcome.disposition,
        continuation_id: outcome.continuation_id,
        session_id: outcome.session_id,
        repeated: outcome.repeated,
        feedback,
    }
}

/// Stores a command with its answer.
pub async fn reply(
    engine: &Engine,
    arrival: &Arrival<'_>,
    what: &str,
    text: impl Into<String>,
) -> Result<Ingestion, Problem> {
    let (detail, text) = (format!("/{what}"), Some(text.into()));
    engine
        .record(arrival, Disposition::Command, detail, text)
        .await
}

/// A reply after the fact; losing it loses only a courtesy.
pub async fn tell(engine: &Engine, arrival: &Arrival<'_>, text: String) {
    let mut notices = engine
        .record_row(arrival, Disposition::Command, String::new(), Some(text))
        .notices;
    if let Some(notice) = notices.pop()
        && let Err(error) = engine.store.write(QueueNotice { notice }).await
    {
        tracing::warn!(%error, "cannot queue a reply");
    }
}
