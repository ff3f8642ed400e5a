//! What an approval asks, in one plain sentence, and which of its arguments that leaves to be shown. The same on every
//! surface. Outside text: it is revealed where it is shown.

use serde_json::Value;

use crate::protocol::approval::{Approval, Preview};
use crate::protocol::dataset::LOAD_DATASET;
use crate::protocol::enums::{ApprovalKind, ExternalAgent};
use crate::protocol::file_change::FILE_TOOLS;
use crate::protocol::mcp::server_of;
use crate::protocol::rule::{BASH, FETCH, PYTHON, runs_shell};
use crate::text::quote::quote;

/// Longest command in a sentence, in characters.
const MAX_COMMAND: usize = 120;
/// The tool whose complete difference is its content.
const WRITE_FILE: &str = "write_file";
/// What an operator must know of a call that an external agent makes.
pub const MADE_ELSEWHERE: &str = "Leverframe passes your answer on. It does not make this call, and cannot check that what \
     runs is what is shown.";

/// What an operator must know of a call whose agent does not wait.
pub const ENDED_MEANWHILE: &str =
    "The agent has ended. Your decision starts it again, and it asks for this call again.";

/// What would happen, in one sentence.
pub fn sentence(approval: &Approval) -> String {
    let tool = &approval.tool;
    if let (ApprovalKind::Execute, Some((agent, name))) =
        (approval.kind, ExternalAgent::of_tool(tool))
    {
        return of_agent(agent, name, approval);
    }
    match approval.kind {
        ApprovalKind::Execute if server_of(tool).is_some() => {
            let server = server_of(tool).unwrap_or_default();
            format!("Calls {tool}, a tool of the server {server}.")
        }
        ApprovalKind::Execute => match &approval.preview {
            Preview::Diff { path, unified } => change(path, unified, approval),
            Preview::Exec { argv } => command(argv, approval),
            Preview::Text { text } if tool == "remember" => {
                format!("Keeps a text of {} for later turns.", characters(text))
            }
            Preview::Text { text } if tool == FETCH => fetch(Some(text), approval),
            Preview::None if tool == FETCH => fetch(None, approval),
            Preview::Text { text } if tool == BASH => match text.trim().lines().count() {
                0 | 1 => "Runs a command in the shell of this session.".to_owned(),
                lines => format!("Runs {lines} lines in the shell of this session."),
            },
            Preview::Text { .. } if tool == LOAD_DATASET => {
                let name = approval.args.get("name").and_then(Value::as_str);
                let name = name.unwrap_or_default();
                format!("Makes the dataset {name} a variable of this session's Python.")
            }
            Preview::Text { text } if tool == PYTHON => match text.trim().lines().count() {
                1 => "Runs a line of Python.".to_owned(),
                lines => format!("Runs {lines} lines of Python."),
            },
            Preview::Text { text } if approval.plan.host.is_some() => request(text, approval),
            Preview::Text { text } => format!("Calls {tool} with a text of {}.", characters(text)),
            Preview::None if tool == "send_file" => {
                let path = approval.args.get("path").and_then(Value::as_str);
                format!("Sends {} to the conversation.", path.unwrap_or_default())
            }
            Preview::None => format!("Calls {tool}."),
        },
        ApprovalKind::ResolveUnknown => format!("Nobody knows whether {tool} happened."),
        ApprovalKind::Resend => "Nobody knows whether this message was delivered.".to_owned(),
        ApprovalKind::Budget => "Goes on although a budget is used up.".to_owned(),
        ApprovalKind::Question => match server_of(tool) {
            Some(server) => {
                format!("The tool server {server} asks while {tool} runs. Your answer goes to it.")
            }
            None => "The agent asks a person and goes on with the answer.".to_owned(),
        },
        ApprovalKind::Pairing => format!(
            "Lets {} write to the bot of {}.",
            approval.requester.id, approval.channel
        ),
        ApprovalKind::Memory => "Remembers something for later turns.".to_owned(),
        ApprovalKind::ServerPin => format!(
            "Trusts what the tool server {} offers now: agents get its tools.",
            approval.requester.display
        ),
        ApprovalKind::PolicyRaise => {
            format!("Raises what the agent of {} does alone.", approval.channel)
        }
    }
}

