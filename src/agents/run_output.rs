//! What Claude Code writes while it runs without a terminal, a JSON object a line. Pure.
//!
//! Nothing counts as an end but the line of the result. What else a line holds is not looked at.

use serde_json::Value;

/// Longest text that is shown of one line to people watching, in bytes.
const MAX_SHOWN: usize = 4096;

/// How a run ended, as far as the program said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// A call waits for a decision. The program asks again about it when it goes on.
    Deferred {
        /// The program's own id of the call.
        call: String,
        /// The program's own name of the tool.
        tool: String,
    },
    /// It answered.
    Answered {
        /// Its answer, or what went wrong.
        text: String,
        /// Whether it calls it a failure.
        is_error: bool,
    },
    /// It said nothing at all: it did not begin.
    Silent,
    /// It said something, and nobody knows how it ended.
    Unknown,
}

/// What a run wrote so far.
#[derive(Debug, Default)]
pub struct RunOutput {
    has_lines: bool,
    result: Option<Value>,
}

impl RunOutput {
    /// Takes a line; the text in it that people watching see.
    pub fn take(&mut self, line: &[u8]) -> Option<String> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        self.has_lines = true;
        let line: Value = serde_json::from_slice(line).ok()?;
        match line.get("type").and_then(Value::as_str)? {
            "result" => {
                self.result = Some(line);
                None
            }
            "assistant" => {
                let parts = line.get("message")?.get("content")?.as_array()?;
                let shown: Vec<String> = parts.iter().filter_map(shown).collect();
                (!shown.is_empty()).then(|| shown.join("\n") + "\n")
            }
            _ => None,
        }
    }

    /// How the run ended, once its program has.
    pub fn end(&self) -> RunEnd {
        let Some(result) = &self.result else {
            return if self.has_lines {
                RunEnd::Unknown
            } else {
                RunEnd::Silent
            };
        };
        let text = |field: &str| result.get(field).and_then(Value::as_str);
        if text("stop_reason") == Some("tool_deferred") {
            let deferred = result.get("deferred_tool_use");
            let of = |field| Some(deferred?.get(field)?.as_str()?.to_owned());
            return match (of("id"), of("name")) {
                (Some(call), Some(tool)) => RunEnd::Deferred { call, tool },
                _ => RunEnd::Unknown,
            };
        }
        let answer = text("result").filter(|text| !text.trim().is_empty());
        let is_error = result.get("is_error").and_then(Value::as_bool) != Some(false);
        RunEnd::Answered {
            text: answer.or(text("subtype")).unwrap_or_default().to_owned(),
            is_error: is_error || text("subtype") != Some("success"),
        }
    }
}

/// A part of a message as people see it.
fn shown(part: &Value) -> Option<String> {
    let text = |field: &str| part.get(field).and_then(Value::as_str);
    let mut shown = match text("type")? {
        "text" => text("text")?.to_owned(),
        "tool_use" => format!("[{}]", text("name")?),
        _ => return None,
    };
    shown.truncate(shown.floor_char_boundary(MAX_SHOWN));
    Some(shown)
}
