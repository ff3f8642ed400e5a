//! A compaction by rules: who said what, shortened, and what people said of themselves.
//!
//! Everything in it was in the request. It shows how compaction goes; it understands nothing.

use serde_json::{Value, json};

use crate::model::request::{ModelMessage, ModelRequest};

/// First line of the system text by which a compaction is asked for.
pub const COMPACTION: &str =
    "Compact the older part of a conversation, so that it can go on without it.";

/// Characters of a summary: its beginning and its end are kept.
const SUMMARY_CHARS: usize = 2_800;
/// Characters of what somebody said.
const SAID_CHARS: usize = 48;
const MOST_FACTS: usize = 10;

/// What a message begins with that says something worth keeping, and what kind of thing that is.
const TELLING: &[(&str, &str)] = &[
    ("my name is ", "person"),
    ("i like ", "preference"),
    ("i prefer ", "preference"),
    ("we decided ", "decision"),
    ("note that ", "fact"),
];

/// The answer to a request for a compaction; none where the request is for something else.
pub fn answer(request: &ModelRequest) -> Option<String> {
    if !request.system.starts_with(COMPACTION) {
        return None;
    }
    let Some(ModelMessage::User { text, .. }) = request.messages.first() else {
        return None;
    };
    let mut summary = String::new();
    let mut facts = Vec::new();
    for line in text.lines() {
        let Ok(Value::Object(line)) = serde_json::from_str(line) else {
            continue;
        };
        let field = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
        summary.push_str(field("earlier_summary"));
        let Some(message) = line.get("message") else {
            continue;
        };
        let said = field("said").trim();
        let short: String = said.chars().take(SAID_CHARS).collect();
        summary.push_str(&format!(
            "\n{} said: {}",
            field("from"),
            short.replace('\n', " ")
        ));
        if let Some(kind) = telling(said)
            && facts.len() < MOST_FACTS
        {
            facts.push(json!({"text": said, "kind": kind, "confidence": 0.8, "source": message}));
        }
    }
    let summary = ends(summary.trim());
    Some(json!({"summary": summary, "facts": facts}).to_string())
}

/// The kind of what a message says, where it is one line that says something worth keeping.
fn telling(said: &str) -> Option<&'static str> {
    if said.lines().count() != 1 {
        return None;
    }
    let said = said.split_once(": ").map_or(said, |(_, said)| said);
    let lower = said.to_lowercase();
    TELLING
        .iter()
        .find(|(beginning, _)| lower.starts_with(beginning))
        .map(|(_, kind)| *kind)
}

fn ends(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= SUMMARY_CHARS {
        return text.to_owned();
    }
    let half = SUMMARY_CHARS / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(chars - half).collect();
    format!("{head}\n[…]\n{tail}")
}
