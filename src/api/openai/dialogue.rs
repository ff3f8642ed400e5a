//! What a request says: what the client wants of the agent, the conversation so far, and the message that is answered.
//!
//! Pure. A message of the system is advice of the client for one turn and never an instruction of the operator.

use serde_json::Value;

use crate::api::error::Refusal;
use crate::api::openai::content::{self, add_text, wrong};
use crate::protocol::artifact::NewAttachment;
use crate::protocol::chat::{EarlierMessage, EarlierRole};
use crate::protocol::options::{MAX_HINT_BYTES, MAX_HINTS};

/// A request, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dialogue {
    /// Messages of the system, and instructions.
    pub advice: Vec<String>,
    /// The conversation before the message: users and assistants in turns.
    pub earlier: Vec<EarlierMessage>,
    /// The message.
    pub text: String,
    /// Its files.
    pub files: Vec<NewAttachment>,
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Adds a message to a conversation; neighbours of one role become one message.
fn add(earlier: &mut Vec<EarlierMessage>, role: EarlierRole, text: &str) {
    match earlier.last_mut() {
        Some(last) if last.role == role => add_text(&mut last.text, text),
        Some(_) | None => earlier.push(EarlierMessage {
            role,
            text: text.to_owned(),
        }),
    }
}

/// Files of earlier messages are named and not sent again.
fn with_names(text: &str, files: &[NewAttachment]) -> String {
    let mut text = text.to_owned();
    for file in files {
        add_text(&mut text, &format!("[file of this message: {}]", file.name));
    }
    text
}

/// The messages of a request, in either interface's words; `field` is where they stand in the body.
pub fn read(messages: &[Value], field: &str) -> Result<Dialogue, Refusal> {
    let mut dialogue = Dialogue::default();
    let is_answer = |message: &Value| {
        ["assistant", "tool", "function"].contains(&word(message, "role"))
            || !["", "message"].contains(&word(message, "type"))
    };
    // What stands behind the last answer is the message.
    let first_new = messages.iter().rposition(is_answer).map_or(0, |at| at + 1);
    for (at, message) in messages.iter().enumerate() {
        let place = format!("{field}[{at}]");
        if !message.is_object() {
            return Err(wrong(&place, "expected an object with a role"));
        }
        match word(message, "type") {
            "" | "message" => {}
            // What a client of another service had done for it. It is told, and done by nobody here.
            "function_call" => {
                let said = format!(
                    "[called {}: {}]",
                    word(message, "name"),
                    word(message, "arguments")
                );
                add(&mut dialogue.earlier, EarlierRole::Assistant, &said);
                continue;
            }
            "function_call_output" => {
                let said = format!("[result: {}]", word(message, "output"));
                add(&mut dialogue.earlier, EarlierRole::Assistant, &said);
                continue;
            }
            _ => continue,
        }
        let absent = Value::Null;
        let given = message.get("content").unwrap_or(&absent);
        let read = content::read(given, &format!("{place}.content"))?;
        match word(message, "role") {
            "system" | "developer" => dialogue.advice.push(read.text),
            "user" if at >= first_new => {
                add_text(&mut dialogue.text, &read.text);
                dialogue.files.extend(read.files);
            }
            "user" => add(
                &mut dialogue.earlier,
                EarlierRole::User,
                &with_names(&read.text, &read.files),
            ),
            "assistant" => {
                let mut text = with_names(&read.text, &read.files);
                let calls = message.get("tool_calls").and_then(Value::as_array);
                for call in calls.into_iter().flatten() {
                    let function = call.get("function").unwrap_or(&absent);
                    let name = word(function, "name");
                    let said = format!("[called {name}: {}]", word(function, "arguments"));
                    add_text(&mut text, &said);
                }
                add(&mut dialogue.earlier, EarlierRole::Assistant, &text);
            }
            "tool" | "function" => add(
                &mut dialogue.earlier,
                EarlierRole::Assistant,
                &format!("[result: {}]", read.text),
            ),
            _ => {
                return Err(wrong(
                    &format!("{place}.role"),
                    "expected system, developer, user, assistant or tool",
                ));
            }
        }
    }
    if dialogue.text.trim().is_empty() && dialogue.files.is_empty() {
        return Err(wrong(
            field,
            "the last message must be a user's with a text or a file",
        ));
    }
    Ok(dialogue)
}

impl Dialogue {
    /// The advice as hints of a turn.
    ///
    /// # Errors
    /// When it is longer than hints can be.
    pub fn hints(&self, field: &str) -> Result<Vec<String>, Refusal> {
        let mut hints = Vec::new();
        for text in self.advice.iter().filter(|text| !text.trim().is_empty()) {
            split(text, &mut hints);
        }
        if hints.len() > MAX_HINTS {
            return Err(wrong(
                field,
                &format!(
                    "messages of the system fill {} pieces of {MAX_HINT_BYTES} bytes; at most {MAX_HINTS} are taken: shorten them, \
                     or send long texts as the user's message or a file",
                    hints.len()
                ),
            ));
        }
        Ok(hints)
    }
}

/// Cuts a text into hints, at line ends where there are any.
fn split(text: &str, hints: &mut Vec<String>) {
    let mut rest = text.trim();
    while rest.len() > MAX_HINT_BYTES {
        let mut end = MAX_HINT_BYTES;
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let head = rest.get(..end).unwrap_or_default();
        let cut = head
            .rfind('\n')
            .or_else(|| head.rfind(' '))
            .filter(|cut| *cut > 0)
            .unwrap_or(end);
        let (piece, more) = rest.split_at(cut);
        if !piece.trim().is_empty() {
            hints.push(piece.trim_end().to_owned());
        }
        rest = more.trim_start();
    }
    if !rest.is_empty() {
        hints.push(rest.to_owned());
    }
}
