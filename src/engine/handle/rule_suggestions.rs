//! Rules that would have answered most of what people allowed. Nothing here makes a rule.
//!
//! No rule is suggested that matches a call which a person refused, and none for a call that asks whatever rules say.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::engine::call_shape::{ARGV, CallShape, Location, unwords};
use crate::engine::core::Engine;
use crate::engine::handle::rules::{kept_by, workspaces, would_be};
use crate::engine::rules;
use crate::protocol::enums::{DecisionKind, RuleMatcher, RuleScope, VerdictKind};
use crate::protocol::problem::Problem;
use crate::protocol::rule::{
    COMMAND, COMMANDS, FETCH, HOST, Rule, RulePatch, RuleSuggestion, RuleSuggestions, URL,
    runs_shell,
};
use crate::store::commands::put_rule::RuleFields;
use crate::store::queries::rules::TriedCall;
use crate::tools::canonical::{canonical_json, sha256_hex};
use crate::tools::script::simple_commands;

/// Days that are looked at, when nobody says how many; and at most.
const DAYS: u32 = 7;
const MAX_DAYS: u32 = 90;
/// Calls that are looked at, the newest.
const MAX_CALLS: u32 = 5_000;
/// Bytes of an argument that is compared; of a longer one its digest is.
const MAX_TEXT: usize = 1024;
/// Rules that are tried: those made of the most approvals.
const MAX_TRIED: usize = 60;
/// Rules that are suggested.
const MAX_SUGGESTED: usize = 5;
/// Approvals that a suggested rule would have answered at least.
const LEAST: u64 = 3;
/// Calls told that a rule would have let through beside.
const MAX_TOLD: usize = 5;

/// A call, and the workspace of its channel.
pub type CallHere<'a> = (&'a TriedCall, &'a str);

/// What would be suggested from calls of the past.
#[derive(Debug, Default)]
pub struct Suggested {
    /// Approvals that people gave.
    pub approved: u64,
    /// Of those, how many the rules answer together.
    pub answered: u64,
    /// The rules, the one that answers the most first.
    pub rules: Vec<RuleSuggestion>,
}

