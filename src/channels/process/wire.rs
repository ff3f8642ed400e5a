//! The protocol between Leverframe and the program of a bridge, version 1: one JSON object a line, each with its `type`.
//! Plain types; `docs/src/develop/bridge-protocol.md` explains them, and its schema is made from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::bridge::CardButton;
use crate::protocol::channel::LengthUnit;

/// The version that is spoken here.
pub const VERSION: u32 = 1;
/// Longest line of a program, in bytes: a file of [`MAX_FILE`] in base64, and room.
pub const MAX_LINE: usize = 12 * 1024 * 1024;
/// Largest file that goes either way, in bytes.
pub const MAX_FILE: u64 = 8 * 1024 * 1024;
/// Inbound items of a program that may wait for their `ack`; the pipe holds back what is beyond.
pub const MAX_UNACKED: usize = 64;
/// Longest key and cursor, in bytes.
pub const MAX_KEY: usize = 512;

/// A line that the program writes to its standard output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ProgramMessage {
    /// Identity of the program and abilities of its platform. The answer to `start`, within 30 s.
    Hello(Hello),
    /// A person sent a message.
    Message(Message),
    /// A person pressed a button of a card.
    Click {
        /// Conversation and sender.
        #[serde(flatten)]
        item: Item,
        /// The token of the button.
        token: String,
    },
    /// Something else happened; the item only moves the cursor.
    Other {
        /// Unique per item of this account; a repeated item has the same key.
        key: String,
        /// Cursor after this item.
        #[serde(default)]
        cursor: Option<String>,
        /// What happened, in a few words.
        #[serde(default)]
        what: String,
    },
    /// The platform accepted the send. Also an answer to `look_up`: the message arrived.
    Sent {
        /// Number of the request.
        id: u64,
        /// The platform's ids of the new messages, in order.
        #[serde(default)]
        refs: Vec<String>,
        /// Whether the message could not show everything.
        #[serde(default)]
        shortened: bool,
    },
    /// Certainly not sent, and another attempt cannot help.
    Failed {
        /// Number of the request.
        id: u64,
        /// Why, without secrets.
        #[serde(default)]
        error: String,
    },
    /// Certainly not sent; another attempt can help later.
    Retry {
        /// Number of the request.
        id: u64,
        /// Milliseconds until the next attempt.
        after_ms: u64,
        /// Why, without secrets.
        #[serde(default)]
        error: String,
    },
    /// The outcome of the send is unknown. Also an answer to `look_up`: the platform does not tell.
    Unknown {
        /// Number of the request.
        id: u64,
        /// What is known, without secrets.
        #[serde(default)]
        detail: String,
    },
    /// An answer to `look_up`: the message did not arrive, and that send cannot arrive later.
    NotSent {
        /// Number of the request.
        id: u64,
    },
    /// The answer to `fetch`.
    Fetched {
        /// Number of the request.
        id: u64,
        /// The whole file, base64.
        data: String,
    },
    /// State of the connection to the platform.
    Health {
        /// The state.
        state: ProgramState,
        /// Why the connection is not well; without secrets.
        #[serde(default)]
        detail: String,
        /// What a person must do after a failure.
        #[serde(default)]
        fix: String,
    },
    /// The answer to `ping`: the program works, and its platform answered lately.
    Pong {
        /// Number of the ping.
        id: u64,
    },
}

/// Identity of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// Version of the protocol that the program speaks.
    pub protocol: u32,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its own version.
    #[serde(default)]
    pub version: String,
    /// Its account on the platform. Keys and cursors belong to this account.
    pub account: Account,
    /// Abilities of the platform.
    pub capabilities: Capabilities,
}

/// An account on a platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// Stable id.
    pub id: String,
    /// Display name; default: the id.
    #[serde(default)]
    pub display: String,
}

/// Abilities of a platform through this program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Capabilities {
    /// Longest text, in `unit`; at least 64.
    pub max_length: usize,
    /// The unit in which the platform counts length.
    pub unit: LengthUnit,
    /// The text format that the program takes.
    pub format: TextFormat,
    /// Whether `edit`, `card_update` and `delete` work.
    pub edits: bool,
    /// Whether `card` shows its buttons.
    pub buttons: bool,
    /// Whether `typing` shows something.
    pub typing: bool,
    /// Whether `file` and `fetch` work.
    pub files: bool,
    /// How the platform helps against sending a message twice.
    pub idempotency: Idempotency,
    /// With `native_key`: milliseconds for which the platform knows a key; none = for ever.
    pub key_window_ms: Option<u64>,
    /// Milliseconds between two sends to one conversation.
    pub interval_ms: u64,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            max_length: 4_000,
            unit: LengthUnit::Chars,
            format: TextFormat::Plain,
            edits: false,
            buttons: false,
            typing: false,
            files: false,
            idempotency: Idempotency::None,
            key_window_ms: None,
            interval_ms: 0,
        }
    }
}

/// Format of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextFormat {
    /// Plain text.
    Plain,
    /// Markdown (CommonMark), which the program renders for the platform.
    Markdown,
}

/// How a platform helps against sending a message twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Idempotency {
    /// A second send with the same key has no effect, even after a restart.
    NativeKey,
    /// `look_up` tells whether a send arrived.
    Reconcile,
    /// Neither: the engine asks a person.
    None,
}

/// State of a connection to a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgramState {
    /// The platform answers.
    Connected,
    /// The platform does not answer, and the program keeps trying.
    Degraded,
    /// Only a person can repair it: the engine ends the program, and starts it when the channel resumes.
    Failed,
}

/// Conversation and sender of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// Unique per item of this account, at most 512 bytes; a repeated item has the same key.
    pub key: String,
    /// Cursor after this item: `welcome` returns it once the item is durable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Key of the conversation: chat, room or thread.
    pub conversation: String,
    /// Display name of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The sender; none = the platform names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<ItemSender>,
    /// The platform's message id, for replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_ref: Option<String>,
}

