//! Running a line of `:`. Decisions have no form here: they are made on the card that shows them.

use crate::client::listing::{Resource, resource};
use crate::console::model::Tone;
use crate::protocol::request::ReloadConfiguration;
use crate::tui::action::{Action, ActionClass};
use crate::tui::message::{Effect, QuitKind};
use crate::tui::state::app::State;
use crate::tui::state::command_line::{arguments, words};
use crate::tui::state::modal::TextPurpose;
use crate::tui::state::resources::ResourcesPanel;
use crate::tui::state::screen::Screen;
use crate::tui::state::{
    actions, assigning, attaching, datasets_screen, going, hosts, lists, navigation, opening,
    selection, stats_screen, submit, summary,
};
use crate::tui::{assets, fuzzy};

pub fn run(state: &mut State, line: &str) -> Vec<Effect> {
    let line = line.trim();
    let (word, argument) = match line.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, Some(rest.trim())),
        None => (line, None),
    };
    match (word, argument) {
        ("", _) => actions::perform(state, Action::Palette),
        ("theme", Some(name)) => vec![Effect::LoadTheme(name.to_owned())],
        ("keymap", Some(name)) => vec![Effect::LoadKeymap(name.to_owned())],
        ("channel", Some(name)) => channel(state, name),
        ("session", Some(wanted)) => session(state, wanted),
        ("host", wanted) => hosts::named(state, wanted),
        ("sort", column) => lists::sort(state, column),
        ("oncall", wanted) => assigning::on_call(state, wanted),
        ("attach", file) => attaching::attach(state, file),
        ("save", name) => attaching::save(state, name),
        ("export", Some(word)) => match word.parse() {
            Ok(format) => actions::export(state, format),
            Err(expected) => {
                let word: String = word.chars().take(40).collect();
                state.warn(format!("export `{word}`: {expected}"))
            }
        },
        ("theme" | "keymap" | "channel", None) => {
            let known = arguments(state, word).unwrap_or_default();
            let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
            let text = format!("{word} NAME; known: {}", names.join(", "));
            state.tell(text)
        }
        ("upload", words) => datasets_screen::upload(state, words),
        ("ask", words) => datasets_screen::asked(state, words),
        ("stats", words) => stats(state, words.unwrap_or_default()),
        ("mcp", None) => actions::perform(state, Action::ScreenServers),
        (word, None) if Screen::from_word(word).is_some() => {
            let screen = Screen::from_word(word);
            screen.map_or_else(Vec::new, |screen| actions::perform(state, screen.action()))
        }
        (name, None) if resource(name).is_some() => {
            resource(name).map_or_else(Vec::new, |resource| open_resource(state, resource))
        }
        ("refresh", None) => actions::perform(state, Action::Refresh),
        ("help", None) => actions::perform(state, Action::Help),
        ("palette", None) => actions::perform(state, Action::Palette),
        ("lock", None) => actions::perform(state, Action::Lock),
        ("redraw", None) => vec![Effect::Redraw],
        ("reconnect", None) => vec![Effect::Reconnect],
        ("suspend", None) => vec![Effect::Suspend],
        ("summary", hours) => summary::open(state, hours),
        ("preferences", None) => preferences(state),
        ("stop", None) => submit::emergency_stop(state),
        ("reload", None) => submit::submit(state, ReloadConfiguration { preview: false }),
        ("release", None) => actions::perform(state, Action::ReleaseStop),
        ("quit" | "q", None) => opening::open_quit(state),
        ("quit!" | "q!", None)
            if state.model.hosting == crate::console::access::Hosting::Attached =>
        {
            vec![Effect::Quit(QuitKind::Stop)]
        }
        (word, None) if ordinary(word).is_some() => {
            ordinary(word).map_or_else(Vec::new, |action| actions::from_palette(state, action))
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
    state.toast(Tone::Warning, format!("`{word}` {what}{hint}"));
}

/// Opens the preferences of the session that is shown or selected.
fn preferences(state: &mut State) -> Vec<Effect> {
    let Some(session) = selection::focused_session(state) else {
        return state.warn("preferences: no session is selected");
    };
    opening::open_text(state, TextPurpose::Preferences(session))
}

/// Goes to Statistics, and shows what these words name.
fn stats(state: &mut State, words: &str) -> Vec<Effect> {
    if !stats_screen::named(state, words) || state.screen == Screen::Stats {
        return Vec::new();
    }
    going::go(state, Screen::Stats)
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
        return state.warn(text);
    }
    navigation::open_channel(state, name.to_owned())
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
        [id] => going::open_session(state, *id),
        found => {
            let wanted: String = wanted.chars().take(40).collect();
            let text = match found.len() {
                0 => format!("no session fits `{wanted}`; tab completes ids"),
                count => format!("`{wanted}` fits {count} sessions; tab completes ids"),
            };
            state.warn(text)
        }
    }
}

fn open_resource(state: &mut State, resource: &'static Resource) -> Vec<Effect> {
    if state.screens.resources.shown != Some(resource) {
        state.screens.resources = ResourcesPanel {
            shown: Some(resource),
            ..ResourcesPanel::default()
        };
    }
    if state.screen == Screen::Resources {
        state.screens.in_flight.now();
        return Vec::new();
    }
    going::go(state, Screen::Resources)
}
