//! Hooks in the settings of other programs, as text: JSON with comments in, the same text with our hooks in it out.
//!
//! Nothing but the hooks changes: no comment, no order, no indentation. Taking them out of a text that nobody changed
//! since gives the text of before, byte for byte: every insertion leaves a trace of the way it was made. A container
//! that was there and empty has the first thing in it right behind its bracket; one that was made has a blank there.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::json;

use crate::cli::gate_splice::{Place, Step};
use crate::config::agent_hooks::{Hook, fields, hook_events};
use crate::protocol::enums::ExternalAgent;

/// What a file that holds nothing but our hooks is made of.
const EMPTY: &str = "{}\n";

/// What is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct SettingsError {
    /// Counted from 1.
    pub line: usize,
    /// What is there, and what was expected.
    pub problem: String,
}

/// The settings with these hooks in it, in place of any that are of ours. None stands for a file that is not there.
///
/// # Errors
/// Where the text is no JSON, or holds something else where hooks stand.
pub fn install(
    text: Option<&str>,
    agent: ExternalAgent,
    hooks: &[Hook],
) -> Result<String, SettingsError> {
    let Some(text) = text else {
        return insert_all(EMPTY, false, agent, hooks);
    };
    if installed(text, agent)? == hooks {
        return Ok(text.to_owned());
    }
    match uninstall(text, agent)? {
        Some(rest) => insert_all(&rest, true, agent, hooks),
        None => insert_all(EMPTY, false, agent, hooks),
    }
}

/// The settings without our hooks. None where the file held nothing else, and was made for them.
///
/// # Errors
/// As [`install`].
pub fn uninstall(text: &str, agent: ExternalAgent) -> Result<Option<String>, SettingsError> {
    let mut text = text.to_owned();
    let mut made = false;
    // From the last to the first: each step undoes the last insertion that is left.
    while let Some(edit) = last_of_ours(&text, agent)? {
        made = !edit.root_was_empty;
        text = edit.text;
    }
    Ok(if made && text == EMPTY {
        None
    } else {
        Some(text)
    })
}

/// Our hooks in the settings, in the order of the events.
///
/// # Errors
/// As [`install`].
pub fn installed(text: &str, agent: ExternalAgent) -> Result<Vec<Hook>, SettingsError> {
    let (_, text) = bom(text);
    let root = parse(text)?;
    let Some(hooks) = hooks_of(text, &root)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for event in hook_events(agent) {
        let Some(groups) = groups_of(text, hooks, event.name)? else {
            continue;
        };
        for (_, list) in lists(groups) {
            found.extend(list.elements.iter().filter_map(|hook| {
                let (command, timeout) = of_ours(hook, agent)?;
                Some(Hook {
                    event: event.name.to_owned(),
                    command,
                    timeout,
                })
            }));
        }
    }
    Ok(found)
}

/// The boolean at a path of keys, and its line.
///
/// # Errors
/// Where the text is no JSON.
pub fn flag(text: &str, path: &[&str]) -> Result<Option<(bool, usize)>, SettingsError> {
    let (_, text) = bom(text);
    let root = parse(text)?;
    let mut object = Some(&root);
    let Some((last, above)) = path.split_last() else {
        return Ok(None);
    };
    for key in above {
        object = object.and_then(|object| object.get_object(key));
    }
    let value = object.and_then(|object| object.get_boolean(last));
    Ok(value.map(|value| (value.value, line_of(text, value.range.start))))
}

fn bom(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.matches('\n').count() + 1
}

fn parse(text: &str) -> Result<Object<'_>, SettingsError> {
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
        ..ParseOptions::default()
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| SettingsError {
        line: error.line_display(),
        problem: format!("is no JSON: {}", error.kind()),
    })?;
    match parsed.value {
        Some(Value::Object(root)) => Ok(root),
        other => Err(SettingsError {
            line: other.map_or(1, |value| line_of(text, value.start())),
            problem: "expected an object, `{ … }`".to_owned(),
        }),
    }
}

/// A property; refused where a key stands twice, because programs differ in which of them counts.
fn property<'a, 'b>(
    text: &str,
    object: &'b Object<'a>,
    key: &str,
) -> Result<Option<&'b ObjectProp<'a>>, SettingsError> {
    let mut found = object
        .properties
        .iter()
        .filter(|one| one.name.as_str() == key);
    let first = found.next();
    match found.next() {
        None => Ok(first),
        Some(second) => Err(SettingsError {
            line: line_of(text, second.range.start),
            problem: format!("`{key}` stands here a second time: remove one"),
        }),
    }
}

fn hooks_of<'a, 'b>(
    text: &str,
    root: &'b Object<'a>,
) -> Result<Option<&'b Object<'a>>, SettingsError> {
    let Some(hooks) = property(text, root, "hooks")? else {
        return Ok(None);
    };
    hooks
        .value
        .as_object()
        .map(Some)
        .ok_or_else(|| SettingsError {
            line: line_of(text, hooks.value.start()),
            problem: "expected an object behind `hooks`".to_owned(),
        })
}

fn groups_of<'a, 'b>(
    text: &str,
    hooks: &'b Object<'a>,
    event: &str,
) -> Result<Option<&'b Array<'a>>, SettingsError> {
    let Some(groups) = property(text, hooks, event)? else {
        return Ok(None);
    };
    groups
        .value
        .as_array()
        .map(Some)
        .ok_or_else(|| SettingsError {
            line: line_of(text, groups.value.start()),
            problem: format!("expected a list behind `{event}`"),
        })
}

