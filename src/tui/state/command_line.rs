//! The `:` line. Decisions have no form here: they are made on the card that shows them.

use crate::tui::action::Action;
use crate::tui::assets;
use crate::tui::message::{Effect, QuitKind};
use crate::tui::state::app::{State, Tone};
use crate::tui::state::modal::HelpScope;
use crate::tui::state::{dialogs, perform, submit};

/// Command words with what they do.
pub const COMMANDS: &[(&str, &str)] = &[
    ("audit", "go to Audit & log"),
    ("cache", "go to Cache & cost"),
    ("channels", "go to Channels"),
    ("continuations", "go to Continuations"),
    ("doctor", "go to Doctor"),
    ("help", "keys of this screen"),
    ("live", "go to Live"),
    ("lock", "read-only until unlocked"),
    ("memory", "go to Memory"),
    ("palette", "every action"),
    ("queue", "go to Queue"),
    ("quit", "quit menu"),
    ("redraw", "draw everything again"),
    ("reconnect", "try to reach the engine now"),
    ("refresh", "ask the engine again"),
    ("release", "release the emergency stop"),
    ("rules", "go to Rules"),
    ("session", "go to Session"),
    ("stop", "emergency stop"),
    ("suspend", "suspend the console"),
    ("theme", "theme NAME"),
];

/// Whole lines that begin with `text`.
pub fn completions(state: &State, text: &str) -> Vec<String> {
    if let Some(name) = text.strip_prefix("theme ") {
        return state
            .theme_names
            .iter()
            .filter(|n| n.starts_with(name))
            .map(|n| format!("theme {n}"))
            .collect();
    }
    COMMANDS
        .iter()
        .filter(|(word, _)| word.starts_with(text))
        .map(|(word, _)| (*word).to_owned())
        .collect()
}

/// What all choices have in common; a single choice in full, ready for its argument.
pub fn common_completion(choices: &[String]) -> Option<String> {
    let first = choices.first()?;
    if choices.len() == 1 {
        return Some(if first == "theme" {
            "theme ".to_owned()
        } else {
            first.clone()
        });
    }
    let mut end = first.len();
    for choice in choices {
        let same = first
            .bytes()
            .zip(choice.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        end = end.min(same);
    }
    while !first.is_char_boundary(end) {
        end -= 1;
    }
    first.get(..end).map(str::to_owned)
}

/// Carries out a line.
pub fn run(state: &mut State, line: &str) -> Vec<Effect> {
    let mut words = line.split_whitespace();
    let word = words.next();
    let argument = words.next();
    match (word, argument) {
        (None, _) => {
            dialogs::open_help(state, HelpScope::All);
            Vec::new()
        }
        (Some("theme"), Some(name)) => vec![Effect::LoadTheme(name.to_owned())],
        (Some("theme"), None) => {
            let names = state.theme_names.join(", ");
            state.flash(Tone::Info, format!("theme NAME; known: {names}"));
            Vec::new()
        }
        (Some("queue"), None) => perform::perform(state, Action::ScreenQueue),
        (Some("live"), None) => perform::perform(state, Action::ScreenLive),
        (Some("session"), None) => perform::perform(state, Action::ScreenSession),
        (Some("channels"), None) => perform::perform(state, Action::ScreenChannels),
        (Some("continuations"), None) => perform::perform(state, Action::ScreenContinuations),
        (Some("rules"), None) => perform::perform(state, Action::ScreenRules),
        (Some("cache"), None) => perform::perform(state, Action::ScreenCacheCost),
        (Some("memory"), None) => perform::perform(state, Action::ScreenMemory),
        (Some("audit"), None) => perform::perform(state, Action::ScreenAudit),
        (Some("doctor"), None) => perform::perform(state, Action::ScreenDoctor),
        (Some("refresh"), None) => perform::perform(state, Action::Refresh),
        (Some("help"), None) => perform::perform(state, Action::Help),
        (Some("palette"), None) => perform::perform(state, Action::Palette),
        (Some("lock"), None) => perform::perform(state, Action::Lock),
        (Some("redraw"), None) => vec![Effect::Redraw],
        (Some("reconnect"), None) => vec![Effect::Reconnect],
        (Some("suspend"), None) => vec![Effect::Suspend],
        (Some("stop"), None) => submit::emergency_stop(state),
        (Some("release"), None) => perform::perform(state, Action::ReleaseStop),
        (Some("quit" | "q"), None) => {
            dialogs::open_quit(state);
            Vec::new()
        }
        (Some("quit!" | "q!"), None) if state.hosting == crate::tui::options::Hosting::Attached => {
            vec![Effect::Quit(QuitKind::Stop)]
        }
        (Some(word), _) => {
            let hint = match assets::nearest(word, COMMANDS.iter().map(|(w, _)| *w)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "known: {}",
                    COMMANDS
                        .iter()
                        .map(|(w, _)| *w)
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            };
            let word: String = word.chars().take(40).collect();
            state.flash(
                Tone::Warning,
                format!("`{word}` is not a command, or not with this argument; {hint}"),
            );
            Vec::new()
        }
    }
}
