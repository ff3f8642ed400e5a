//! The `:` line. Decisions have no form here: they are made on the card that shows them.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::console::model::Tone;
use crate::protocol::request::{Command, ReloadConfiguration};
use crate::tui::action::{Action, ActionClass};
use crate::tui::assets;
use crate::tui::fuzzy;
use crate::tui::message::{Effect, QuitKind};
use crate::tui::state::app::{Screen, State};
use crate::tui::state::modal::HelpScope;
use crate::tui::state::{assigning, dialogs, hosts, lists, perform, submit, summary};

/// Command words with what they do. Names of actions are commands too.
pub const COMMANDS: &[(&str, &str)] = &[
    ("audit", "go to Audit & log"),
    ("cache", "go to Cache & cost"),
    ("channel", "channel NAME: select it on Channels"),
    ("channels", "go to Channels"),
    ("continuations", "go to Continuations"),
    ("doctor", "go to Doctor"),
    (
        "export",
        "export [markdown|json]: write the whole session into the current directory",
    ),
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
    ("queue", "go to Queue"),
    ("quit", "quit menu"),
    ("redraw", "draw everything again"),
    ("reconnect", "try to reach the engine now"),
    ("refresh", "ask the engine again"),
    ("release", "release the emergency stop"),
    ("reload", "read the configuration file again"),
    ("rules", "go to Rules"),
    (
        "session",
        "session [ID or words of its title]: its transcript",
    ),
    (
        "sort",
        "sort COLUMN or -COLUMN: order of the list; alone, its own order",
    ),
    ("stop", "emergency stop"),
    (
        "summary",
        "summary [HOURS]: what waits, what is unusual, who did what",
    ),
    ("suspend", "suspend the console"),
    ("theme", "theme NAME: other colours"),
];

/// Lines that are remembered at most.
const REMEMBERED: usize = 100;
/// Choices that are offered at most.
const OFFERED: usize = 50;

/// Lines that were run, while this console runs; nothing of it is written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    lines: Vec<String>,
    /// Which one is shown; none = what is being typed.
    at: Option<usize>,
    draft: String,
}

impl History {
    /// The line was opened: nothing of the past is shown yet.
    pub fn opened(&mut self) {
        self.at = None;
        self.draft.clear();
    }

    /// A line was run. A repeated one moves to the end.
    pub fn ran(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        self.lines.retain(|known| known != line);
        self.lines.push(line.to_owned());
        if self.lines.len() > REMEMBERED {
            self.lines.remove(0);
        }
    }

    /// The line before the one that is shown. What was typed is kept for the way back.
    pub fn older(&mut self, typed: &str) -> Option<String> {
        let at = match self.at {
            Some(at) => at.checked_sub(1)?,
            None => {
                let newest = self.lines.len().checked_sub(1)?;
                typed.clone_into(&mut self.draft);
                newest
            }
        };
        self.at = Some(at);
        self.lines.get(at).cloned()
    }

    /// The line after it, in the end what was being typed.
    pub fn newer(&mut self) -> Option<String> {
        let at = self.at? + 1;
        if let Some(line) = self.lines.get(at) {
            self.at = Some(at);
            return Some(line.clone());
        }
        self.at = None;
        Some(std::mem::take(&mut self.draft))
    }
}

/// A way to go on with the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The whole line with it.
    pub line: String,
    /// Where in the line it begins.
    pub from: usize,
    /// What it is.
    pub note: String,
}

/// Arguments a command word takes, with a note each; none = it takes none.
fn arguments(state: &State, word: &str) -> Option<Vec<(String, String)>> {
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
            lists::columns(state.screen)
                .iter()
                .map(|name| ((*name).to_owned(), String::new()))
                .collect(),
        ),
        "oncall" => Some(assigning::known(&state.model.world().duty)),
        _ => None,
    }
}

/// Words that begin a line.
fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
    let actions = Action::ALL
        .iter()
        .filter(|action| action.class() == ActionClass::Ordinary)
        .map(|action| (action.name(), action.description()))
        .filter(|(name, _)| !COMMANDS.iter().any(|(word, _)| word == name));
    COMMANDS.iter().copied().chain(actions)
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