/// The groups that have a list of hooks, by index.
fn lists<'a, 'b>(groups: &'b Array<'a>) -> impl DoubleEndedIterator<Item = (usize, &'b Array<'a>)> {
    let numbered = groups.elements.iter().enumerate();
    numbered.filter_map(|(index, group)| Some((index, group.as_object()?.get_array("hooks")?)))
}

/// Command and time limit of a hook, where it is one of ours: with any path of this program, in any of our wrappings.
fn of_ours(hook: &Value<'_>, agent: ExternalAgent) -> Option<(String, u64)> {
    let hook = hook.as_object()?;
    let command = hook.get_string("command")?.value.as_ref();
    let (start, rest) = command.split_once(&format!(" gate {agent}"))?;
    let wrapped = start.starts_with("timeout ") || start.starts_with("perl -e ");
    let ends = ["exit 2", "exit 2'", "|| true"];
    if !wrapped || !ends.iter().any(|end| rest.ends_with(end)) {
        return None;
    }
    let timeout = hook
        .get_number("timeout")
        .and_then(|number| number.value.parse().ok());
    Some((command.to_owned(), timeout.unwrap_or_default()))
}

/// A step of taking out.
struct Removal {
    text: String,
    /// Whether the outermost object was there, and empty, before us.
    root_was_empty: bool,
}

fn last_of_ours(text: &str, agent: ExternalAgent) -> Result<Option<Removal>, SettingsError> {
    let (mark, text) = bom(text);
    let root = parse(text)?;
    let Some(hooks) = hooks_of(text, &root)? else {
        return Ok(None);
    };
    let mut last: Option<(usize, Vec<Step>)> = None;
    for event in hook_events(agent) {
        let Some(groups) = groups_of(text, hooks, event.name)? else {
            continue;
        };
        for (index, list) in lists(groups) {
            let ours = |hook: &Value<'_>| of_ours(hook, agent).is_some();
            let Some(at) = list.elements.iter().rposition(ours) else {
                continue;
            };
            let start = list.elements[at].start();
            if last.as_ref().is_some_and(|(known, _)| *known > start) {
                continue;
            }
            // The whole group goes with its only hook; then what was made around it.
            let mut steps = Vec::new();
            if list.elements.len() > 1 {
                steps.push(Step::of(
                    list.range,
                    list.elements.iter().map(|one| one.range()),
                    at,
                ));
            } else {
                let groups_range = groups.elements.iter().map(|one| one.range());
                steps.push(Step::of(groups.range, groups_range, index));
                let events = hooks.properties.iter().map(|one| one.range);
                let at = hooks
                    .properties
                    .iter()
                    .position(|one| one.name.as_str() == event.name);
                steps.push(Step::of(hooks.range, events, at.unwrap_or_default()));
                let keys = root.properties.iter().map(|one| one.range);
                let at = root
                    .properties
                    .iter()
                    .position(|one| one.name.as_str() == "hooks");
                steps.push(Step::of(root.range, keys, at.unwrap_or_default()));
            }
            last = Some((start, steps));
        }
    }
    let Some((_, steps)) = last else {
        return Ok(None);
    };
    let mut cuts = Vec::new();
    let mut root_was_empty = false;
    let depth = steps.len();
    for (level, step) in steps.iter().enumerate() {
        cuts = step.cuts(text);
        let glued = step
            .elements
            .first()
            .is_some_and(|one| one.start == step.open() + 1);
        root_was_empty = glued && level + 1 == depth && depth > 1;
        // A container goes too where it was made for what it held, and holds nothing else.
        if glued || step.elements.len() > 1 || !step.left(text, &cuts).is_empty() {
            break;
        }
    }
    let mut rest = text.to_owned();
    cuts.sort_by_key(|cut: &Range<usize>| std::cmp::Reverse(cut.start));
    for cut in cuts {
        rest.replace_range(cut, "");
    }
    Ok(Some(Removal {
        text: format!("{mark}{rest}"),
        root_was_empty,
    }))
}

fn insert_all(
    text: &str,
    was_there: bool,
    agent: ExternalAgent,
    hooks: &[Hook],
) -> Result<String, SettingsError> {
    let mut text = text.to_owned();
    for hook in hooks {
        text = insert(&text, was_there, agent, hook)?;
    }
    Ok(text)
}

/// Adds a hook behind all others of its event.
fn insert(
    text: &str,
    was_there: bool,
    agent: ExternalAgent,
    hook: &Hook,
) -> Result<String, SettingsError> {
    let (mark, text) = bom(text);
    let root = parse(text)?;
    let group = json!({ "hooks": [fields(agent, hook)] });
    let place = |range: jsonc_parser::common::Range, last: Option<usize>| Place {
        text,
        open: range.start,
        close: range.end.saturating_sub(1),
        last,
        glued: true,
    };
    let rest = match hooks_of(text, &root)? {
        None => {
            let last = root.properties.last().map(|one| one.range.end);
            let glued = was_there && text == EMPTY;
            let place = Place {
                glued,
                ..place(root.range, last)
            };
            place.insert(Some("hooks"), &json!({ &hook.event: [group] }))
        }
        Some(hooks) => match groups_of(text, hooks, &hook.event)? {
            None => {
                let last = hooks.properties.last().map(|one| one.range.end);
                place(hooks.range, last).insert(Some(&hook.event), &json!([group]))
            }
            Some(groups) => {
                let last = groups.elements.last().map(|one| one.end());
                place(groups.range, last).insert(None, &group)
            }
        },
    };
    Ok(format!("{mark}{rest}"))
}