/// What another agent asks to do with its own tool.
fn of_agent(agent: ExternalAgent, name: &str, approval: &Approval) -> String {
    let agent = agent.product();
    match &approval.preview {
        Preview::Diff { path, unified } => {
            format!(
                "{agent} asks for {name}. {}",
                change(path, unified, approval)
            )
        }
        Preview::Text { text } if runs_shell(&approval.tool) => match text.trim().lines().count() {
            0 | 1 => format!("{agent} asks to run a command with {name}."),
            lines => format!("{agent} asks to run {lines} lines with {name}."),
        },
        Preview::Text { .. } | Preview::Exec { .. } | Preview::None => {
            format!("{agent} asks to use {name}.")
        }
    }
}

/// A request that the configuration declares: its method, and the place without the query.
fn request(text: &str, approval: &Approval) -> String {
    let first = text.lines().next().unwrap_or_default();
    let (method, address) = first.split_once(' ').unwrap_or_default();
    let place = place_of(address);
    let end = if place.ends_with('…') { "" } else { "." };
    format!("Calls {}: {method} {place}{end}", approval.tool)
}

/// Host and path of an address, as much as fits. Parameters can hold credentials, so the arguments have them.
fn place_of(address: &str) -> String {
    let whole = address.split_once("://").map_or(address, |(_, rest)| rest);
    let place = whole.split_once('?').map_or(whole, |(place, _)| place);
    let mut shown: String = place.chars().take(MAX_COMMAND).collect();
    if shown.len() < whole.len() {
        shown.push('…');
    }
    shown
}

/// What is fetched, or what is sent where.
fn fetch(body: Option<&str>, approval: &Approval) -> String {
    let argument = |name: &str| approval.args.get(name).and_then(Value::as_str);
    let shown = place_of(argument("url").unwrap_or_default());
    match (body, argument("method").unwrap_or("GET")) {
        (Some(body), method) => format!("Sends {} to {shown} ({method}).", characters(body)),
        (None, method @ ("GET" | "HEAD")) => format!("Fetches {shown} ({method})."),
        (None, method) => format!("Sends {method} to {shown}."),
    }
}

fn characters(text: &str) -> String {
    counted(text.chars().count(), "character")
}