/// A sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemSender {
    /// Stable id on the platform.
    pub id: String,
    /// Display name; default: the id.
    #[serde(default)]
    pub display: String,
    /// Whether it is a bot.
    #[serde(default)]
    pub bot: bool,
}

/// An inbound message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Conversation and sender.
    #[serde(flatten)]
    pub item: Item,
    /// The whole text.
    #[serde(default)]
    pub text: String,
    /// Whether it is a direct message to the bot.
    #[serde(default)]
    pub direct: bool,
    /// Whether the message mentions, names or replies to the bot.
    #[serde(default)]
    pub addressed: bool,
    /// Whether it is forwarded, quoted or edited. Such a message may ask, but never decides.
    #[serde(default)]
    pub indirect: bool,
    /// Files of the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ItemFile>,
    /// Key that messages share which a person sent as one, for example an album.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// A file of a message, still on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemFile {
    /// Reference for `fetch`.
    pub reference: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// A line that Leverframe writes to the program's standard input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BridgeMessage {
    /// The first line. The program answers with `hello`.
    Start {
        /// Version of the protocol.
        protocol: u32,
        /// Name of the channel.
        channel: String,
        /// Whether this is a test: the program connects to no platform and acts as `channels conform` describes.
        conform: bool,
        /// Largest file that goes either way, in bytes.
        max_file_bytes: u64,
    },
    /// Leverframe accepted the hello; messages may come now.
    Welcome {
        /// Cursor of the last durable item of this account; none = there is none.
        cursor: Option<String>,
    },
    /// An inbound item is durable.
    Ack {
        /// Key of the item.
        key: String,
        /// What the engine did with it, in one word.
        disposition: String,
        /// Whether the item had come before.
        repeated: bool,
        /// A few words for the person who pressed a button.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
    /// Send a text.
    Send {
        /// Number of the request.
        id: u64,
        /// Idempotency key: the same in each attempt.
        key: String,
        /// Conversation key.
        conversation: String,
        /// The text.
        text: String,
        /// Format of the text.
        format: TextFormat,
        /// The platform's id of the message that it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<String>,
    },
    /// Change a message of the bot.
    Edit {
        /// Number of the request.
        id: u64,
        /// Conversation key.
        conversation: String,
        /// The platform's id of the message.
        message_ref: String,
        /// The new text.
        text: String,
        /// Format of the new text.
        format: TextFormat,
    },
    /// Send an approval card with its buttons.
    Card {
        /// Number of the request.
        id: u64,
        /// Idempotency key: the same in each attempt.
        key: String,
        /// Conversation key.
        conversation: String,
        /// The text; plain.
        text: String,
        /// Buttons in order; none = people decide elsewhere.
        buttons: Vec<CardButton>,
    },
    /// An approval is settled: change its message and remove its buttons.
    CardUpdate {
        /// Number of the request.
        id: u64,
        /// Conversation key.
        conversation: String,
        /// The platform's id of the message.
        message_ref: String,
        /// The new text; plain.
        text: String,
    },
    /// Remove a message of the bot.
    Delete {
        /// Number of the request.
        id: u64,
        /// Conversation key.
        conversation: String,
        /// The platform's id of the message.
        message_ref: String,
    },
    /// Send a file.
    File {
        /// Number of the request.
        id: u64,
        /// Idempotency key: the same in each attempt.
        key: String,
        /// Conversation key.
        conversation: String,
        /// File name without directories.
        name: String,
        /// Media type.
        media_type: String,
        /// The whole content, base64.
        data: String,
        /// The platform's id of the message that it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<String>,
    },
    /// Show that the bot writes. Nobody waits for an answer.
    Typing {
        /// Conversation key.
        conversation: String,
    },
    /// Fetch a file of a message that came in.
    Fetch {
        /// Number of the request.
        id: u64,
        /// Reference of the file from the message.
        reference: String,
        /// Most bytes.
        max_bytes: u64,
    },
    /// Look up whether a send arrived. Only for programs with `reconcile`.
    LookUp {
        /// Number of the request.
        id: u64,
        /// The key of the send.
        key: String,
        /// Conversation key.
        conversation: String,
    },
    /// Answer with `pong`, or with `health` if the platform does not answer.
    Ping {
        /// Number of the ping.
        id: u64,
    },
    /// Finish started work, answer, and exit within 3 s.
    Shutdown,
}

impl ProgramMessage {
    /// Its `type`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Message(_) => "message",
            Self::Click { .. } => "click",
            Self::Other { .. } => "other",
            Self::Sent { .. } => "sent",
            Self::Failed { .. } => "failed",
            Self::Retry { .. } => "retry",
            Self::Unknown { .. } => "unknown",
            Self::NotSent { .. } => "not_sent",
            Self::Fetched { .. } => "fetched",
            Self::Health { .. } => "health",
            Self::Pong { .. } => "pong",
        }
    }

    /// The number of the request that it answers; none = it is no answer.
    pub fn answers(&self) -> Option<u64> {
        match self {
            Self::Sent { id, .. }
            | Self::Failed { id, .. }
            | Self::Retry { id, .. }
            | Self::Unknown { id, .. }
            | Self::NotSent { id }
            | Self::Fetched { id, .. } => Some(*id),
            Self::Hello(_)
            | Self::Message(_)
            | Self::Click { .. }
            | Self::Other { .. }
            | Self::Health { .. }
            | Self::Pong { .. } => None,
        }
    }
}

impl BridgeMessage {
    /// As a line with its end.
    pub fn line(&self) -> Vec<u8> {
        // No map with other keys than texts is in it, so nothing can fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}
