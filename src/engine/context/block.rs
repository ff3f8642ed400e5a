//! Outside text that is put beside a message: delimited, attributed, and never able to end its own block.
//!
//! Every item is one line of JSON in which no `<` is left, so no text can look like the closing line.

use serde_json::{Map, Value};

/// A block named `name`, with what it is in `note`, and a line for each item; nothing for no items.
pub fn block(name: &str, note: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("<{name} note=\"{note}\">\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(&format!("</{name}>\n"));
    text
}

/// One item: its fields in the order given.
pub fn line(fields: &[(&str, Value)]) -> String {
    let object: Map<String, Value> = fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    Value::Object(object).to_string().replace('<', "\\u003c")
}
