//! The book in `docs/`, README.md and CONTRIBUTING.md: the reference is what the program is, and every link leads
//! somewhere.

mod command_line;
mod configuration;
mod events;
mod example;
mod exit_codes;
mod http;
mod keys;
mod links;
mod markdown;
mod mentions;
mod slash;
mod source;

use std::path::{Path, PathBuf};

/// Writes the generated pages.
const COMMAND: &str =
    "cargo test --test it documentation::write_the_reference -- --ignored --exact";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Where a generated page lies, and what it has to hold.
fn pages() -> Vec<(PathBuf, String)> {
    [
        ("command-line", command_line::page()),
        ("chat-commands", slash::page()),
        ("http", http::page()),
        ("events", events::page()),
        ("keys", keys::page()),
        ("configuration", configuration::page()),
        ("exit-codes", exit_codes::page()),
    ]
    .into_iter()
    .map(|(name, text)| {
        let file = root().join(format!("docs/src/reference/{name}.md"));
        let remark =
            format!("<!-- Generated. Do not edit: `{COMMAND}` writes this page again. -->\n\n");
        (file, remark + text.trim_end() + "\n")
    })
    .collect()
}

#[test]
fn the_reference_is_what_the_program_is() {
    let stale: Vec<String> = pages()
        .into_iter()
        .filter(|(file, text)| std::fs::read_to_string(file).ok().as_ref() != Some(text))
        .map(|(file, _)| file.display().to_string())
        .collect();
    assert!(
        stale.is_empty(),
        "these pages are stale: {}\nwrite them again with: {COMMAND}",
        stale.join(", ")
    );
}

#[test]
#[ignore = "writes docs/src/reference"]
fn write_the_reference() {
    for (file, text) in pages() {
        std::fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}
