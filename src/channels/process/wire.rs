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

/// What a program says, on its standard output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ProgramMessage {
    /// Who the program is, and what its platform can do. The answer to `start`, within 30 s.
    Hello(Hello),
    /// Somebody wrote something.
    Message(Message),
    /// Somebody pressed a button of a card.
    Click {
        /// Where and who.
        #[serde(flatten)]
        item: Item,
        /// The token of the button.
        token: String,
    },
    /// Something else happened, which only moves the cursor.
    Other {
        /// Unique for each item of this account; delivered again it has the same key.
        key: String,
        /// Position after this item.
        #[serde(default)]
        cursor: Option<String>,
        /// What, in a few words.
        #[serde(default)]
        what: String,
    },
    /// The platform took what was sent. Also the answer to `look_up`: it is there.
    Sent {
        /// Number of the request.
        id: u64,
        /// The platform's ids of the messages made, in order.
        #[serde(default)]
        refs: Vec<String>,
        /// The message could not show everything.
        #[serde(default)]
        shortened: bool,
    },
    /// Certainly not sent, and trying again cannot help.
    Failed {
        /// Number of the request.
        id: u64,
        /// Why, without secrets.
        #[serde(default)]
        error: String,
    },
    /// Certainly not sent; it may be after some time.
    Retry {
        /// Number of the request.
        id: u64,
        /// Milliseconds until then.
        after_ms: u64,
        /// Why, without secrets.
        #[serde(default)]
        error: String,
    },
    /// Nobody knows whether it was sent. Also an answer to `look_up`: the look does not tell.
    Unknown {
        /// Number of the request.
        id: u64,
        /// What is known, without secrets.
        #[serde(default)]
        detail: String,
    },
    /// The answer to `look_up`: it is not there, and that send cannot arrive any more.
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
    /// How the connection to the platform is.
    Health {
        /// In one word.
        state: ProgramState,
        /// Why, where it is not well; without secrets.
        #[serde(default)]
        detail: String,
        /// What a person has to do, where it failed.
        #[serde(default)]
        fix: String,
    },
    /// The answer to `ping`: the program works, and its platform answered lately.
    Pong {
        /// Number of the ping.
        id: u64,
    },
}

/// Who a program is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// Version of the protocol that it speaks.
    pub protocol: u32,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its own version.
    #[serde(default)]
    pub version: String,
    /// Who it is on the platform. Keys and cursors belong to this account.
    pub account: Account,
    /// What the platform can do.
    pub capabilities: Capabilities,
}

/// An account on a platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// Stable id.
    pub id: String,
    /// What people call it; the id where it is left out.
    #[serde(default)]
    pub display: String,
}

/// What a platform can do, through this program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Capabilities {
    /// Longest text, in `unit`; at least 64.
    pub max_length: usize,
    /// How it is counted.
    pub unit: LengthUnit,
    /// What texts the program takes.
    pub format: TextFormat,
    /// `edit`, `card_update` and `delete` work.
    pub edits: bool,
    /// `card` shows its buttons.
    pub buttons: bool,
    /// `typing` shows something.
    pub typing: bool,
    /// `file` and `fetch` work.
    pub files: bool,
    /// What the platform offers against doubled sends.
    pub idempotency: Idempotency,
    /// With `native_key`: milliseconds for which a key is known; none = for ever.
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

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextFormat {
    /// Text as people read it.
    Plain,
    /// Markdown (CommonMark), to be rendered for the platform.
    Markdown,
}

/// What a platform offers against doubled sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Idempotency {
    /// A second send with the same key does nothing, also after a restart.
    NativeKey,
    /// `look_up` tells whether it arrived.
    Reconcile,
    /// Neither: a person is asked.
    None,
}

/// How a connection to a platform is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgramState {
    /// The platform answers.
    Connected,
    /// It does not, and the program goes on trying.
    Degraded,
    /// Trying cannot help before a person changes something: the program is ended, and started when the channel is
    /// resumed.
    Failed,
}

/// Where something came in, and from whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// Unique for each item of this account, at most 512 bytes; delivered again it has the same key.
    pub key: String,
    /// Position after this item: what `welcome` hands back once the item is durable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Key of the conversation: chat, room or thread.
    pub conversation: String,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Who; none = the platform does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<ItemSender>,
    /// The platform's id of the message, to reply to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_ref: Option<String>,
}

