//! Commands, options and HTTP operations that a text mentions are there.

use clap::{Command, CommandFactory as _};
use leverframe::api::router;
use leverframe::cli::arguments::Arguments;

use crate::documentation::links::texts;
use crate::documentation::read;

/// Every piece of code of a text: spans, and lines of fences without their prompt.
fn pieces(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            found.push(line.trim_start_matches(['$', ' ']));
        } else {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

/// What is wrong with a command line; none = clap knows its commands and options.
fn fault(root: &Command, line: &str) -> Option<String> {
    let mut command = root;
    let mut words = line.split_whitespace().skip(1);
    while let Some(word) = words.next() {
        // Arguments in quotes, remarks, the command of another program and what stands for more end what can be checked.
        if word.trim_matches(['[', ']']) == "--"
            || word.starts_with(['#', '|', '"', '\'', '…', '\\'])
        {
            return None;
        }
        let word = word.trim_matches(['[', ']']);
        if let Some(name) = word.strip_prefix("--") {
            let known = command
                .get_arguments()
                .find(|arg| arg.get_long() == Some(name));
            let Some(arg) = known else {
                return Some(format!("has no option --{name}"));
            };
            if arg.get_action().takes_values() {
                words.next();
            }
        } else if let Some(sub) = command.find_subcommand(word) {
            command = sub;
        } else if command.has_subcommands() && word.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Some(format!("has no command {word}"));
        }
    }
    None
}

#[test]
fn every_command_and_option_that_a_text_mentions_is_there() {
    let mut root = Arguments::command();
    root.build();
    let mut faults = Vec::new();
    let mut count = 0;
    for file in texts() {
        for piece in pieces(&read(&file)) {
            let program = piece.split_whitespace().next().unwrap_or_default();
            if program.rsplit('/').next() != Some("leverframe") || program.starts_with('~') {
                continue;
            }
            count += 1;
            if let Some(fault) = fault(&root, piece) {
                faults.push(format!("{}: `{piece}` {fault}", file.display()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(count > 50, "only {count} commands were found");
}

/// Whether a word of a path stands for an id: it is more than letters in lower case.
fn is_placeholder(word: &str) -> bool {
    word.chars().any(|c| !c.is_ascii_lowercase() && c != '-')
}

/// Whether a path as a text writes it is one of the routes: `/v1/sessions/ID` is `/v1/sessions/{id}`.
fn is_route(path: &str, route: &str) -> bool {
    let (written, real): (Vec<&str>, Vec<&str>) =
        (path.split('/').collect(), route.split('/').collect());
    written.len() == real.len()
        && written
            .iter()
            .zip(&real)
            .all(|(word, real)| word == real || (real.starts_with('{') && is_placeholder(word)))
}

#[test]
fn every_operation_that_a_text_mentions_is_there() {
    let table = router::table();
    let mut faults = Vec::new();
    let mut count = 0;
    for file in texts() {
        for piece in pieces(&read(&file)) {
            let (method, path) = match piece.split_once(' ') {
                Some((method, path)) if path.starts_with('/') => (Some(method), path),
                _ => (None, piece),
            };
            if !path.starts_with("/v1/") {
                continue;
            }
            count += 1;
            let path = path.split(['?', ' ']).next().unwrap_or(path);
            let known = table.iter().any(|route| {
                is_route(path, route.path)
                    && method.is_none_or(|method| method == route.method.as_str())
            });
            if !known {
                faults.push(format!("{}: `{piece}` is no operation", file.display()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(count > 50, "only {count} operations were found");
}
