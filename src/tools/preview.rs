//! One line that says what a call is about.
//!
//! The text is raw: nothing here makes outside text safe to show. Callers reveal it.

use serde_json::Value;

use crate::protocol::enums::ExternalAgent;
use crate::protocol::rule::{COMMAND, runs_shell};
use crate::text::quote::quote;
use crate::tools::canonical::canonical_json;
use crate::tools::http::url;

/// Longest preview, in characters.
pub const MAX_CHARS: usize = 200;

/// A preview of a call in at most 200 characters on one line: the quoted command of `execute_command`, the command of a
/// shell, the path of a file tool, compact JSON of anything else.
pub fn one_line(tool: &str, args: &Value) -> String {
    let text = match tool {
        "execute_command" => command_line(args),
        "read_file" | "write_file" | "edit_file" | "delete_file" | "send_file" => {
            text_of(args, "path").map(ToOwned::to_owned)
        }
        "move_file" => text_of(args, "from")
            .zip(text_of(args, "to"))
            .map(|(from, to)| format!("{from} → {to}")),
        "apply_patch" => text_of(args, "patch").map(patched),
        "http_fetch" => fetch(args),
        "python" => text_of(args, "code").map(|code| code.trim().to_owned()),
        "list_files" => Some(listing(args)),
        "remember" => text_of(args, "text").map(quote),
        "ask_operator" => text_of(args, "question").map(quote),
        "recall" => text_of(args, "query").map(quote),
        "list_datasets" => Some("all".to_owned()),
        "describe_dataset" | "load_dataset" => text_of(args, "name").map(ToOwned::to_owned),
        "query_dataset" => Some(question(args)),
        "search_files" => text_of(args, "pattern").map(|pattern| {
            format!(
                "{} in {}",
                quote(pattern),
                text_of(args, "path").unwrap_or(".")
            )
        }),
        tool if runs_shell(tool) => text_of(args, COMMAND).map(ToOwned::to_owned),
        tool => ExternalAgent::of_tool(tool).and_then(|(_, name)| of_agent(name, args)),
    };
    shorten(&text.unwrap_or_else(|| canonical_json(args)))
}

/// What a call of another agent is about, where its arguments name one thing.
fn of_agent(name: &str, args: &Value) -> Option<String> {
    if name == "apply_patch" {
        return text_of(args, COMMAND).map(patched);
    }
    let named = ["file_path", "notebook_path", "absolute_path", "url"];
    let mut named = named.iter().filter_map(|field| text_of(args, field));
    named.next().map(ToOwned::to_owned)
}

fn text_of<'a>(args: &'a Value, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str)
}

/// Method and address, without credentials in its query. An address that is none stands as it is: nothing is fetched.
fn fetch(args: &Value) -> Option<String> {
    let given = text_of(args, "url")?;
    let method = text_of(args, "method").unwrap_or("GET");
    let address = url::parse(given).map_or_else(|_| given.to_owned(), |found| url::shown(&found));
    Some(format!("{method} {address}"))
}

/// The files that a patch names.
fn patched(patch: &str) -> String {
    let names: Vec<&str> = patch
        .lines()
        .filter_map(|line| line.strip_prefix("*** ")?.split_once(" File: "))
        .map(|(_, name)| name.trim())
        .take(MAX_CHARS)
        .collect();
    names.join(", ")
}

fn listing(args: &Value) -> String {
    let path = text_of(args, "path").unwrap_or(".");
    match text_of(args, "glob") {
        Some(glob) => format!("{path} ({glob})"),
        None => path.to_owned(),
    }
}

/// The dataset, and what is asked of it.
fn question(args: &Value) -> String {
    let name = text_of(args, "name").unwrap_or_default();
    let mut rest = args.clone();
    match rest.as_object_mut() {
        Some(fields) => {
            fields.remove("name");
            if fields.is_empty() {
                return name.to_owned();
            }
        }
        None => return name.to_owned(),
    }
    format!("{name} {}", canonical_json(&rest))
}

fn command_line(args: &Value) -> Option<String> {
    if let Some(script) = text_of(args, "script") {
        return Some(format!("sh -c {}", quote(script)));
    }
    let words = args.get("argv")?.as_array()?;
    let quoted: Vec<String> = words
        .iter()
        .take(MAX_CHARS)
        .map(|word| word.as_str().map_or_else(|| word.to_string(), quote))
        .collect();
    Some(quoted.join(" "))
}

/// One line of at most [`MAX_CHARS`] characters; line breaks become spaces.
fn shorten(text: &str) -> String {
    let line = |c: char| {
        if matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}') {
            ' '
        } else {
            c
        }
    };
    if text.chars().nth(MAX_CHARS).is_none() {
        return text.chars().map(line).collect();
    }
    text.chars()
        .take(MAX_CHARS - 1)
        .map(line)
        .chain(std::iter::once('…'))
        .collect()
}
