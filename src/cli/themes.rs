//! `leverframe themes`: which there are, and the roles of one. Talks to no daemon.

use serde::Serialize;

use crate::cli::exit::Failure;
use crate::cli::table;
use crate::cli::terminal::{Terminal, cell};
use crate::config::settings::ConsoleSettings;
use crate::tui::assets::{AssetKind, find, names};
use crate::tui::theme::depth::ColorDepth;
use crate::tui::theme::file::{describe, load};

/// A theme.
#[derive(Debug, Serialize)]
struct ThemeLine {
    /// Its name.
    name: String,
    /// The file, or `built-in theme NAME`.
    file: String,
    /// Whether it is the configured one.
    in_use: bool,
    /// Why it cannot be used; none = it can.
    error: Option<String>,
}

/// Lists all, or prints the roles of one, in the colours its files name.
pub fn run(
    terminal: &mut Terminal<'_>,
    settings: &ConsoleSettings,
    name: Option<&str>,
) -> Result<(), Failure> {
    let user_dir = Some(settings.paths.config_dir.as_path());
    if let Some(name) = name {
        let theme = load(name, user_dir, ColorDepth::True).map_err(Failure::usage)?;
        let roles = describe(&theme);
        let heads = ["ROLE", "TEXT", "GROUND", ""];
        return table::rows(terminal, &heads, "no role", &roles, |role| {
            let own = |color: Option<&str>| color.unwrap_or("-").to_owned();
            vec![
                role.role.to_owned(),
                own(role.fg.as_deref()),
                own(role.bg.as_deref()),
                role.modifiers.join(" "),
            ]
        });
    }
    let lines: Vec<ThemeLine> = names(AssetKind::Theme, user_dir)
        .into_iter()
        .map(|name| ThemeLine {
            file: find(AssetKind::Theme, &name, user_dir)
                .map_or_else(|error| error.file, |source| source.file),
            in_use: name == settings.theme,
            error: load(&name, user_dir, ColorDepth::True)
                .err()
                .map(|error| error.to_string()),
            name,
        })
        .collect();
    let heads = ["NAME", "FROM", ""];
    table::rows(terminal, &heads, "no theme", &lines, |line| {
        let word = match (&line.error, line.in_use) {
            (Some(error), _) => format!("broken: {}", cell(error)),
            (None, true) => "in use".to_owned(),
            (None, false) => String::new(),
        };
        vec![cell(&line.name), cell(&line.file), word]
    })
}
