//! What a hook's program reads and what it may answer. The shape is a contract with other people's programs: fields
//! are added, never renamed, and another meaning gets another [`VERSION`].

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::clock::Timestamp;
use crate::protocol::approval::Requester;
use crate::protocol::enums::HookPoint;
use crate::protocol::hook::HookVerdict;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};

/// Version of the document.
pub const VERSION: u32 = 1;
/// Longest reason, in characters.
const MAX_REASON: usize = 1_000;

/// What a modifying hook is asked about.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    pub channel: &'a str,
    pub conversation: &'a str,
    /// Who asked for the turn.
    pub requester: &'a Requester,
    pub session_id: Option<SessionId>,
    pub continuation_id: Option<ContinuationId>,
    pub call: Option<(ToolCallId, &'a str)>,
    /// The model that would be asked first.
    pub model: Option<&'a str>,
}

impl About<'_> {
    /// Whom limits count for: one person has one count, whichever account they use.
    pub fn person(&self) -> &str {
        person(self.requester)
    }
}

/// Whom limits count for.
pub fn person(requester: &Requester) -> &str {
    requester.person.as_deref().unwrap_or(&requester.id)
}

/// The field that hooks at this point may change.
pub const fn field(point: HookPoint) -> Option<&'static str> {
    match point {
        HookPoint::BeforeLlmCall => Some("text"),
        HookPoint::BeforeToolCall => Some("args"),
        HookPoint::AfterToolCall
        | HookPoint::SessionStart
        | HookPoint::SessionEnd
        | HookPoint::ApprovalRequested
        | HookPoint::ApprovalDecided
        | HookPoint::MessageReceived
        | HookPoint::ReplySent => None,
    }
}

/// The document of a modifying point.
pub fn question(
    hook: &str,
    point: HookPoint,
    at_start: bool,
    at: Timestamp,
    about: &About<'_>,
    value: &Value,
) -> Value {
    let mut document = json!({
        "version": VERSION,
        "hook": hook,
        "point": point,
        "at": at,
        "session_id": about.session_id,
        "continuation_id": about.continuation_id,
        "channel": about.channel,
        "conversation": about.conversation,
        "requester": about.requester,
    });
    if let Value::Object(fields) = &mut document {
        if let Some((id, tool)) = about.call {
            let phase = if at_start { "start" } else { "propose" };
            fields.insert("phase".to_owned(), phase.into());
            fields.insert("call_id".to_owned(), json!(id));
            fields.insert("tool".to_owned(), tool.into());
        }
        if let Some(model) = about.model {
            fields.insert("model".to_owned(), model.into());
        }
        if let Some(field) = field(point) {
            fields.insert(field.to_owned(), value.clone());
        }
    }
    document
}

/// A document with everything that is there at this point, made up.
pub fn example(hook: &str, point: HookPoint, at: Timestamp) -> Value {
    let requester = Requester {
        id: "operator:1000".to_owned(),
        display: "example".to_owned(),
        person: None,
    };
    let (call, model, value) = match point {
        HookPoint::BeforeToolCall => (
            Some((ToolCallId::generate(), "read_file")),
            None,
            json!({ "path": "README.md" }),
        ),
        HookPoint::BeforeLlmCall => (None, Some("scripted/demo"), json!("hello")),
        HookPoint::AfterToolCall
        | HookPoint::SessionStart
        | HookPoint::SessionEnd
        | HookPoint::ApprovalRequested
        | HookPoint::ApprovalDecided
        | HookPoint::MessageReceived
        | HookPoint::ReplySent => (None, None, Value::Null),
    };
    let about = About {
        channel: "api",
        conversation: "example",
        requester: &requester,
        session_id: Some(SessionId::generate()),
        continuation_id: Some(ContinuationId::generate()),
        call,
        model,
    };
    question(hook, point, false, at, &about, &value)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    verdict: Word,
    #[serde(default)]
    args: Option<Map<String, Value>>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Pass,
    Change,
    Cancel,
}

/// Reads an answer to a question of this point. The error names what is wrong, and may quote the answer.
pub fn verdict(point: HookPoint, answer: &[u8]) -> Result<HookVerdict, String> {
    let text = std::str::from_utf8(answer).map_err(|_| "its answer is not UTF-8".to_owned())?;
    if text.trim().is_empty() {
        return Err("it answered nothing; expected {\"verdict\":\"pass\"}".to_owned());
    }
    let said: Answer = serde_json::from_str(text)
        .map_err(|error| format!("its answer is no verdict: {}", short(&error.to_string())))?;
    let value = match field(point) {
        Some("args") if said.text.is_none() => said.args.map(Value::Object),
        Some("text") if said.args.is_none() => said.text.map(Value::String),
        Some(field) => return Err(format!("at {point} only `{field}` can be changed")),
        None if said.args.is_some() || said.text.is_some() => {
            return Err(format!("at {point} nothing can be changed"));
        }
        None => None,
    };
    match (said.verdict, value, said.reason) {
        (Word::Pass, None, _) => Ok(HookVerdict::Pass),
        (Word::Change, Some(Value::String(text)), None) if text.trim().is_empty() => {
            Err("it changed the text to nothing".to_owned())
        }
        (Word::Change, Some(value), None) => Ok(HookVerdict::Change {
            field: field(point).unwrap_or_default().to_owned(),
            value,
        }),
        (Word::Change, None, _) => {
            let field = field(point).unwrap_or("nothing");
            Err(format!("`change` needs `{field}` at {point}"))
        }
        (Word::Cancel, None, reason) => Ok(HookVerdict::Cancel {
            reason: match reason.as_deref().map(str::trim) {
                Some(reason) if !reason.is_empty() => reason.chars().take(MAX_REASON).collect(),
                Some(_) | None => "it gave no reason".to_owned(),
            },
        }),
        (Word::Pass | Word::Cancel, Some(_), _) => {
            Err("only `change` comes with something to change".to_owned())
        }
        (Word::Change, Some(_), Some(_)) => Err("`reason` belongs to `cancel`".to_owned()),
    }
}

fn short(text: &str) -> String {
    text.chars().take(200).collect()
}
