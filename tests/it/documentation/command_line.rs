//! The page of the command line, from clap's tree.

use clap::{Arg, Command, CommandFactory as _};
use leverframe::cli::arguments::Arguments;

use crate::documentation::markdown::{Page, code, codes, prose};

/// What stands before the generated part.
const INTRODUCTION: &str = "\
The commands talk to the running daemon of the data directory. `--data-dir` names another data directory.
`init`, `keys`, `themes`, `restore` and `doctor --database` need no daemon.
`audit`, `backup`, `doctor`, `events`, `models` and `replay` read the files where no daemon runs.

An id can be shortened to a unique prefix. An approval also answers to its six-letter code.
[Exit codes](exit-codes.md) lists how a command ends.";

/// The whole page.
pub fn page() -> String {
    let mut command = Arguments::command();
    command.build();
    let mut page = Page::new("Command line");
    page.paragraph(INTRODUCTION);
    page.heading(2, "`leverframe`");
    describe(&mut command, &mut page);
    page.heading(3, "Options of every command");
    let rows = rows(command.get_arguments().filter(|arg| arg.is_global_set()));
    page.table(["option", "meaning"], &rows);
    walk(&command, "leverframe", 2, &mut page);
    page.finish()
}

fn walk(command: &Command, path: &str, level: usize, page: &mut Page) {
    for sub in command.get_subcommands().filter(|sub| is_shown(sub)) {
        let path = format!("{path} {}", sub.get_name());
        page.heading(level, &code(path.trim_start_matches("leverframe ")));
        describe(&mut sub.clone(), page);
        walk(sub, &path, 3, page);
    }
}

fn is_shown(command: &Command) -> bool {
    command.get_name() != "help" && !command.is_hide_set()
}

fn describe(command: &mut Command, page: &mut Page) {
    let about = command.get_long_about().or(command.get_about());
    if let Some(about) = about {
        let about = prose(&about.to_string());
        page.paragraph(&format!("{}.", about.trim_end_matches('.')));
    }
    let stands_alone = command.get_positionals().next().is_some();
    if command.get_subcommands().any(is_shown)
        && command.get_name() != "leverframe"
        && !stands_alone
    {
        return;
    }
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    page.paragraph(&format!("```text\n{usage}\n```"));
    let own = command.get_arguments().filter(|arg| !arg.is_global_set());
    page.table(["argument", "meaning"], &rows(own));
}

fn rows<'a>(arguments: impl Iterator<Item = &'a Arg>) -> Vec<[String; 2]> {
    arguments
        .filter(|arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version"))
        .map(|arg| {
            let mut about = arg
                .get_long_help()
                .or(arg.get_help())
                .map(|help| prose(&help.to_string()))
                .unwrap_or_default();
            let defaults: Vec<&str> = arg
                .get_default_values()
                .iter()
                .filter_map(|value| value.to_str())
                .collect();
            let takes = arg.get_action().takes_values();
            if takes && !defaults.is_empty() {
                about.push_str(&format!(". Default: {}", codes(defaults)));
            }
            let words = arg.get_possible_values();
            if takes && !words.is_empty() {
                let words = codes(words.iter().map(clap::builder::PossibleValue::get_name));
                about.push_str(&format!(". One of {words}"));
            }
            [code(&arg.to_string()), about]
        })
        .collect()
}
