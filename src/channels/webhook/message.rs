//! The JSON of both ways. Unknown fields of other systems are ignored.
//!
//! Nothing here does I/O.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::bridge::{
    CardButton, Inbound, InboundBody, InboundFile, Sender, escape_conversation,
};

/// Beginning of the reference of a file that came with its message.
const INLINE: &str = "data:";
/// Longest id, conversation and sender, in bytes.
const MAX_ID: usize = 200;

/// What another system posts to a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncomingMessage {
    /// Unique for each message. A request with an id that came before is answered and does nothing.
    pub id: String,
    /// Who writes.
    pub sender: IncomingSender,
    /// Where: a ticket, a thread, a room. Left out: the sender alone with the agent.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Name of the conversation for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What they write. Slash commands count.
    #[serde(default)]
    pub text: String,
    /// Whether the agent is meant; default true.
    #[serde(default)]
    pub addressed: Option<bool>,
    /// Whether it is forwarded or quoted text: it may ask, never decide.
    #[serde(default)]
    pub indirect: bool,
    /// Files.
    #[serde(default)]
    pub files: Vec<IncomingFile>,
    /// In place of text: the token of a button of a card that somebody pressed.
    #[serde(default)]
    pub click: Option<String>,
}

/// Who writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncomingSender {
    /// A stable id.
    pub id: String,
    /// A name for people; left out: the id.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether a program writes.
    #[serde(default)]
    pub bot: bool,
}

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncomingFile {
    /// Its name.
    pub name: String,
    /// Media type.
    #[serde(default)]
    pub media_type: Option<String>,
    /// Its content, in base64.
    pub data: String,
}

/// What a channel sends to the other system, in an answer or to its address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutgoingMessage {
    /// The same for each attempt: what came before with this id is passed over.
    pub id: String,
    /// Where.
    pub conversation: String,
    /// The id of the message that it answers.
    pub reply_to: Option<String>,
    /// What.
    #[serde(flatten)]
    pub content: OutgoingContent,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutgoingContent {
    /// The end of a turn, or a part of it.
    Reply {
        /// Markdown.
        text: String,
    },
    /// What is to be known on the way: work goes on, a person is asked.
    Notice {
        /// Markdown.
        text: String,
    },
    /// A file.
    File {
        /// Its name.
        name: String,
        /// Media type.
        media_type: String,
        /// Its content, in base64.
        data: String,
    },
    /// A question to somebody who may decide.
    Card {
        /// Its text, without markup.
        text: String,
        /// Buttons: what they say, and the token of a click. None: it is decided elsewhere.
        buttons: Vec<CardButton>,
    },
    /// What became of a card; its buttons no longer count.
    CardUpdate {
        /// The id of the card.
        card: String,
        /// Its text now.
        text: String,
    },
}

/// The inbound item of a message.
///
/// # Errors
/// Which field is wrong, and what was expected.
pub fn inbound(message: IncomingMessage) -> Result<Inbound, String> {
    let fits = |text: &str| {
        !text.trim().is_empty() && text.len() <= MAX_ID && !text.chars().any(char::is_control)
    };
    let check = |field: &str, text: &str| {
        if fits(text) {
            Ok(())
        } else {
            Err(format!(
                "`{field}` must have 1 to {MAX_ID} bytes and no control characters"
            ))
        }
    };
    check("id", &message.id)?;
    check("sender.id", &message.sender.id)?;
    let conversation = message
        .conversation
        .unwrap_or_else(|| message.sender.id.clone());
    check("conversation", &conversation)?;
    let direct = conversation == message.sender.id;
    let mut files = Vec::new();
    for (at, file) in message.files.into_iter().enumerate() {
        let content = STANDARD
            .decode(&file.data)
            .map_err(|_| format!("`files[{at}].data` is no base64"))?;
        files.push(InboundFile {
            reference: format!("{INLINE}{}", file.data),
            name: file.name,
            media_type: file.media_type,
            size: Some(content.len() as u64),
        });
    }
    let body = match message.click {
        Some(token) => InboundBody::Click { token },
        None if message.text.trim().is_empty() && files.is_empty() => {
            return Err("`text`, `files` or `click` is missing".to_owned());
        }
        None => InboundBody::Text {
            text: message.text,
            direct,
            addressed: direct || message.addressed.unwrap_or(true),
            indirect: message.indirect,
            files,
            group: None,
        },
    };
    Ok(Inbound {
        dedupe_key: message.id.clone(),
        cursor: None,
        conversation_title: message.title.or_else(|| escaped_title(&conversation)),
        conversation: escape_conversation(&conversation),
        sender: Some(Sender {
            display: message
                .sender
                .name
                .unwrap_or_else(|| message.sender.id.clone()),
            id: message.sender.id,
            is_bot: message.sender.bot,
        }),
        body,
        message_ref: Some(message.id),
    })
}

/// The name of a conversation whose key reads otherwise; none where the key is that name.
fn escaped_title(conversation: &str) -> Option<String> {
    let is_escaped = conversation.contains(['#', '%']);
    is_escaped.then(|| conversation.to_owned())
}

/// The content of a file that came with its message; none when the reference is none of ours.
pub fn inline_content(reference: &str) -> Option<Vec<u8>> {
    STANDARD.decode(reference.strip_prefix(INLINE)?).ok()
}

/// Bytes as base64.
pub fn encode(content: &[u8]) -> String {
    STANDARD.encode(content)
}
