//! Tool names that come from elsewhere, in the alphabet that every provider takes, and back. Pure.
//!
//! A legal name stays as it is, and the wire name of another depends on nothing but the names beside it: equal tools
//! give equal bytes. No two names share a wire name, so the way back is never a guess.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::model::request::{ModelAnswer, ModelMessage, ModelRequest};
use crate::protocol::options::ToolChoice;

/// Longest name that every provider takes, in bytes.
const MAX_BYTES: usize = 64;
/// Bytes of the mark behind a changed name: an underscore and eight hex digits.
const MARK_BYTES: usize = 9;

/// Whether every provider takes `name` as it is: `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
pub fn is_legal(name: &str) -> bool {
    name.len() <= MAX_BYTES
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(is_legal_char)
}

fn is_legal_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// The names of one request, both ways.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNames {
    wire_of: BTreeMap<String, String>,
    name_of: BTreeMap<String, String>,
}

impl ToolNames {
    /// The names of `tools`, and of `mentioned` (tools of an earlier time, and names that a model made up).
    pub fn new<'a>(
        tools: impl IntoIterator<Item = &'a str>,
        mentioned: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut names = Self::default();
        // What is offered goes first: a name in the history cannot move it.
        for group in [
            tools.into_iter().collect::<BTreeSet<_>>(),
            mentioned.into_iter().collect::<BTreeSet<_>>(),
        ] {
            let (legal, other): (Vec<&str>, Vec<&str>) =
                group.into_iter().partition(|name| is_legal(name));
            for name in legal.into_iter().chain(other) {
                names.add(name);
            }
        }
        names
    }

    /// The names in `request`.
    pub fn of(request: &ModelRequest) -> Self {
        let mentioned = request.messages.iter().flat_map(|message| {
            let (calls, results) = match message {
                ModelMessage::Assistant { tool_calls, .. } => (tool_calls.as_slice(), &[][..]),
                ModelMessage::ToolResults { results } => (&[][..], results.as_slice()),
                ModelMessage::User { .. } => (&[][..], &[][..]),
            };
            let calls = calls.iter().map(|call| call.name.as_str());
            calls.chain(results.iter().map(|result| result.name.as_str()))
        });
        Self::new(
            request.tools.iter().map(|tool| tool.name.as_str()),
            mentioned,
        )
    }

    fn add(&mut self, name: &str) {
        if self.wire_of.contains_key(name) {
            return;
        }
        let mut wire = if is_legal(name) {
            name.to_owned()
        } else {
            marked(name, 0)
        };
        let mut round = 0_u32;
        while self.name_of.contains_key(&wire) {
            round += 1;
            wire = marked(name, round);
        }
        self.wire_of.insert(name.to_owned(), wire.clone());
        self.name_of.insert(wire, name.to_owned());
    }

    /// The name to send for `name`.
    pub fn wire<'a>(&'a self, name: &'a str) -> &'a str {
        self.wire_of.get(name).map_or(name, String::as_str)
    }

    /// The name that `wire` stands for; a name that was never sent stays as it came.
    pub fn original<'a>(&'a self, wire: &'a str) -> &'a str {
        self.name_of.get(wire).map_or(wire, String::as_str)
    }

    /// Puts wire names into `request`. Of two tools with one name the first is offered: providers refuse both.
    pub fn send(&self, request: &mut ModelRequest) {
        let put = |name: &mut String| {
            let wire = self.wire(name);
            if wire != name {
                *name = wire.to_owned();
            }
        };
        let mut offered = BTreeSet::new();
        request
            .tools
            .retain(|tool| offered.insert(tool.name.clone()));
        for tool in &mut request.tools {
            put(&mut tool.name);
        }
        if let Some(ToolChoice::Tool(name)) = &mut request.parameters.tool_choice {
            put(name);
        }
        for message in &mut request.messages {
            match message {
                ModelMessage::User { .. } => {}
                ModelMessage::Assistant { tool_calls, .. } => {
                    for call in tool_calls {
                        put(&mut call.name);
                    }
                }
                ModelMessage::ToolResults { results } => {
                    for result in results {
                        put(&mut result.name);
                    }
                }
            }
        }
    }

    /// Puts the original names back into `answer`. Its native blocks keep the wire names: they are the provider's.
    pub fn receive(&self, answer: &mut ModelAnswer) {
        for call in &mut answer.tool_calls {
            let name = self.original(&call.name);
            if name != call.name {
                call.name = name.to_owned();
            }
        }
    }
}

/// `name` in the legal alphabet with a mark that no other name has.
fn marked(name: &str, round: u32) -> String {
    let mut digest = Sha256::new();
    digest.update(name.as_bytes());
    if round > 0 {
        digest.update(round.to_be_bytes());
    }
    let digest = digest.finalize();
    let mut wire = String::with_capacity(MAX_BYTES);
    if !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        wire.push('t');
    }
    for c in name.chars() {
        if wire.len() + MARK_BYTES >= MAX_BYTES {
            break;
        }
        wire.push(if is_legal_char(c) { c } else { '_' });
    }
    wire.push('_');
    for byte in digest.iter().take(4) {
        for nibble in [byte >> 4, byte & 15] {
            wire.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
    }
    wire
}