/// Carries out a line.
pub fn run(state: &mut State, line: &str) -> Vec<Effect> {
    let line = line.trim();
    let (word, argument) = match line.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, Some(rest.trim())),
        None => (line, None),
    };
    match (word, argument) {
        ("", _) => {
            dialogs::open_help(state, HelpScope::All);
            Vec::new()
        }
        ("theme", Some(name)) => vec![Effect::LoadTheme(name.to_owned())],
        ("keymap", Some(name)) => vec![Effect::LoadKeymap(name.to_owned())],
        ("channel", Some(name)) => channel(state, name),
        ("session", Some(wanted)) => session(state, wanted),
        ("host", wanted) => hosts::named(state, wanted),
        ("sort", column) => lists::sort(state, column),
        ("oncall", wanted) => assigning::on_call(state, wanted),
        ("export", Some(word)) => match word.parse() {
            Ok(format) => perform::export(state, format),
            Err(expected) => {
                let word: String = word.chars().take(40).collect();
                state.flash(Tone::Warning, format!("export `{word}`: {expected}"));
                Vec::new()
            }
        },
        ("theme" | "keymap" | "channel", None) => {
            let known = arguments(state, word).unwrap_or_default();
            let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
            let text = format!("{word} NAME; known: {}", names.join(", "));
            state.flash(Tone::Info, text);
            Vec::new()
        }
        ("queue", None) => perform::perform(state, Action::ScreenQueue),
        ("live", None) => perform::perform(state, Action::ScreenLive),
        ("session", None) => perform::perform(state, Action::ScreenSession),
        ("channels", None) => perform::perform(state, Action::ScreenChannels),
        ("continuations", None) => perform::perform(state, Action::ScreenContinuations),
        ("rules", None) => perform::perform(state, Action::ScreenRules),
        ("cache", None) => perform::perform(state, Action::ScreenCacheCost),
        ("memory", None) => perform::perform(state, Action::ScreenMemory),
        ("audit", None) => perform::perform(state, Action::ScreenAudit),
        ("doctor", None) => perform::perform(state, Action::ScreenDoctor),
        ("refresh", None) => perform::perform(state, Action::Refresh),
        ("help", None) => perform::perform(state, Action::Help),
        ("palette", None) => perform::perform(state, Action::Palette),
        ("lock", None) => perform::perform(state, Action::Lock),
        ("redraw", None) => vec![Effect::Redraw],
        ("reconnect", None) => vec![Effect::Reconnect],
        ("suspend", None) => vec![Effect::Suspend],
        ("summary", hours) => summary::open(state, hours),
        ("stop", None) => submit::emergency_stop(state),
        ("reload", None) => {
            let command = ReloadConfiguration { preview: false };
            submit::submit(state, Command::ReloadConfiguration(command))
        }
        ("release", None) => perform::perform(state, Action::ReleaseStop),
        ("quit" | "q", None) => {
            dialogs::open_quit(state);
            Vec::new()
        }
        ("quit!" | "q!", None)
            if state.model.hosting == crate::console::access::Hosting::Attached =>
        {
            vec![Effect::Quit(QuitKind::Stop)]
        }
        (word, None) if ordinary(word).is_some() => {
            ordinary(word).map_or_else(Vec::new, |action| perform::from_palette(state, action))
        }
        (word, _) => {
            unknown(state, word);
            Vec::new()
        }
    }
}

/// The action of this name; decisions have none here.
fn ordinary(word: &str) -> Option<Action> {
    Action::from_name(word).filter(|action| action.class() == ActionClass::Ordinary)
}

fn unknown(state: &mut State, word: &str) {
    let what = if words().any(|(known, _)| known == word) {
        "takes no argument"
    } else {
        "is not a command"
    };
    let hint = match assets::nearest(word, words().map(|(known, _)| known)) {
        Some(near) if near == word => String::new(),
        Some(near) => format!("; did you mean `{near}`?"),
        None => "; an empty line lists every action".to_owned(),
    };
    let word: String = word.chars().take(40).collect();
    state.flash(Tone::Warning, format!("`{word}` {what}{hint}"));
}

/// Goes to Channels and selects one.
fn channel(state: &mut State, name: &str) -> Vec<Effect> {
    if !state.model.world().channels.contains_key(name) {
        let known: Vec<&str> = state
            .model
            .world()
            .channels
            .keys()
            .map(String::as_str)
            .collect();
        let hint = match assets::nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known: {}", known.join(", ")),
        };
        let name: String = name.chars().take(40).collect();
        let text = format!("there is no channel `{name}`; {hint}");
        state.flash(Tone::Warning, text);
        return Vec::new();
    }
    let effects = perform::go(state, Screen::Channels);
    state.screens.channels.select(Some(name.to_owned()));
    effects
}

/// Opens the session of this id, or the only one that these words fit.
fn session(state: &mut State, wanted: &str) -> Vec<Effect> {
    let sessions = state.model.world().sessions_by_change();
    let fits = |text: &str| fuzzy::score(wanted, "", text).is_some();
    let mut found: Vec<_> = sessions
        .iter()
        .filter(|session| session.id.to_string().starts_with(wanted))
        .map(|session| session.id)
        .collect();
    if found.is_empty() {
        found = sessions
            .iter()
            .filter(|s| {
                fits(&format!(
                    "{} {}",
                    s.channel,
                    s.title.as_deref().unwrap_or("")
                ))
            })
            .map(|session| session.id)
            .collect();
    }
    match found.as_slice() {
        [id] => perform::open_session(state, *id),
        found => {
            let wanted: String = wanted.chars().take(40).collect();
            let text = match found.len() {
                0 => format!("no session fits `{wanted}`; tab completes ids"),
                count => format!("`{wanted}` fits {count} sessions; tab completes ids"),
            };
            state.flash(Tone::Warning, text);
            Vec::new()
        }
    }
}
