//! Where a server is, in words that hold no secret. Pure.

use crate::config::mcp::{McpPlace, McpServerSettings};
use crate::text::quote::quote;

/// Where a server is: its program with the arguments, or its address without query.
pub fn place(settings: &McpServerSettings) -> String {
    match &settings.place {
        McpPlace::Program(program) => {
            let words: Vec<_> = program.command.iter().map(|word| quote(word)).collect();
            words.join(" ")
        }
        McpPlace::Address(address) => {
            let url = address.url.as_str();
            url.split(['?', '#']).next().unwrap_or(url).to_owned()
        }
    }
}

/// The place that a pin holds: with working directory and names of variables.
pub fn identity_place(settings: &McpServerSettings) -> String {
    let mut place = place(settings);
    if let McpPlace::Program(program) = &settings.place {
        if let Some(directory) = &program.directory {
            place.push_str(&format!(" in {}", directory.display()));
        }
        if !program.environment.is_empty() {
            let names: Vec<&str> = program.environment.keys().map(String::as_str).collect();
            place.push_str(&format!(" with {}", names.join(", ")));
        }
    }
    place
}
