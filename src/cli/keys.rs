//! `leverframe keys`: a keymap as it is in force. Talks to no daemon.

use serde::Serialize;

use crate::cli::exit::Failure;
use crate::cli::table;
use crate::cli::terminal::{Terminal, cell};
use crate::config::settings::ConsoleSettings;
use crate::tui::keymap::context::Context;
use crate::tui::keymap::file::load;
use crate::tui::keymap::key::print_sequence;

/// A key and what it means.
#[derive(Debug, Serialize)]
struct KeyLine {
    /// The keymap.
    keymap: String,
    /// The table it stands in: a screen, `global`, `dialog` or `text`.
    context: &'static str,
    /// Keys in a row.
    keys: String,
    /// The action's name.
    action: &'static str,
    /// What it does.
    description: &'static str,
}

/// Prints the configured keymap (`--keymap` names another).
pub fn run(terminal: &mut Terminal<'_>, settings: &ConsoleSettings) -> Result<(), Failure> {
    let user_dir = &settings.paths.config_dir;
    let keymap = load(&settings.keymap, Some(user_dir)).map_err(Failure::usage)?;
    let mut lines = Vec::new();
    for context in Context::ALL {
        for binding in keymap.contexts.get(context).into_iter().flatten() {
            lines.push(KeyLine {
                keymap: keymap.name.clone(),
                context: context.name(),
                keys: print_sequence(&binding.keys),
                action: binding.action.name(),
                description: binding.action.description(),
            });
        }
    }
    let heads = ["SCREEN", "KEYS", "ACTION", "WHAT IT DOES"];
    table::rows(terminal, &heads, "no key is bound", &lines, |line| {
        vec![
            line.context.to_owned(),
            cell(&line.keys),
            line.action.to_owned(),
            line.description.to_owned(),
        ]
    })
}
