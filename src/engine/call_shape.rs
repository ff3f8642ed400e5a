//! A call as rules look at it: its words, its places, and comparing them.

use serde_json::Value;

use crate::protocol::approval::PlanFacts;
use crate::protocol::enums::RuleMatcher;
use crate::protocol::rule::{COMMAND, COMMANDS, runs_shell};
use crate::text::quote::quote;
use crate::tools::script::simple_commands;

/// The argument that holds the words of a command.
pub const ARGV: &str = "argv";
/// The argument that holds the directory of a command.
pub const CWD: &str = "cwd";
/// Arguments that name a place in the workspace.
pub const PLACES: [&str; 2] = ["path", CWD];
/// A last word of a pattern that stands for any further words.
const REST: &str = "**";

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

/// A place as it is compared: names below the workspace, or below the root of the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    absolute: bool,
    names: Vec<String>,
    /// Whether it was written with a slash at its end.
    open: bool,
}

impl Location {
    /// A place as text names it: without `.`, `..`, doubled slashes and the workspace in front. Links are not followed.
    pub fn of(text: &str, workspace: &str) -> Self {
        let mut location = Self::plain(text);
        if !workspace.is_empty() && location.absolute {
            let root = Self::plain(workspace).names;
            if location.names.starts_with(&root) {
                location.names.drain(..root.len());
                location.absolute = false;
            }
        }
        location
    }

    fn plain(text: &str) -> Self {
        let mut names: Vec<String> = Vec::new();
        for name in text.split('/') {
            match name {
                "" | "." => {}
                ".." if names.last().is_some_and(|last| last != "..") => {
                    names.pop();
                }
                other => names.push(other.to_owned()),
            }
        }
        Self {
            absolute: text.starts_with('/'),
            open: text.ends_with('/') && !names.is_empty(),
            names,
        }
    }

    /// Whether it lies in the workspace, or is it.
    pub fn is_inside(&self) -> bool {
        !self.absolute && self.names.first().is_none_or(|name| name != "..")
    }

    /// Whether both lead to the same place.
    pub fn same(&self, other: &Self) -> bool {
        self.absolute == other.absolute && self.names == other.names
    }

    /// Whether it was written with `/` at its end.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// How many names it has.
    pub fn depth(&self) -> usize {
        self.names.len()
    }

    /// Whether it is `other` or lies below it, by whole names.
    pub fn is_at_or_below(&self, other: &Self) -> bool {
        self.absolute == other.absolute
            && self.names.starts_with(&other.names)
            && (!other.names.is_empty() || self.absolute || self.is_inside())
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.names.join("/");
        match (self.absolute, names.is_empty()) {
            (true, _) => write!(f, "/{names}"),
            (false, true) => f.write_str("."),
            (false, false) => f.write_str(&names),
        }
    }
}

/// A call as rules look at it: what was asked for, and where that leads.
#[derive(Debug, Clone, Copy)]
pub struct CallShape<'a> {
    pub tool: &'a str,
    pub args: &'a Value,
    /// Workspace of its channel: places in it are the same with and without it in front.
    pub workspace: &'a str,
    /// What the tool made of the arguments: directory, program and path, links followed.
    pub plan: &'a PlanFacts,
}

impl CallShape<'_> {
    /// Where an argument that names a place leads; none = it names none, or nothing came of the call.
    pub fn resolved(&self, field: &str) -> Option<&str> {
        match field {
            "path" => self.plan.path.as_deref(),
            "cwd" => self.plan.cwd.as_deref(),
            _ => None,
        }
    }

    /// The script that it gives a shell; none = it gives none.
    pub fn script(&self) -> Option<&str> {
        let field = match self.tool {
            COMMANDS => "script",
            tool if runs_shell(tool) => COMMAND,
            _ => return None,
        };
        self.args.get(field)?.as_str()
    }

    /// The simple commands of the script that it runs; none = it runs none, or one that is more than a row of them.
    pub fn commands_of_script(&self) -> Option<Vec<Vec<String>>> {
        simple_commands(self.script()?)
    }

    /// The same arguments with places as they lead.
    pub fn resolved_args(&self) -> Value {
        let mut args = self.args.clone();
        for field in PLACES {
            if let (Some(resolved), Some(value)) = (self.resolved(field), args.get_mut(field)) {
                *value = Value::from(Location::of(resolved, self.workspace).to_string());
            }
        }
        args
    }

    /// Whether a place that the arguments name is another one through a link.
    pub fn follows_a_link(&self) -> bool {
        PLACES.iter().any(|field| {
            let asked = self.args.get(*field).and_then(Value::as_str);
            match (asked, self.resolved(field)) {
                (Some(asked), Some(resolved)) => {
                    let of = |text: &str| Location::of(text, self.workspace);
                    !of(asked).same(&of(resolved))
                }
                (Some(_) | None, _) => false,
            }
        })
    }
}

/// Whether words fit those of a rule.
pub fn words_match(matcher: RuleMatcher, value: &[String], words: &[String]) -> bool {
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