/// Who wrote something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemSender {
    /// Stable id on the platform.
    pub id: String,
    /// What people call them; the id where it is left out.
    #[serde(default)]
    pub display: String,
    /// It is a bot.
    #[serde(default)]
    pub bot: bool,
}

/// A message that came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Where and who.
    #[serde(flatten)]
    pub item: Item,
    /// The text, whole.
    #[serde(default)]
    pub text: String,
    /// It is a direct message to the bot.
    #[serde(default)]
    pub direct: bool,
    /// The bot was mentioned, replied to or named.
    #[serde(default)]
    pub addressed: bool,
    /// Forwarded, quoted or edited: it may ask and never decides.
    #[serde(default)]
    pub indirect: bool,
    /// Files that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ItemFile>,
    /// What messages have in common that a person sent as one, for example an album.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// A file of a message, still at the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemFile {
    /// What `fetch` asks for it by.
    pub reference: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// What Leverframe says, on the program's standard input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BridgeMessage {
    /// The first line. The program answers with `hello`.
    Start {
        /// Version of the protocol.
        protocol: u32,
        /// Name of the channel.
        channel: String,
        /// The program is tested: it connects to no platform and acts as `channels conform` describes.
        conform: bool,
        /// Largest file that goes either way, in bytes.
        max_file_bytes: u64,
    },
    /// The hello was understood; messages may come now.
    Welcome {
        /// Position of the last item of this account that is durable; none = there is none.
        cursor: Option<String>,
    },
    /// An inbound item is durable.
    Ack {
        /// Its key.
        key: String,
        /// What became of it, in one word.
        disposition: String,
        /// It had come before.
        repeated: bool,
        /// A few words for whoever pressed a button.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
    /// Send a text.
    Send {
        /// Number of the request.
        id: u64,
        /// The same in each attempt.
        key: String,
        /// Where to.
        conversation: String,
        /// The text.
        text: String,
        /// What it is.
        format: TextFormat,
        /// The platform's id of the message that it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<String>,
    },
    /// Change a message of the bot.
    Edit {
        /// Number of the request.
        id: u64,
        /// Where.
        conversation: String,
        /// The platform's id of the message.
        message_ref: String,
        /// What it says from now on.
        text: String,
        /// What that is.
        format: TextFormat,
    },
    /// Send a question with its buttons.
    Card {
        /// Number of the request.
        id: u64,
        /// The same in each attempt.
        key: String,
        /// Where to.
        conversation: String,
        /// The text; plain.
        text: String,
        /// Buttons in order; none = it is decided elsewhere.
        buttons: Vec<CardButton>,
    },
    /// The question is settled: change its message and take its buttons away.
    CardUpdate {
        /// Number of the request.
        id: u64,
        /// Where.
        conversation: String,
        /// The platform's id of the message.
        message_ref: String,
        /// What it says from now on; plain.
        text: String,
    },
    /// Remove a message of the bot.
    Delete {
        /// Number of the request.
        id: u64,
        /// Where.
        conversation: String,
        /// The platform's id of the message.
        message_ref: String,
    },
    /// Send a file.
    File {
        /// Number of the request.
        id: u64,
        /// The same in each attempt.
        key: String,
        /// Where to.
        conversation: String,
        /// Its name, without directories.
        name: String,
        /// Its media type.
        media_type: String,
        /// The whole content, base64.
        data: String,
        /// The platform's id of the message that it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<String>,
    },
    /// Show that the bot writes. Nobody waits for an answer.
    Typing {
        /// Where.
        conversation: String,
    },
    /// Fetch a file of a message that came in.
    Fetch {
        /// Number of the request.
        id: u64,
        /// What the message called it.
        reference: String,
        /// Most bytes.
        max_bytes: u64,
    },
    /// Look whether a send arrived. Only programs with `reconcile` are asked.
    LookUp {
        /// Number of the request.
        id: u64,
        /// The key of the send.
        key: String,
        /// Where to.
        conversation: String,
    },
    /// Answer with `pong`, unless the platform does not answer: then say so with `health`.
    Ping {
        /// Number of the ping.
        id: u64,
    },
    /// Finish what was begun, answer, and end within 3 s.
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
