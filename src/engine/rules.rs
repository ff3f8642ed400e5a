//! Whether a rule matches a call. Nothing is read but what names lead to.
//!
//! What allows matches narrowly, what forbids matches widely: a rule that allows never covers a call whose other
//! arguments decide as much as the one it looks at.

use std::path::Path;

use serde_json::Value;

use crate::agents::call_plan::names_path;
use crate::engine::call_shape::{ARGV, CWD, CallShape, Location, PLACES, fits, words, words_match};
use crate::engine::policy::covers;
use crate::engine::programs::{self, Fit};
use crate::protocol::enums::{RuleMatcher, VerdictKind};
use crate::protocol::rule::{COMMAND, COMMANDS, FETCH, HOST, Rule, URL, runs_shell};
use crate::tools::canonical::canonical_json;
use crate::tools::execute_command::system_program;
use crate::tools::http::url;

/// Tools that read everything below a directory.
const WALKERS: [&str; 2] = ["list_files", "search_files"];
/// The field that is compared where nothing else is said.
pub fn default_field(tool: &str) -> Option<&'static str> {
    match tool {
        COMMANDS => Some(ARGV),
        tool => runs_shell(tool).then_some(COMMAND),
    }
}

fn text_matches(matcher: RuleMatcher, value: &str, text: &str) -> bool {
    match matcher {
        RuleMatcher::Exact => text == value,
        RuleMatcher::Prefix => text.starts_with(value),
        RuleMatcher::Pattern => fits(value, text),
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
            place.is_at_or_below(&value) && !(value.is_open() && place.depth() == value.depth())
        }
        RuleMatcher::Prefix => {
            place.is_at_or_below(&value)
                || !value.is_open() && place.to_string().starts_with(&value.to_string())
        }
        RuleMatcher::Pattern => fits(&value.to_string(), &place.to_string()),
    }
}

/// Whether a call of [`FETCH`] only reads.
fn is_reading(args: &Value) -> bool {
    let method = args.get("method").and_then(Value::as_str);
    matches!(method, None | Some("GET" | "HEAD"))
}

/// Whether an address is what a rule names, both as they lead and not as they are spelled. `narrow`: as a rule that
/// allows compares: `*` in the host stays in the host, and a path is compared by whole names.
fn address_matches(rule: &Rule, asked: &str, narrow: bool) -> bool {
    let value = rule.value.as_str();
    let Ok(asked) = url::parse(asked) else {
        return !narrow && text_matches(rule.matcher, value, asked);
    };
    match rule.matcher {
        RuleMatcher::Exact => url::parse(value).is_ok_and(|value| value == asked),
        RuleMatcher::Prefix => {
            url::parse(value).is_ok_and(|value| match asked.as_str().strip_prefix(value.as_str()) {
                // What begins with the same letters can be another place.
                Some(rest) if narrow => {
                    rest.is_empty() || value.as_str().ends_with('/') || rest.starts_with(['/', '?'])
                }
                Some(_) => true,
                None => false,
            })
        }
        RuleMatcher::Pattern => {
            let whole = asked.as_str();
            let (Some((scheme, rest)), true) = (value.split_once("://"), narrow) else {
                return fits(value, whole);
            };
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let Some((to, from)) = whole.split_once("://").and_then(|(to, rest)| {
                let (host, path) = rest.split_once('/')?;
                Some(((to, host), path))
            }) else {
                return false;
            };
            fits(scheme, to.0) && fits(host, to.1) && fits(path, from)
        }
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
    if rule.field.as_deref() == Some(ARGV)
        && let Some(commands) = call.commands_of_script()
    {
        let programs = commands.iter().filter_map(|argv| argv.first());
        let is_program = |word: &String| match &rule.executable {
            Some(program) => system_program(word)
                .and_then(|path| path.canonicalize().ok())
                .is_some_and(|path| of(&path.to_string_lossy()).same(&of(program))),
            None => !word.contains('/'),
        };
        let is_there = of(cwd).same(&of(rule.cwd.as_deref().unwrap_or(".")));
        return is_there && programs.into_iter().all(is_program);
    }
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
    let wide = rule.verdict != VerdictKind::Allow;
    if wide && rule.field.as_deref() == Some(ARGV) && call.tool == COMMANDS {
        return programs::fit(rule, call);
    }
    // What stands in the text, and what the text starts.
    if wide && rule.field.as_deref() == Some(COMMAND) && runs_shell(call.tool) {
        let says = if compares(rule, call) {
            Fit::Sure
        } else {
            Fit::Never
        };
        return says.max(programs::fit(rule, call));
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
    let allows = rule.verdict == VerdictKind::Allow;
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
    // What is sent decides as much as where it goes.
    if call.tool == FETCH && allows && !is_reading(call.args) {
        return false;
    }
    if call.tool == FETCH && field == HOST {
        let host = call.plan.host.as_deref();
        // Hosts that begin alike have nothing else in common.
        let narrow = !(allows && rule.matcher == RuleMatcher::Prefix);
        return narrow && host.is_some_and(|host| text_matches(rule.matcher, &rule.value, host));
    }
    let value = call.args.get(field);
    if call.tool == FETCH && field == URL {
        let asked = value.and_then(Value::as_str).unwrap_or_default();
        return address_matches(rule, asked, allows);
    }
    if names_path(field) && !call.plan.paths.is_empty() {
        let mut paths = call.plan.paths.iter();
        let fits = |path: &String| place_matches(rule, path, call.workspace, allows);
        // What allows has to cover every file, what forbids one.
        return if allows {
            paths.all(fits)
        } else {
            paths.any(fits)
        };
    }
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
        // Each of its commands has to be one that the rule covers.
        None if field == ARGV => covers_commands(rule, call) && call.args.get("stdin").is_none(),
        None => false,
        // Text that begins alike can go on with anything: what allows has to cover each of the commands.
        Some(Value::String(_))
            if allows
                && field == COMMAND
                && runs_shell(call.tool)
                && rule.matcher != RuleMatcher::Exact =>
        {
            covers_commands(rule, call)
        }
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

/// Whether the script of a call is a row of simple commands, and the words of a rule fit each of them.
fn covers_commands(rule: &Rule, call: &CallShape<'_>) -> bool {
    let Some((commands, value)) = call.commands_of_script().zip(words(&rule.value)) else {
        return false;
    };
    let mut commands = commands.iter();
    commands.all(|argv| words_match(rule.matcher, &value, argv))
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
        VerdictKind::Deny => 0,
        VerdictKind::Ask => 1,
        VerdictKind::Allow => 2,
    });
    matching
}
