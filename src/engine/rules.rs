//! Whether a rule matches a call. Nothing is read but what names lead to.
//!
//! What allows matches narrowly, what forbids matches widely: a rule that allows never covers a call whose other
//! arguments decide as much as the one it looks at.

use std::path::Path;

use serde_json::Value;

use crate::engine::policy::covers;
use crate::engine::programs::{self, Fit};
use crate::protocol::approval::PlanFacts;
use crate::protocol::rule::{COMMANDS, Rule};
use crate::protocol::words::{RuleMatcher, VerdictWord};
use crate::text::quote::quote;
use crate::tools::canonical::canonical_json;

/// The argument that holds the words of a command.
pub const ARGV: &str = "argv";
/// The argument that holds the directory of a command.
const CWD: &str = "cwd";
/// Arguments that name a place in the workspace.
const PLACES: [&str; 2] = ["path", CWD];
/// Tools that read everything below a directory.
const WALKERS: [&str; 2] = ["list_files", "search_files"];
/// A last word of a pattern that stands for any further words.
const REST: &str = "**";

/// The field that is compared where nothing else is said.
pub fn default_field(tool: &str) -> Option<&'static str> {
    (tool == COMMANDS).then_some(ARGV)
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

    fn same(&self, other: &Self) -> bool {
        self.absolute == other.absolute && self.names == other.names
    }

    /// Whether it is `other` or lies below it, by whole names.
    fn is_at_or_below(&self, other: &Self) -> bool {
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
    /// Tool name.
    pub tool: &'a str,
    /// Its arguments.
    pub args: &'a Value,
    /// Workspace of its channel: places in it are the same with and without it in front.
    pub workspace: &'a str,
    /// What the tool made of the arguments: directory, program and path, links followed.
    pub plan: &'a PlanFacts,
}

