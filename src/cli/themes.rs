//! `leverframe themes`: which there are, and the roles of one. Talks to no daemon.

use serde::Serialize;

use crate::cli::exit::Failure;
use crate::cli::table;
use crate::cli::terminal::{Format, Terminal, cell};
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
    format: Format,
    settings: &ConsoleSettings,
    name: Option<&str>,
) -> Result<(), Failure> {
    let user_dir = Some(settings.paths.config_dir.as_path());
    if let Some(name) = name {
        let theme = load(name, user_dir, ColorDepth::True)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        let roles = describe(&theme);
        return match format {
            Format::Json => roles.iter().try_for_each(|role| terminal.json(role)),
            Format::Human => {
                let rows: Vec<Vec<String>> = roles
                    .into_iter()
                    .map(|role| {
                        let own = |color: Option<String>| color.unwrap_or_else(|| "-".to_owned());
                        vec![
                            role.role.to_owned(),
                            own(role.fg),
                            own(role.bg),
                            role.modifiers.join(" "),
                        ]
                    })
                    .collect();
                let heads = ["ROLE", "TEXT", "GROUND", ""];
                table::print(terminal, &heads, &rows, "no role")
            }
        };
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
    match format {
        Format::Json => lines.iter().try_for_each(|line| terminal.json(line)),
        Format::Human => {
            let rows: Vec<Vec<String>> = lines
                .into_iter()
                .map(|line| {
                    let word = match (line.error, line.in_use) {
                        (Some(error), _) => format!("broken: {}", cell(&error)),
                        (None, true) => "in use".to_owned(),
                        (None, false) => String::new(),
                    };
                    vec![cell(&line.name), cell(&line.file), word]
                })
                .collect();
            table::print(terminal, &["NAME", "FROM", ""], &rows, "no theme")
        }
    }
}
