//! What passes between the engine and a bridge: inbound items, outbound parts, and how sends ended.
//!
//! Plain data; the promises that go with it are on `client::channel_port::ChannelPort`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::artifact::SentFile;
use crate::protocol::enums::{Disposition, OutboxClass};
use crate::protocol::ids::{ContinuationId, InboxId, OutboxId, SessionId};

/// A platform-authenticated sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sender {
    /// Stable platform id without the platform prefix, for example `123456`.
    pub id: String,
    /// Display name: outside text.
    pub display: String,
    /// Written by a bot.
    pub is_bot: bool,
}

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InboundBody {
    /// A text message. Slash commands arrive here too.
    Text {
        /// The text, whole: outside text.
        text: String,
        /// Whether it is a direct message to the bot.
        direct: bool,
        /// Whether the bot was mentioned, replied to or addressed by command.
        addressed: bool,
        /// Forwarded, quoted or edited: may ask, never decides.
        indirect: bool,
        /// Files that came with it. The text may be empty then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<InboundFile>,
        /// What messages have in common that a person sent as one, for example an album.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    },
    /// A button was pressed.
    Click {
        /// The opaque one-shot token the button carried.
        token: String,
    },
    /// A message without text and without a file that can be fetched: a poll, a location. Nobody reads it; its sender is
    /// told.
    Media {
        /// What, in a few words: `a poll`.
        what: String,
        /// Whether it is a direct message to the bot.
        direct: bool,
        /// Whether the bot was replied to.
        addressed: bool,
    },
    /// Something we do not handle (or could not decode); recorded so that the cursor moves.
    Other {
        /// What, in a few words.
        what: String,
    },
}

/// A file of a message, still at the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboundFile {
    /// What the bridge fetches it by. Opaque, and may differ when the platform delivers the message again.
    pub reference: String,
    /// Its name, as the sender gave it: outside text.
    pub name: String,
    /// Media type, as the platform says.
    pub media_type: Option<String>,
    /// Bytes, as the platform says.
    pub size: Option<u64>,
}

/// A file of a message that the bridge is to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRequest {
    /// Its number.
    pub id: i64,
    /// [`InboundFile::reference`].
    pub reference: String,
    /// Most bytes that are read.
    pub max_bytes: u64,
}

/// How a fetch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchedFile {
    /// The whole content.
    Content(Vec<u8>),
    /// It cannot be had.
    Failed {
        /// Why, redacted.
        error: String,
    },
}

/// One inbound item with the position after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inbound {
    /// Unique per account and kind of item; redelivery has the same key.
    pub dedupe_key: String,
    /// Opaque position to resume from once this item is durable.
    pub cursor: Option<String>,
    /// Conversation key: chat, thread or topic.
    pub conversation: String,
    /// Human name of the conversation: outside text.
    pub conversation_title: Option<String>,
    /// Who; none = the platform did not say, which authorises nothing.
    pub sender: Option<Sender>,
    /// What.
    pub body: InboundBody,
    /// The platform's id of the message, to reply to.
    pub message_ref: Option<String>,
}

/// A message that shows in a chat how far a turn has come. There is one for each turn, and it goes when the turn ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressMessage {
    /// The turn.
    pub continuation_id: ContinuationId,
    /// Key of the conversation, as the platform knows it.
    pub conversation: String,
    /// What it says: Markdown. None = the message goes.
    pub text: Option<String>,
}

/// A progress message that a chat has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownProgress {
    /// The turn.
    pub continuation_id: ContinuationId,
    /// Key of the conversation.
    pub conversation: String,
    /// The platform's id of the message.
    pub message_ref: String,
}

/// What became of an inbound item. When this exists, the item is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ingestion {
    /// Its row.
    pub inbox_id: InboxId,
    /// What became of it.
    pub disposition: Disposition,
    /// The turn it queued.
    pub continuation_id: Option<ContinuationId>,
    /// The session it belongs to.
    pub session_id: Option<SessionId>,
    /// Whether it had been delivered before.
    pub repeated: bool,
    /// A few words for the platform's own acknowledgement of a click (a toast).
    pub feedback: Option<String>,
}

/// A button of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CardButton {
    /// What it says.
    pub label: String,
    /// Opaque one-shot token, at most 32 ASCII characters.
    pub token: String,
}

/// What is to be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutboundBody {
    /// Markdown to render for the platform.
    Markdown {
        /// Source.
        text: String,
    },
    /// A file.
    File(SentFile),
    /// An approval to render with its buttons (none = its risk is above what may be decided from chat).
    Card {
        /// As it stands now.
        approval: Box<Approval>,
        /// Buttons in order.
        buttons: Vec<CardButton>,
    },
    /// An earlier card, now disarmed: edit the message and remove the buttons.
    CardUpdate {
        /// As it stands now.
        approval: Box<Approval>,
        /// Platform id of the message that shows the card.
        external_ref: String,
    },
}

/// One part to send. Parts of one conversation are handed out strictly in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outbound {
    /// Its row.
    pub id: OutboxId,
    /// Conversation key.
    pub conversation: String,
    /// What for.
    pub class: OutboxClass,
    /// What.
    pub body: OutboundBody,
    /// Platform id of the message it answers.
    pub reply_to: Option<String>,
    /// 24 hex characters, stable across attempts, for platforms with send keys.
    pub idempotency_key: String,
    /// How often it was handed out before.
    pub attempts: u32,
}

/// How a send ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The platform accepted it.
    Sent {
        /// Platform ids of the messages made, in order.
        external_refs: Vec<String>,
    },
    /// The platform accepted a card that could not show everything: nobody allows by what it says.
    Shortened {
        /// Platform ids of the messages made, in order.
        external_refs: Vec<String>,
    },
    /// Certainly not sent; try again after this time.
    Retry {
        /// Earliest next attempt.
        not_before: Timestamp,
        /// Why, redacted.
        error: String,
    },
    /// Certainly not sent, and trying again cannot help.
    Failed {
        /// Why, redacted.
        error: String,
    },
    /// The request left and no answer came.
    Unknown {
        /// What is known, redacted.
        detail: String,
    },
}

/// What a look at the platform says about a part whose send nobody knows the end of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// It is there.
    Sent {
        /// Platform ids of the messages made, in order.
        external_refs: Vec<String>,
    },
    /// It is not there, and that send cannot arrive any more.
    NotSent,
    /// The look does not tell.
    Unclear {
        /// Why, redacted.
        detail: String,
    },
}

/// What becomes of somebody's invitation into a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invitation {
    /// They may talk to the agent: it is accepted.
    Accept,
    /// They may ask for access there, in a direct message: it may be accepted.
    AcceptToAsk,
    /// It is left alone.
    Ignore,
}

/// Durable state an adapter starts from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountState {
    /// Position saved with the last inbound item.
    pub cursor: Option<String>,
    /// Whether an operator paused the channel.
    pub paused: bool,
}
