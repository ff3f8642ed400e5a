//! Messages of the bot as people see them, channels and files.

use serde_json::Value;

/// A message of the bot as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct BotMessage {
    pub ts: String,
    pub thread: Option<String>,
    pub text: String,
    pub blocks: Vec<Value>,
    pub files: Vec<Value>,
    pub metadata: Value,
    pub edits: u32,
}

impl BotMessage {
    /// Whether people see this text in it, as mrkdwn.
    pub fn shows(&self, text: &str) -> bool {
        self.seen().contains(text)
    }

    /// What people see: its blocks where it has some, else its text.
    pub fn seen(&self) -> String {
        if self.blocks.is_empty() {
            return self.text.clone();
        }
        let texts = self
            .blocks
            .iter()
            .filter_map(|block| block["text"]["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The labels of its buttons.
    pub fn labels(&self) -> Vec<String> {
        self.buttons()
            .map(|button| button["text"]["text"].as_str().unwrap().to_owned())
            .collect()
    }

    pub fn buttons(&self) -> impl Iterator<Item = &Value> {
        self.blocks
            .iter()
            .filter(|block| block["type"] == "actions")
            .flat_map(|block| block["elements"].as_array().into_iter().flatten())
    }
}

/// A channel.
#[derive(Debug, Clone)]
pub struct Channel {
    pub name: String,
    /// Whether the bot is in it.
    pub joined: bool,
    pub archived: bool,
}

/// A file.
#[derive(Debug, Clone)]
pub struct File {
    pub name: String,
    pub media_type: String,
    pub content: Vec<u8>,
}
