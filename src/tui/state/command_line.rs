//! The `:` line: its words, and the ways to go on with what is typed.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::client::listing::RESOURCES;
use crate::tui::action::{Action, ActionClass};
use crate::tui::fuzzy;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::modal::Modal;
use crate::tui::state::text_dialog::{Completion, TextPurpose};
use crate::tui::state::{assigning, hosts, lists, opening};

/// Command words with what they do. Names of actions are commands too.
pub const COMMANDS: &[(&str, &str)] = &[
    (
        "attach",
        "attach FILE: send it with the next message to this session; alone, send none",
    ),
    (
        "ask",
        "ask CHANNEL/NAME [where A > 1; group B; sum C; order C desc; limit 20]: of a dataset",
    ),
    ("audit", "go to Audit & log"),
    ("cache", "go to Cache & cost"),
    ("channel", "channel NAME: select it on Channels"),
    ("channels", "go to Channels"),
    ("continuations", "go to Continuations"),
    ("datasets", "go to Datasets: tables that people sent"),
    ("doctor", "go to Doctor"),
    (
        "export",
        "export [markdown|json]: write the whole session into the current directory",
    ),
    ("fleet", "go to Fleet: every channel of every daemon"),
    ("help", "keys of this screen"),
    ("host", "host NAME: show this daemon of several"),
    ("keymap", "keymap NAME: other keys"),
    ("live", "go to Live"),
    ("lock", "read-only until unlocked"),
    ("memory", "go to Memory"),
    (
        "oncall",
        "oncall NAME [8h] [note]: who is on call; - for nobody",
    ),
    ("palette", "every action"),
    (
        "preferences",
        "text that models read in every turn of this session",
    ),
    ("queue", "go to Queue"),
    ("quit", "quit menu"),
    ("redraw", "draw everything again"),
    ("reconnect", "try to reach the engine now"),
    ("refresh", "ask the engine again"),
    ("release", "release the emergency stop"),
    ("reload", "read the configuration file again"),
    ("rules", "go to Rules"),
    (
        "save",
        "save NAME: a file of this session into the current directory",
    ),
    (
        "session",
        "session [ID or words of its title]: its transcript",
    ),
    (
        "sort",
        "sort COLUMN or -COLUMN: order of the list; alone, its own order",
    ),
    (
        "stats",
        "stats [24h|7d|30d|90d] [channel|model|tool|person|all]: cost and health over time",
    ),
    ("stop", "emergency stop"),
    (
        "summary",
        "summary [HOURS]: what waits, what is unusual, who did what",
    ),
    ("suspend", "suspend the console"),
    ("theme", "theme NAME: other colours"),
    (
        "upload",
        "upload CHANNEL FILE [NAME]: a table of this machine becomes a dataset",
    ),
];

/// Choices that are offered at most.
const OFFERED: usize = 50;

/// Arguments a command word takes, with a note each; none = it takes none.
pub(super) fn arguments(state: &State, word: &str) -> Option<Vec<(String, String)>> {
    let plain = |names: &[String]| names.iter().map(|n| (n.clone(), String::new())).collect();
    match word {
        "theme" => Some(plain(&state.theme_names)),
        "keymap" => Some(plain(&state.keymap_names)),
        "export" => Some(
            ["markdown", "json"]
                .map(|name| (name.to_owned(), String::new()))
                .to_vec(),
        ),
        "channel" => Some(
            state
                .model
                .world()
                .channels
                .values()
                .map(|channel| (channel.name.clone(), channel.kind.to_string()))
                .collect(),
        ),
        "session" => Some(
            state
                .model
                .world()
                .sessions_by_change()
                .into_iter()
                .map(|session| {
                    let title = session.title.as_deref().unwrap_or("");
                    let note = format!("{} {title}", session.channel);
                    (session.id.to_string(), note)
                })
                .collect(),
        ),
        "host" => Some(hosts::known(state)),
        "sort" => Some(
            lists::columns(state, state.screen)
                .iter()
                .map(|name| ((*name).to_owned(), String::new()))
                .collect(),
        ),
        "oncall" => Some(assigning::known(&state.model.world().on_call_status)),
        _ => None,
    }
}

/// Words that begin a line.
pub(super) fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
    let actions = Action::ALL
        .iter()
        .filter(|action| action.class() == ActionClass::Ordinary)
        .map(|action| (action.name(), action.description()));
    let resources = RESOURCES.iter().map(|one| (one.name, one.about));
    let others = resources.chain(actions);
    let others = others.filter(|(name, _)| !COMMANDS.iter().any(|(word, _)| word == name));
    COMMANDS.iter().copied().chain(others)
}

/// A word, and what it does.
type Choice<'a> = (Cow<'a, str>, Cow<'a, str>);

/// Ways to go on with `text`: what begins so, else what fits best.
pub fn completions(state: &State, text: &str) -> Vec<Completion> {
    let text = text.trim_start();
    let (head, typed, known): (&str, &str, Vec<Choice<'_>>) =
        match text.split_once(char::is_whitespace) {
            Some((word, rest)) => {
                let Some(known) = arguments(state, word) else {
                    return Vec::new();
                };
                let known = known.into_iter().map(|(a, b)| (a.into(), b.into()));
                (word, rest.trim_start(), known.collect())
            }
            // With nothing typed, the commands alone are enough to read.
            None if text.is_empty() => (
                "",
                text,
                COMMANDS
                    .iter()
                    .map(|(a, b)| ((*a).into(), (*b).into()))
                    .collect(),
            ),
            None => (
                "",
                text,
                words().map(|(a, b)| (a.into(), b.into())).collect(),
            ),
        };
    let mut fitting: Vec<_> = known
        .iter()
        .filter(|(word, _)| word.starts_with(typed))
        .collect();
    if fitting.is_empty() {
        let mut scored: Vec<_> = known
            .iter()
            .filter_map(|pair| Some((fuzzy::score(typed, &pair.0, &pair.1)?, pair)))
            .collect();
        scored.sort_by_key(|(score, _)| Reverse(*score));
        fitting = scored.into_iter().map(|(_, pair)| pair).collect();
    }
    let from = if head.is_empty() { 0 } else { head.len() + 1 };
    fitting
        .into_iter()
        .take(OFFERED)
        .map(|(word, note)| Completion {
            line: if head.is_empty() {
                word.to_string()
            } else {
                format!("{head} {word}")
            },
            from,
            note: note.to_string(),
        })
        .collect()
}

pub fn open(state: &mut State) -> Vec<Effect> {
    let effects = opening::open_text(state, TextPurpose::CommandLine);
    let choices = completions(state, "");
    if let Some(Modal::Text(entry)) = state.modals.last_mut() {
        entry.choices = choices;
    }
    state.commands.opened();
    effects
}

/// What all choices have in common beyond `typed`; a single choice in full, ready for its argument.
pub fn common_completion(choices: &[Completion], typed: &str) -> Option<String> {
    let (first, more) = choices.split_first()?;
    let first = first.line.as_str();
    if more.is_empty() {
        let takes = [
            "channel", "host", "keymap", "oncall", "session", "sort", "theme",
        ]
        .contains(&first);
        return Some(if takes {
            format!("{first} ")
        } else {
            first.to_owned()
        });
    }
    let mut end = first.len();
    for choice in more {
        let same = first
            .bytes()
            .zip(choice.line.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        end = end.min(same);
    }
    while !first.is_char_boundary(end) {
        end -= 1;
    }
    // Choices that only resemble what was typed have less in common than what stands there.
    let common = first.get(..end)?;
    common
        .starts_with(typed.trim_start())
        .then(|| common.to_owned())
}