fn counted(count: usize, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

fn change(path: &str, unified: &str, approval: &Approval) -> String {
    let argument = |name: &str| approval.args.get(name).and_then(Value::as_str);
    if approval.tool == "move_file"
        && let Some((from, to)) = argument("from").zip(argument("to"))
    {
        let replaces = unified.lines().any(|line| line.starts_with("--- a/"));
        let and = if replaces {
            " and replaces what is there"
        } else {
            ""
        };
        return format!("Moves {from} to {to}{and}.");
    }
    // What is cut cannot be counted.
    if approval.shortened {
        return match approval.tool.as_str() {
            "delete_file" => format!("Deletes {path}."),
            "edit_file" | "apply_patch" => format!("Changes {path}."),
            _ => format!("Writes {path}."),
        };
    }
    let (added, removed) = changed_lines(unified);
    if approval.tool == "delete_file" {
        return match removed {
            0 => format!("Deletes {path}."),
            removed => format!("Deletes {path} with {}.", counted(removed, "line")),
        };
    }
    let files = approval.plan.paths.len();
    if files > 1 {
        return format!(
            "Changes {files} files: {} added, {removed} removed.",
            counted(added, "line")
        );
    }
    if unified.starts_with("--- /dev/null") {
        format!("Creates {path} with {}.", counted(added, "line"))
    } else if argument("mode") == Some("append") {
        format!("Adds {} to the end of {path}.", counted(added, "line"))
    } else if unified.starts_with("--- ") || unified.starts_with("@@") {
        format!(
            "Changes {path}: {} added, {removed} removed.",
            counted(added, "line")
        )
    } else {
        format!("Replaces all of {path} with {}.", counted(added, "line"))
    }
}

/// How many lines a difference of any number of files adds and removes. A line of a file may look like a head, so the
/// lines of each part are counted down.
fn changed_lines(unified: &str) -> (usize, usize) {
    let (mut added, mut removed) = (0, 0);
    let (mut old_left, mut new_left) = (0_usize, 0_usize);
    for line in unified.split('\n') {
        if old_left + new_left == 0 {
            let mut lengths = line.strip_prefix("@@ -").into_iter().flat_map(|rest| {
                rest.splitn(3, ' ').take(2).map(|range| {
                    let length = range.split_once(',').map_or("1", |(_, length)| length);
                    length.parse().unwrap_or(0)
                })
            });
            old_left = lengths.next().unwrap_or(0);
            new_left = lengths.next().unwrap_or(0);
            continue;
        }
        match line.as_bytes().first() {
            Some(b'+') => {
                added += 1;
                new_left = new_left.saturating_sub(1);
            }
            Some(b'-') => {
                removed += 1;
                old_left = old_left.saturating_sub(1);
            }
            Some(b'\\') => {}
            Some(_) | None => {
                old_left = old_left.saturating_sub(1);
                new_left = new_left.saturating_sub(1);
            }
        }
    }
    (added, removed)
}

fn command(argv: &[String], approval: &Approval) -> String {
    let place = approval.plan.cwd.as_ref();
    let place = place.map_or_else(String::new, |cwd| format!(" in {cwd}"));
    if let Some(script) = approval.args.get("script").and_then(Value::as_str) {
        let lines = counted(script.lines().count(), "line");
        return format!("Runs a shell script of {lines}{place}.");
    }
    let words: Vec<String> = argv.iter().map(|word| quote(word)).collect();
    let whole = words.join(" ");
    let mut line: String = whole.chars().take(MAX_COMMAND).collect();
    if line.len() < whole.len() {
        line.push('…');
    }
    format!("Runs {line}{place}.")
}

/// The arguments that the preview does not show already, by name. None = it shows all.
pub fn arguments_left(approval: &Approval) -> Option<Value> {
    let mut args = approval.args.clone();
    let Some(map) = args.as_object_mut() else {
        return (!args.is_null()).then_some(args);
    };
    // The question says both.
    if approval.kind == ApprovalKind::Question {
        map.remove("question");
        map.remove("choices");
    }
    match &approval.preview {
        Preview::Exec { argv } => {
            let words = map.get("argv").and_then(Value::as_array);
            if words.is_some_and(|words| words.iter().eq(argv.iter())) {
                map.remove("argv");
            }
            let script = map.get("script").and_then(Value::as_str);
            if script.is_some() && script == argv.last().map(String::as_str) {
                map.remove("script");
            }
        }
        Preview::Diff { path, .. } if approval.tool == WRITE_FILE => {
            // The sentence names the mode, and the complete difference is the content.
            map.remove("content");
            map.remove("mode");
            if map.get("path").and_then(Value::as_str) == Some(path) {
                map.remove("path");
            }
        }
        // The diff is made of these.
        Preview::Diff { path, .. } if ExternalAgent::of_tool(&approval.tool).is_some() => {
            map.retain(|name, value| {
                let is_shown = ["content", "old_string", "new_string", "edits", "command"];
                !is_shown.contains(&name.as_str()) && value.as_str() != Some(path)
            });
        }
        Preview::Diff { .. } if FILE_TOOLS.contains(&approval.tool.as_str()) => map.clear(),
        Preview::Text { text }
            if server_of(&approval.tool).is_some()
                && serde_json::to_string_pretty(map).is_ok_and(|all| text.ends_with(&all)) =>
        {
            map.clear();
        }
        Preview::Text { text } => {
            let shown: Vec<String> = (map.iter())
                .filter(|(_, value)| value.as_str() == Some(text))
                .map(|(name, _)| name.clone())
                .collect();
            for name in shown {
                map.remove(&name);
            }
        }
        Preview::None | Preview::Diff { .. } => {}
    }
    (!map.is_empty()).then_some(args)
}

/// What is known of the external agent that makes a call, with a label each; nothing of other calls.
pub fn external_facts(approval: &Approval) -> Vec<(&'static str, String)> {
    let Some(external) = &approval.plan.external else {
        return Vec::new();
    };
    let mut facts = vec![("agent", external.label())];
    facts.push(("session", external.session.clone()));
    facts.extend(external.mode.iter().map(|mode| ("mode", mode.clone())));
    if external.deferred {
        facts.push(("job", ENDED_MEANWHILE.to_owned()));
    }
    facts.push(("gated", MADE_ELSEWHERE.to_owned()));
    facts
}