/// The fewest rules that answer most of what people allowed. `in_force`: what these rules match is answered already.
pub fn suggest(calls: &[CallHere<'_>], in_force: &[Rule]) -> Suggested {
    let approved = |call: &TriedCall| call.told.decision == Some(DecisionKind::Approve);
    let mut open: Vec<bool> = calls
        .iter()
        .map(|here| {
            let (call, _) = here;
            approved(call)
                && kept_by(call).is_none()
                && !in_force.iter().any(|rule| is_answered(rule, *here))
        })
        .collect();
    let mut candidates: BTreeMap<String, (u64, Rule)> = BTreeMap::new();
    for (here, _) in calls.iter().zip(&open).filter(|(_, open)| **open) {
        for rule in candidates_of(*here) {
            let name = format!("{:?} {}", rule.channel, rule.in_words());
            candidates.entry(name).or_insert((0, rule)).0 += 1;
        }
    }
    let mut candidates: Vec<(u64, Rule)> = candidates
        .into_values()
        .filter(|(count, _)| *count >= LEAST)
        .collect();
    candidates.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    candidates.truncate(MAX_TRIED);
    let mut tried: Vec<(Rule, Vec<usize>)> = candidates
        .into_iter()
        .map(|(_, rule)| {
            let fits = |at: &usize| is_answered(&rule, calls[*at]);
            let matched: Vec<usize> = (0..calls.len()).filter(fits).collect();
            (rule, matched)
        })
        .filter(|(_, matched)| !matched.iter().any(|at| is_refused(calls[*at].0)))
        .collect();
    let mut found = Suggested {
        approved: calls.iter().filter(|(call, _)| approved(call)).count() as u64,
        ..Suggested::default()
    };
    while found.rules.len() < MAX_SUGGESTED {
        let answers = |matched: &[usize]| matched.iter().filter(|at| open[**at]).count() as u64;
        // Of two that answer the same, the one that matches less.
        let best = (0..tried.len()).max_by_key(|at| {
            (
                answers(&tried[*at].1),
                std::cmp::Reverse(tried[*at].1.len()),
            )
        });
        let Some(best) = best.filter(|at| answers(&tried[*at].1) >= LEAST) else {
            break;
        };
        let (rule, matched) = tried.swap_remove(best);
        found.answered += answers(&matched);
        found.rules.push(told(&rule, &matched, calls, &open));
        for at in matched {
            open[at] = false;
        }
    }
    found
}

/// Whether a rule that allows lets a call through, as far as the rule tells.
fn is_answered(rule: &Rule, (call, workspace): CallHere<'_>) -> bool {
    let here = rule.reaches(
        &call.told.channel,
        Some(call.session_id),
        Some(call.continuation_id),
    );
    let shape = CallShape {
        tool: &call.told.tool,
        args: &call.args,
        workspace,
        plan: &call.plan,
    };
    here && rule.verdict == VerdictKind::Allow && rules::matches(rule, &shape)
}

/// Whether a person, or the policy, refused it or put something else in its place.
fn is_refused(call: &TriedCall) -> bool {
    call.told.was == VerdictKind::Deny
        || (call.told.decision).is_some_and(|decision| decision != DecisionKind::Approve)
}

fn told(rule: &Rule, matched: &[usize], calls: &[CallHere<'_>], open: &[bool]) -> RuleSuggestion {
    let others = matched.iter().filter_map(|at| {
        let (call, _) = calls[*at];
        let asked = call.told.was == VerdictKind::Ask;
        (asked && call.told.decision.is_none()).then_some(&call.told.preview)
    });
    let mut also: Vec<String> = Vec::new();
    for preview in others.clone() {
        if also.len() < MAX_TOLD && !also.contains(preview) {
            also.push(preview.clone());
        }
    }
    RuleSuggestion {
        text: rule.in_words(),
        coverage: rule.coverage(),
        answered: matched.iter().filter(|at| open[**at]).count() as u64,
        also_count: others.count() as u64,
        also,
        rule: RulePatch {
            tool: Some(rule.tool.clone()),
            field: Some(rule.field.clone().unwrap_or_default()),
            matcher: Some(rule.matcher),
            value: Some(rule.value.clone()),
            cwd: rule.cwd.clone(),
            executable: rule.executable.clone(),
            scope: Some(rule.scope),
            channel: rule.channel.clone(),
            verdict: Some(rule.verdict),
            ..RulePatch::default()
        },
    }
}

/// The rules that would have answered one call: exactly it, and a little more.
fn candidates_of((call, workspace): CallHere<'_>) -> Vec<Rule> {
    let of = |field: Option<&str>, matcher, value: String| {
        let is_command = call.told.tool == COMMANDS;
        let place = |text: &Option<String>| {
            let text = text.as_deref().filter(|_| is_command)?;
            Some(Location::of(text, workspace).to_string())
        };
        let fields = RuleFields {
            tool: call.told.tool.clone(),
            field: field.map(str::to_owned),
            matcher,
            value,
            cwd: place(&call.plan.cwd).filter(|cwd| cwd != "."),
            executable: place(&call.plan.executable),
            scope: RuleScope::Channel,
            channel: Some(call.told.channel.clone()),
            session_id: None,
            continuation_id: None,
            verdict: VerdictKind::Allow,
            enabled: true,
            expires_at: None,
            max_uses: None,
            note: None,
        };
        would_be(fields, call.told.at)
    };
    let mut rules = Vec::new();
    if let Some(Value::Array(items)) = call.args.get(ARGV).filter(|_| call.told.tool == COMMANDS) {
        let words: Vec<String> = (items.iter())
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect();
        rules.push(of(Some(ARGV), RuleMatcher::Exact, unwords(&words)));
        // The program and what it is told to do: `git status`, never `git` alone.
        if words.len() > 2 {
            rules.push(of(Some(ARGV), RuleMatcher::Prefix, unwords(&words[..2])));
        }
    } else if let Some(host) = call.plan.host.clone().filter(|_| call.told.tool == FETCH) {
        if let Some(url) = call.args.get(URL).and_then(Value::as_str) {
            rules.push(of(Some(URL), RuleMatcher::Exact, url.to_owned()));
        }
        rules.push(of(Some(HOST), RuleMatcher::Exact, host));
    } else if let Some(command) = command_of_shell(call) {
        rules.push(of(Some(COMMAND), RuleMatcher::Exact, command.to_owned()));
        if let Some([words]) = simple_commands(command).as_deref()
            && words.len() > 2
        {
            let head = unwords(&words[..2]);
            rules.push(of(Some(COMMAND), RuleMatcher::Prefix, head));
        }
    } else if let Some(path) = path_of(call) {
        rules.push(of(Some("path"), RuleMatcher::Exact, path.to_owned()));
        if let Some((directory, _)) = path.rsplit_once('/') {
            let below = format!("{directory}/");
            rules.push(of(Some("path"), RuleMatcher::Prefix, below));
        }
    } else {
        let value = canonical_json(&call.args);
        rules.push(of(None, RuleMatcher::Exact, value));
    }
    rules.retain(|rule| rule.value.len() <= MAX_TEXT && is_answered(rule, (call, workspace)));
    rules
}

/// What a call gives a shell as its text.
fn command_of_shell(call: &TriedCall) -> Option<&str> {
    let command = call.args.get(COMMAND).and_then(Value::as_str);
    command.filter(|_| runs_shell(&call.told.tool))
}

/// The file or directory that a call is about.
fn path_of(call: &TriedCall) -> Option<&str> {
    match call.plan.paths.as_slice() {
        [only] => Some(only),
        _ => call.args.get("path").and_then(Value::as_str),
    }
}

/// Cuts what is not compared: of a long text only its digest stays.
fn bound(args: &mut Value) {
    match args {
        Value::String(text) if text.len() > MAX_TEXT => *text = sha256_hex(text.as_bytes()),
        Value::Array(items) => items.iter_mut().for_each(bound),
        Value::Object(map) => map.values_mut().for_each(bound),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What is suggested from the calls of the last days, of one channel or of all.
pub async fn suggestions(
    engine: &Engine,
    days: Option<u32>,
    channel: Option<String>,
) -> Result<RuleSuggestions, Problem> {
    let days = days.unwrap_or(DAYS);
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(Problem::invalid(format!("`days` must be 1 to {MAX_DAYS}")));
    }
    if let Some(channel) = &channel {
        engine.channel(channel)?;
    }
    let now = engine.clock.now();
    let since = now.plus_seconds(-i64::from(days) * 24 * 3600);
    let workspaces = workspaces(engine);
    engine
        .read(move |reader| {
            let mut calls: Vec<TriedCall> = Vec::new();
            let more = reader.each_call_since(since, MAX_CALLS, |mut call| {
                if channel.as_ref().is_none_or(|one| *one == call.told.channel) {
                    bound(&mut call.args);
                    calls.push(call);
                }
            })?;
            let mut in_force = reader.rules()?;
            in_force.retain(|rule| rule.idle(now).is_none());
            let here: Vec<CallHere<'_>> = calls
                .iter()
                .filter_map(|call| {
                    let workspace = workspaces.get(&call.told.channel)?;
                    Some((call, call.plan.workspace(workspace)))
                })
                .collect();
            let found = suggest(&here, &in_force);
            Ok(RuleSuggestions {
                since,
                more,
                approved: found.approved,
                answered: found.answered,
                rules: found.rules,
            })
        })
        .await
}
