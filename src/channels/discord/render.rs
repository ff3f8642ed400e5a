//! From our text to Discord's: Markdown in which outside text is only text, and buttons.

use serde_json::{Value, json};

use crate::channels::card::{Line, Style};
use crate::protocol::bridge::CardButton;
use crate::text::discord::{block, escaped};

/// Longest message, in characters. Discord counts code points (its issue tracker, discord-api-docs #1315).
pub const MAX_MESSAGE: usize = 2_000;
/// Longest text of a message that is made of components, in characters.
pub const MAX_CARD: usize = 4_000;
/// `flags` of a message that shows no previews of links.
pub const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// `flags` of a message that is made of components. Its text may be twice as long, and needs no permission for embeds.
pub const OF_COMPONENTS: u64 = 1 << 15;
/// Buttons in a row, and rows, that a message can have.
const ROW: usize = 5;
/// Longest label of a button, in characters.
pub const MAX_LABEL: usize = 80;

/// Renders lines of a card.
pub fn lines(lines: &[Line]) -> String {
    let mut out = String::new();
    let mut code: Vec<&str> = Vec::new();
    for line in lines {
        if line.style == Style::Code {
            code.push(&line.text);
            continue;
        }
        end_block(&mut code, &mut out);
        if !out.is_empty() {
            out.push('\n');
        }
        let text = escaped(&line.text);
        match line.style {
            Style::Bold => out.push_str(&format!("**{text}**")),
            Style::Plain | Style::Code => out.push_str(&text),
        }
    }
    end_block(&mut code, &mut out);
    out
}

fn end_block(code: &mut Vec<&str>, out: &mut String) {
    if !code.is_empty() {
        block(&code.join("\n"), None, out);
        code.clear();
    }
}

/// The components of a card: its text and rows of buttons.
pub fn card(text: &str, buttons: &[CardButton]) -> Value {
    let text = json!({ "type": 10, "content": text });
    std::iter::once(text).chain(rows(buttons)).collect()
}

fn rows(buttons: &[CardButton]) -> impl Iterator<Item = Value> {
    buttons.chunks(ROW).take(ROW).map(|row| {
        let row: Vec<Value> = row
            .iter()
            .map(|button| {
                json!({
                    "type": 2,
                    "style": style(&button.label),
                    "label": button.label.chars().take(MAX_LABEL).collect::<String>(),
                    "custom_id": button.token,
                })
            })
            .collect();
        json!({ "type": 1, "components": row })
    })
}

/// Green for what allows, red for what refuses, grey for the rest.
fn style(label: &str) -> u8 {
    let words = label.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins = |word: &str| words.to_ascii_lowercase().starts_with(word);
    if begins("deny") {
        4
    } else if begins("allow once") || begins("approve") {
        3
    } else {
        2
    }
}
