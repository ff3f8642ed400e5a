//! What passes between the engine and a bridge: inbound items, outbound parts, and outcomes of
//! sends.
//!
//! Plain data; `client::channel_port::ChannelPort` states the promises that go with it.

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
    /// Display name: untrusted text.
    pub display: String,
    /// Whether a bot wrote it.
    pub is_bot: bool,
}

/// Content of an inbound item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InboundBody {
    /// A text message. Slash commands arrive here too.
    Text {
        /// The whole text: untrusted text.
        text: String,
        /// Whether it is a direct message to the bot.
        direct: bool,
        /// Whether the bot was mentioned, replied to or addressed by command.
        addressed: bool,
        /// Whether the message is forwarded, quoted or edited. Such a message may ask, but never
        /// decides.
        indirect: bool,
        /// Files that came with the message. The text may then be empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<InboundFile>,
        /// Key that messages share which a person sent as one, for example an album.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    },
    /// A button was pressed.
    Click {
        /// The opaque one-time token of the button.
        token: String,
    },
    /// A message without text or downloadable file, such as a poll or a location. The agent does
    /// not read it, and the engine tells the sender.
    Media {
        /// What it is, in a few words: `a poll`.
        what: String,
        /// Whether it is a direct message to the bot.
        direct: bool,
        /// Whether the bot was replied to.
        addressed: bool,
    },
    /// An item that the bridge cannot handle or decode. The engine records it so that the cursor
    /// moves.
    Other {
        /// What it is, in a few words.
        what: String,
    },
}

/// A file of a message, still on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboundFile {
    /// What the bridge downloads it by. Opaque; may differ when the platform delivers the message
    /// again.
    pub reference: String,
    /// File name from the sender: untrusted text.
    pub name: String,
    /// Media type according to the platform.
    pub media_type: Option<String>,
    /// Size in bytes according to the platform.
    pub size: Option<u64>,
}

/// A file of a message that the bridge should download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRequest {
    /// Number of the request.
    pub id: i64,
    /// The `reference` of the file, as [`InboundFile::reference`] gave it.
    pub reference: String,
    /// Most bytes to read.
    pub max_bytes: u64,
}

/// How a download ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchedFile {
    /// The whole content.
    Content(Vec<u8>),
    /// The file cannot be downloaded.
    Failed {
        /// Why, redacted.
        error: String,
    },
}

/// One inbound item with the cursor after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inbound {
    /// Unique per account and kind of item; a redelivered item has the same key.
    pub dedupe_key: String,
    /// Opaque position to resume from once this item is durable.
    pub cursor: Option<String>,
    /// Conversation key: chat, thread or topic.
    pub conversation: String,
    /// Human-readable name of the conversation: untrusted text.
    pub conversation_title: Option<String>,
    /// The sender; none = the platform did not name one, so the item authorises nothing.
    pub sender: Option<Sender>,
    /// The content.
    pub body: InboundBody,
    /// The platform's message id, for replies.
    pub message_ref: Option<String>,
}

/// The key of a conversation whose platform may use any characters: `%23` for `#`, `%25` for `%`.
///
/// In our keys `#` stands between a conversation and its sender.
pub fn escape_conversation(platform: &str) -> String {
    platform.replace('%', "%25").replace('#', "%23")
}

/// The conversation as its platform knows it: undoes `escape_conversation`.
pub fn unescape_conversation(key: &str) -> String {
    key.replace("%23", "#").replace("%25", "%")
}

/// A message that shows the progress of a turn in a chat. There is one for each turn, and the
/// bridge removes it when the turn ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressMessage {
    /// The turn (continuation).
    pub continuation_id: ContinuationId,
    /// Conversation key on the platform.
    pub conversation: String,
    /// Text in Markdown; none = remove the message.
    pub text: Option<String>,
}

/// A progress message that a chat shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownProgress {
    /// The turn (continuation).
    pub continuation_id: ContinuationId,
    /// Conversation key on the platform.
    pub conversation: String,
    /// The platform's message id.
    pub message_ref: String,
}

/// What the engine did with an inbound item. The answer means that the item is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ingestion {
    /// Id of its row in the inbox.
    pub inbox_id: InboxId,
    /// What became of the item.
    pub disposition: Disposition,
    /// The turn that it queued.
    pub continuation_id: Option<ContinuationId>,
    /// The session that it belongs to.
    pub session_id: Option<SessionId>,
    /// Whether the platform had delivered the item before.
    pub repeated: bool,
    /// A few words for the platform's own acknowledgement of a click, such as a toast.
    pub feedback: Option<String>,
}

/// A button of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CardButton {
    /// Label of the button.
    pub label: String,
    /// Opaque one-time token, at most 32 ASCII characters.
    pub token: String,
}

/// Content of an outbound part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutboundBody {
    /// Markdown to render for the platform.
    Markdown {
        /// Markdown source.
        text: String,
    },
    /// A file.
    File(SentFile),
    /// An approval to render with its buttons. No buttons = chats may not decide at its risk.
    Card {
        /// The approval in its current state.
        approval: Box<Approval>,
        /// Buttons in order.
        buttons: Vec<CardButton>,
    },
    /// A card sent earlier that is settled now: edit the message and remove its buttons.
    CardUpdate {
        /// The approval in its current state.
        approval: Box<Approval>,
        /// The platform's id of the message with the card.
        external_ref: String,
    },
}

/// One part to send. The engine hands out the parts of one conversation strictly in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outbound {
    /// Delivery id.
    pub id: OutboxId,
    /// Conversation key.
    pub conversation: String,
    /// What the part is for.
    pub class: OutboxClass,
    /// The content.
    pub body: OutboundBody,
    /// The platform's id of the message that it answers.
    pub reply_to: Option<String>,
    /// 24 hex characters, the same for all attempts, for platforms with idempotency keys.
    pub idempotency_key: String,
    /// How often the engine handed it out before.
    pub attempts: u32,
}

/// How a send ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The platform accepted it.
    Sent {
        /// The platform's ids of the new messages, in order.
        external_refs: Vec<String>,
    },
    /// The platform accepted a card that could not show everything. Nobody can allow from it.
    Shortened {
        /// The platform's ids of the new messages, in order.
        external_refs: Vec<String>,
    },
    /// Certainly not sent; send again after this time.
    Retry {
        /// Earliest next attempt.
        not_before: Timestamp,
        /// Why, redacted.
        error: String,
    },
    /// Certainly not sent, and another attempt cannot help.
    Failed {
        /// Why, redacted.
        error: String,
    },
    /// The request left and no answer came back.
    Unknown {
        /// What is known, redacted.
        detail: String,
    },
}

/// What the platform says about a part whose delivery is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// The part arrived.
    Sent {
        /// The platform's ids of the new messages, in order.
        external_refs: Vec<String>,
    },
    /// The part did not arrive, and that send cannot arrive later.
    NotSent,
    /// The platform does not tell.
    Unclear {
        /// Why, redacted.
        detail: String,
    },
}

/// What the bridge does with an invitation into a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invitation {
    /// Accept: the inviter may talk to the agent.
    Accept,
    /// Accept if it is a direct message, where the inviter can ask for access.
    AcceptToAsk,
    /// Leave the invitation alone.
    Ignore,
}

/// Durable state that a bridge starts from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountState {
    /// Cursor saved with the last inbound item.
    pub cursor: Option<String>,
    /// Whether an operator paused the channel.
    pub paused: bool,
}
