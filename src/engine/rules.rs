//! Whether a rule matches a call. Pure.
//!
//! What allows matches narrowly, what forbids matches widely: a rule that allows never covers a call whose other
//! arguments decide as much as the one it looks at.

use serde_json::Value;

use crate::engine::policy::covers;
use crate::protocol::rule::Rule;
use crate::protocol::words::{RuleMatcher, VerdictWord};
use crate::text::quote::quote;
use crate::tools::canonical::canonical_json;

/// The argument that holds the words of a command.
pub const ARGV: &str = "argv";
/// Arguments that name a place in the workspace: compared without `.`, `..` and doubled slashes.
const PLACES: [&str; 2] = ["path", "cwd"];
/// A last word of a pattern that stands for any further words.
const REST: &str = "**";

/// The field that is compared where nothing else is said.
pub fn default_field(tool: &str) -> Option<&'static str> {
    (tool == "execute_command").then_some(ARGV)
}

/// Splits text into words as a shell would, without anything else that a shell does. None = a quote is not closed.
pub fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => {
                let into = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => into.push(chars.next()?),
                        other => into.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

/// The words as [`words`] takes them.
pub fn unwords(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    quoted.join(" ")
}

/// Whether text fits a pattern of `*` and `?`.
pub fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            Some(_) | None => {
                let Some((at, from)) = star else {
                    return false;
                };
                star = Some((at, from + 1));
                p = at + 1;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// A place without `.`, `..` and doubled slashes, as seen from the workspace; links are not followed.
fn place(text: &str, workspace: &str) -> String {
    let tidy = tidy(text);
    let inside = tidy
        .strip_prefix(workspace.trim_end_matches('/'))
        .and_then(|rest| rest.strip_prefix('/'))
        .filter(|_| !workspace.is_empty());
    inside.map(str::to_owned).unwrap_or(tidy)
}

fn tidy(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    let root = if text.starts_with('/') { "/" } else { "" };
    let end = if text.ends_with('/') && !parts.is_empty() {
        "/"
    } else {
        ""
    };
    format!("{root}{}{end}", parts.join("/"))
}

fn text_matches(matcher: RuleMatcher, value: &str, text: &str) -> bool {
    match matcher {
        RuleMatcher::Exact => text == value,
        RuleMatcher::Prefix => text.starts_with(value),
        RuleMatcher::Pattern => fits(value, text),
    }
}

fn words_match(matcher: RuleMatcher, value: &[String], words: &[String]) -> bool {
    match matcher {
        RuleMatcher::Exact => words == value,
        RuleMatcher::Prefix => words.starts_with(value),
        RuleMatcher::Pattern => {
            let (value, open) = match value.split_last() {
                Some((last, before)) if last == REST => (before, true),
                Some(_) | None => (value, false),
            };
            (words.len() == value.len() || open && words.len() > value.len())
                && value.iter().zip(words).all(|(one, word)| fits(one, word))
        }
    }
}

/// Whether something beside the words of a command decides what it does.
fn more_than_argv(args: &Value, words: &[String]) -> bool {
    let relative = words
        .first()
        .is_some_and(|program| program.contains('/') && !program.starts_with('/'));
    args.get("stdin").is_some() || relative && args.get("cwd").is_some()
}

/// Whether a rule matches a call, whatever its reach and whether it is in force. `workspace` is that of the call's
/// channel: places in it are the same with and without it in front.
pub fn matches(rule: &Rule, tool: &str, args: &Value, workspace: &str) -> bool {
    if !covers(&rule.tool, tool) {
        return false;
    }
    let Some(field) = rule.field.as_deref() else {
        return text_matches(rule.matcher, &rule.value, &canonical_json(args));
    };
    match args.get(field) {
        None => false,
        Some(Value::String(text)) if PLACES.contains(&field) => text_matches(
            rule.matcher,
            &place(&rule.value, workspace),
            &place(text, workspace),
        ),
        Some(Value::String(text)) => text_matches(rule.matcher, &rule.value, text),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            let found: Vec<String> = items
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            let allows = rule.verdict == VerdictWord::Allow;
            words(&rule.value).is_some_and(|value| {
                words_match(rule.matcher, &value, &found)
                    && !(allows && field == ARGV && more_than_argv(args, &found))
            })
        }
        Some(other) => text_matches(rule.matcher, &rule.value, &canonical_json(other)),
    }
}

/// The rules that match a call and have uses left, in the order they are asked: what forbids, what asks, what allows.
pub fn asked(rules: &[Rule], tool: &str, args: &Value, workspace: &str) -> Vec<Rule> {
    let mut matching: Vec<Rule> = rules
        .iter()
        .filter(|rule| rule.max_uses.is_none_or(|max| rule.uses < max))
        .filter(|rule| matches(rule, tool, args, workspace))
        .cloned()
        .collect();
    matching.sort_by_key(|rule| match rule.verdict {
        VerdictWord::Deny => 0,
        VerdictWord::Ask => 1,
        VerdictWord::Allow => 2,
    });
    matching
}
