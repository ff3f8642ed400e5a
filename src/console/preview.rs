//! What a call is about, in one line. Outside text: it is revealed where it is shown.

use crate::protocol::approval::{Approval, Preview};
use crate::protocol::enums::ApprovalKind;

/// An argument in quotes. Backslash and quote are escaped, line ends are written `\n`.
pub fn quoted(argument: &str) -> String {
    format!(
        "\"{}\"",
        argument
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}

/// One line about the arguments, for lists.
pub fn one_line(approval: &Approval) -> String {
    if approval.kind == ApprovalKind::Question
        && let Some(question) = &approval.question
    {
        return question.lines().next().unwrap_or_default().to_owned();
    }
    match &approval.preview {
        Preview::Diff { path, .. } => path.clone(),
        Preview::Exec { argv } => words(argv).join(" "),
        Preview::Text { text } => text.chars().take(200).collect(),
        Preview::None => match &approval.args {
            serde_json::Value::Object(map) => map
                .iter()
                .map(|(k, v)| format!("{k}={}", short_value(v)))
                .collect::<Vec<_>>()
                .join(" "),
            serde_json::Value::Null => String::new(),
            other => short_value(other),
        },
    }
}

/// The words of a command, each in quotes where it needs them.
pub fn words(argv: &[String]) -> Vec<String> {
    argv.iter().map(|word| quoted_if_needed(word)).collect()
}

fn short_value(value: &serde_json::Value) -> String {
    let text = match value {
        serde_json::Value::String(text) => return text.chars().take(120).collect(),
        other => other.to_string(),
    };
    text.chars().take(120).collect()
}

fn quoted_if_needed(argument: &str) -> String {
    if !argument.is_empty()
        && argument
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c))
    {
        argument.to_owned()
    } else {
        quoted(argument)
    }
}
