//! Reads the documentation comments of our types from their source: they are what the reference says of a field.

use std::path::Path;

use crate::documentation::{read, root};

/// A struct, an enum, or a variant of one, with what is said of it.
#[derive(Debug, Clone, Default)]
pub struct Item {
    /// Name.
    pub name: String,
    /// Documentation comment, lines joined.
    pub about: String,
    /// What `#[serde(rename = "…")]` calls it.
    pub renamed: Option<String>,
    /// Type of a field; empty for variants.
    pub of: String,
    /// Fields or variants.
    pub parts: Vec<Item>,
}

/// The struct or enum of this name in a file below the root, as rustfmt writes it.
pub fn item(file: &str, name: &str) -> Item {
    let text = read(&root().join(Path::new(file)));
    let opens = |line: &str| {
        ["struct", "enum"]
            .iter()
            .any(|word| line == format!("pub {word} {name} {{"))
    };
    let mut lines = text.lines();
    let mut about = String::new();
    for line in lines.by_ref() {
        if opens(line) {
            let body: Vec<&str> = lines.take_while(|line| *line != "}").collect();
            return Item {
                name: name.to_owned(),
                about,
                parts: parts(&body, 1),
                ..Item::default()
            };
        }
        remember(line, &mut about);
    }
    panic!("{file} has no {name}");
}

/// Adds a line of documentation; whatever is neither that nor an attribute begins anew.
fn remember(line: &str, about: &mut String) {
    let line = line.trim();
    if let Some(more) = line.strip_prefix("///") {
        if !about.is_empty() {
            about.push(' ');
        }
        about.push_str(more.trim());
    } else if !line.starts_with("#[") {
        about.clear();
    }
}

/// Fields and variants at this depth.
fn parts(body: &[&str], depth: usize) -> Vec<Item> {
    let indent = "    ".repeat(depth);
    let mut found = Vec::new();
    let mut about = String::new();
    let mut renamed = None;
    // What only tests have is no part of the program.
    let mut left_out = false;
    let mut lines = body.iter();
    while let Some(line) = lines.next() {
        let Some(text) = line
            .strip_prefix(&indent)
            .filter(|text| !text.starts_with(' '))
        else {
            continue;
        };
        if let Some(word) = text
            .strip_prefix("#[serde(")
            .and_then(|text| text.split_once("rename = \""))
            .and_then(|(_, text)| text.split_once('"'))
        {
            renamed = Some(word.0.to_owned());
        }
        left_out |= text.starts_with("#[cfg(");
        if text.starts_with(['/', '#']) {
            remember(text, &mut about);
            continue;
        }
        let name = text.trim_end_matches(['{', ',', ' ']);
        let name = name.split_once('(').map_or(name, |(name, _)| name);
        let (name, of) = name.split_once(": ").unwrap_or((name, ""));
        let inner: Vec<&str> = if text.ends_with('{') {
            let end = format!("{indent}}},");
            lines
                .by_ref()
                .copied()
                .take_while(|line| *line != end)
                .collect()
        } else {
            Vec::new()
        };
        let item = Item {
            name: name.trim_start_matches("pub ").to_owned(),
            about: std::mem::take(&mut about),
            renamed: renamed.take(),
            of: of.to_owned(),
            parts: parts(&inner, depth + 1),
        };
        if !std::mem::take(&mut left_out) {
            found.push(item);
        }
    }
    found
}

/// `OpenaiChat` as `openai-chat` or `openai_chat`.
pub fn lower(name: &str, between: char) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push(between);
        }
        out.extend(letter.to_lowercase());
    }
    out
}