impl CallShape<'_> {
    /// Where an argument that names a place leads; none = it names none, or nothing came of the call.
    fn resolved(&self, field: &str) -> Option<&str> {
        match field {
            "path" => self.plan.path.as_deref(),
            "cwd" => self.plan.cwd.as_deref(),
            _ => None,
        }
    }

    /// The same arguments with places as they lead.
    fn resolved_args(&self) -> Value {
        let mut args = self.args.clone();
        for field in PLACES {
            if let (Some(resolved), Some(value)) = (self.resolved(field), args.get_mut(field)) {
                *value = Value::from(Location::of(resolved, self.workspace).to_string());
            }
        }
        args
    }

    /// Whether a place that the arguments name is another one through a link.
    fn follows_a_link(&self) -> bool {
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

fn text_matches(matcher: RuleMatcher, value: &str, text: &str) -> bool {
    match matcher {
        RuleMatcher::Exact => text == value,
        RuleMatcher::Prefix => text.starts_with(value),
        RuleMatcher::Pattern => fits(value, text),
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

/// Whether a place is what a rule names. `narrow`: as a rule that allows compares, by whole names; else a place that
/// only begins with the same letters fits a prefix too.
fn place_matches(rule: &Rule, text: &str, workspace: &str, narrow: bool) -> bool {
    let (value, place) = (
        Location::of(&rule.value, workspace),
        Location::of(text, workspace),
    );
    // What is forbidden by the name of a link is forbidden by its own name.
    if !narrow
        && rule.matcher != RuleMatcher::Pattern
        && let Ok(real) = Path::new(workspace).join(&rule.value).canonicalize()
        && place.is_at_or_below(&Location::of(&real.to_string_lossy(), workspace))
        && (rule.matcher == RuleMatcher::Prefix
            || place.same(&Location::of(&real.to_string_lossy(), workspace)))
    {
        return true;
    }
    match rule.matcher {
        RuleMatcher::Exact => place.same(&value),
        RuleMatcher::Prefix if narrow => {
            place.is_at_or_below(&value) && !(value.open && place.names.len() == value.names.len())
        }
        RuleMatcher::Prefix => {
            place.is_at_or_below(&value)
                || !value.open && place.to_string().starts_with(&value.to_string())
        }
        RuleMatcher::Pattern => fits(&value.to_string(), &place.to_string()),
    }
}

/// The first word of the commands that a rule compares, where it stands for itself.
pub fn first_word(field: Option<&str>, matcher: RuleMatcher, value: &str) -> Option<String> {
    let first = match field {
        Some(ARGV) => words(value)?.into_iter().next()?,
        None if matcher == RuleMatcher::Exact => {
            let args: Value = serde_json::from_str(value).ok()?;
            return Some(args.get(ARGV)?.get(0)?.as_str()?.to_owned());
        }
        Some(_) | None => return None,
    };
    let wild = matcher == RuleMatcher::Pattern && first.contains(['*', '?']);
    (!wild).then_some(first)
}

/// Whether a command runs where, and with what, a rule that allows it says. Always for calls that are no commands.
fn within(rule: &Rule, call: &CallShape<'_>) -> bool {
    if call.tool != COMMANDS {
        return true;
    }
    let (Some(cwd), Some(executable)) = (&call.plan.cwd, &call.plan.executable) else {
        return false;
    };
    if call.plan.unbound.is_some() {
        return false;
    }
    let of = |text: &str| Location::of(text, call.workspace);
    let cwd_of_rule = rule.cwd.as_deref().unwrap_or(".");
    if rule.field.as_deref() != Some(CWD) && !of(cwd).same(&of(cwd_of_rule)) {
        return false;
    }
    let executable = of(executable);
    match (
        &rule.executable,
        first_word(rule.field.as_deref(), rule.matcher, &rule.value),
    ) {
        (Some(program), _) => executable.same(&of(program)),
        // A program of the workspace is the file of that name, not what a link there leads to.
        (None, Some(word)) if word.contains('/') && !word.starts_with('/') => {
            executable.same(&of(&format!("{cwd_of_rule}/{word}")))
        }
        // The same word names the same program: it is looked up in our own search path.
        (None, Some(_) | None) => true,
    }
}

/// Whether a rule matches a call, whatever its reach and whether it is in force.
pub fn matches(rule: &Rule, call: &CallShape<'_>) -> bool {
    fit(rule, call) == Fit::Sure
}

/// How a rule fits a call. One that allows has to fit both what was asked for and where that leads; one that forbids or
/// asks fits when either does, and perhaps where nothing proves that it does not.
pub fn fit(rule: &Rule, call: &CallShape<'_>) -> Fit {
    if !covers(&rule.tool, call.tool) {
        return Fit::Never;
    }
    let wide = rule.verdict != VerdictWord::Allow;
    if wide && rule.field.as_deref() == Some(ARGV) && call.tool == COMMANDS {
        return programs::fit(rule, call);
    }
    if compares(rule, call) {
        Fit::Sure
    } else if wide && reads_from_above(rule, call) {
        Fit::Perhaps
    } else {
        Fit::Never
    }
}

/// Whether a call reads everything below a directory that what a rule names may lie in.
fn reads_from_above(rule: &Rule, call: &CallShape<'_>) -> bool {
    let (Some("path"), Some(start)) = (rule.field.as_deref(), &call.plan.path) else {
        return false;
    };
    if !WALKERS.contains(&call.tool) {
        return false;
    }
    let start = Location::of(start, call.workspace);
    let named = |value: &str| Location::of(value, call.workspace);
    match rule.matcher {
        RuleMatcher::Exact | RuleMatcher::Prefix => named(&rule.value).is_at_or_below(&start),
        RuleMatcher::Pattern => {
            let fixed = rule.value.split(['*', '?']).next().unwrap_or_default();
            let fixed = fixed
                .rsplit_once('/')
                .map_or("", |(directory, _)| directory);
            let fixed = named(fixed);
            fixed.is_at_or_below(&start) || start.is_at_or_below(&fixed)
        }
    }
}

fn compares(rule: &Rule, call: &CallShape<'_>) -> bool {
    let allows = rule.verdict == VerdictWord::Allow;
    if allows && !within(rule, call) {
        return false;
    }
    let Some(field) = rule.field.as_deref() else {
        let fits = |args: &Value| text_matches(rule.matcher, &rule.value, &canonical_json(args));
        return if allows {
            fits(call.args) && !call.follows_a_link()
        } else {
            fits(call.args) || fits(&call.resolved_args())
        };
    };
    let value = call.args.get(field);
    if PLACES.contains(&field) && value.is_none_or(Value::is_string) {
        let asked = value.and_then(Value::as_str);
        let fits = |text: &str| place_matches(rule, text, call.workspace, allows);
        let resolved = call.resolved(field).map(fits);
        return match (asked.map(fits), allows) {
            (asked, true) => asked == Some(true) && resolved == Some(true),
            (asked, false) => asked == Some(true) || resolved == Some(true),
        };
    }
    match value {
        None => false,
        Some(Value::String(text)) => text_matches(rule.matcher, &rule.value, text),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            let argv: Vec<String> = items
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            words(&rule.value).is_some_and(|value| {
                words_match(rule.matcher, &value, &argv)
                    && !(allows && field == ARGV && call.args.get("stdin").is_some())
            })
        }
        Some(other) => text_matches(rule.matcher, &rule.value, &canonical_json(other)),
    }
}

/// Why a call asks that a rule may forbid; none = each rule surely does, or surely does not.
pub fn doubt(rules: &[Rule], call: &CallShape<'_>) -> Option<String> {
    let rule = doubtful(rules, call).into_iter().next()?;
    Some(format!(
        "rule {} of {}: {}, and nothing proves that this call stays clear of it",
        rule.id,
        rule.by,
        rule.in_words()
    ))
}

/// The rules that may forbid a call.
pub fn doubtful(rules: &[Rule], call: &CallShape<'_>) -> Vec<Rule> {
    rules_that(rules, |rule| fit(rule, call) == Fit::Perhaps)
}

/// The rules that match a call and have uses left, in the order they are asked: what forbids, what asks, what allows.
pub fn asked(rules: &[Rule], call: &CallShape<'_>) -> Vec<Rule> {
    rules_that(rules, |rule| matches(rule, call))
}

fn rules_that(rules: &[Rule], fits: impl Fn(&Rule) -> bool) -> Vec<Rule> {
    let mut matching: Vec<Rule> = rules
        .iter()
        .filter(|rule| rule.max_uses.is_none_or(|max| rule.uses < max))
        .filter(|rule| fits(rule))
        .cloned()
        .collect();
    matching.sort_by_key(|rule| match rule.verdict {
        VerdictWord::Deny => 0,
        VerdictWord::Ask => 1,
        VerdictWord::Allow => 2,
    });
    matching
}
