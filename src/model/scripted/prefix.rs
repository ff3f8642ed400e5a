//! A prompt cache as providers have one, in memory: how much of a request was sent before in the same order.
//!
//! It saves nothing here; it makes the usage of the built-in script follow from its requests, as a provider's does.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashSet, VecDeque};
use std::hash::{Hash, Hasher};

use crate::model::request::{ModelMessage, ModelRequest};

/// Prefixes remembered at a time.
const REMEMBERED: usize = 2_048;

/// The prefixes that were sent.
#[derive(Debug, Default)]
pub struct Prefixes {
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

/// Characters of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CharCount {
    pub all: usize,
    /// The longest beginning that was sent before.
    pub known: usize,
}

impl Prefixes {
    /// Counts a request and remembers its beginnings: system text with tools, then each message.
    pub fn count(&mut self, request: &ModelRequest) -> CharCount {
        let mut counted = CharCount::default();
        let mut so_far = DefaultHasher::new();
        request.model.hash(&mut so_far);
        request.system.hash(&mut so_far);
        let mut size = request.system.chars().count();
        for tool in &request.tools {
            let schema = tool.input_schema.to_string();
            (&tool.name, &tool.description, &schema).hash(&mut so_far);
            size += tool.name.len() + tool.description.chars().count() + schema.chars().count();
        }
        self.note(so_far.finish(), size, &mut counted);
        for message in &request.messages {
            size += hash_message(message, &mut so_far);
            self.note(so_far.finish(), size, &mut counted);
        }
        counted
    }

    fn note(&mut self, hash: u64, size: usize, counted: &mut CharCount) {
        counted.all = size;
        if !self.known.insert(hash) {
            counted.known = size;
            return;
        }
        self.order.push_back(hash);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

/// Adds a message to the hash; its characters.
fn hash_message(message: &ModelMessage, hasher: &mut DefaultHasher) -> usize {
    match message {
        ModelMessage::User { text, .. } => {
            (0_u8, text).hash(hasher);
            text.chars().count()
        }
        ModelMessage::Assistant {
            text, tool_calls, ..
        } => {
            (1_u8, text).hash(hasher);
            let mut size = text.chars().count();
            for call in tool_calls {
                let args = call.args.to_string();
                (&call.name, &args).hash(hasher);
                size += call.name.len() + args.chars().count();
            }
            size
        }
        ModelMessage::ToolResults { results } => {
            2_u8.hash(hasher);
            results.iter().fold(0, |size, result| {
                result.content.hash(hasher);
                size + result.content.chars().count()
            })
        }
    }
}
