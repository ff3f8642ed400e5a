//! What Telegram makes of `parse_mode` HTML: visible text and entities, or the error it would give.
//!
//! Source: Bot API, "HTML style"; error texts as the public server words them.

use serde_json::{Value, json};

/// A parsed text.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    pub text: String,
    pub entities: Vec<Value>,
}

struct Open {
    tag: String,
    kind: &'static str,
    extra: Option<(&'static str, String)>,
    /// In UTF-16 units.
    offset: usize,
}

pub fn parse(html: &str) -> Result<Parsed, String> {
    let mut text = String::new();
    let mut units = 0;
    let mut stack: Vec<Open> = Vec::new();
    let mut entities: Vec<(usize, usize, Value)> = Vec::new();
    let mut at = 0;
    while let Some(c) = html[at..].chars().next() {
        match c {
            '<' => {
                let Some(end) = html[at..].find('>') else {
                    return Err(format!("Unclosed start tag at byte offset {at}"));
                };
                let inside = &html[at + 1..at + end];
                if let Some(name) = inside.strip_prefix('/') {
                    let Some(open) = stack.pop() else {
                        return Err(format!("Unexpected end tag at byte offset {at}"));
                    };
                    if name.trim().to_lowercase() != open.tag {
                        return Err(format!(
                            "Unmatched end tag at byte offset {at}, expected \"</{}>\", found \"</{name}>\"",
                            open.tag
                        ));
                    }
                    close(open, units, &mut entities);
                } else {
                    stack.push(open_tag(inside, at, units, &stack)?);
                }
                at += end + 1;
            }
            '&' => {
                let (shown, used) = entity(&html[at..]);
                units += shown.encode_utf16().count();
                text.push_str(&shown);
                at += used;
            }
            c => {
                units += c.len_utf16();
                text.push(c);
                at += c.len_utf8();
            }
        }
    }
    if let Some(open) = stack.last() {
        return Err(format!(
            "Can't find end tag corresponding to start tag \"{}\"",
            open.tag
        ));
    }
    entities.sort_by_key(|(offset, length, _)| (*offset, usize::MAX - length));
    Ok(Parsed {
        text,
        entities: entities.into_iter().map(|(_, _, entity)| entity).collect(),
    })
}

fn open_tag(inside: &str, at: usize, units: usize, stack: &[Open]) -> Result<Open, String> {
    let (name, attributes) = match inside.split_once(char::is_whitespace) {
        Some((name, attributes)) => (name, attributes),
        None => (inside, ""),
    };
    let tag = name.to_lowercase();
    let (kind, extra) = match tag.as_str() {
        "b" | "strong" => ("bold", None),
        "i" | "em" => ("italic", None),
        "u" | "ins" => ("underline", None),
        "s" | "strike" | "del" => ("strikethrough", None),
        "tg-spoiler" => ("spoiler", None),
        "blockquote" => ("blockquote", None),
        "pre" => ("pre", None),
        "code" => (
            "code",
            attribute(attributes, "class")
                .and_then(|class| class.strip_prefix("language-").map(str::to_owned))
                .map(|language| ("language", language)),
        ),
        "a" => (
            "text_link",
            attribute(attributes, "href").map(|address| ("url", address)),
        ),
        "span" if attribute(attributes, "class").as_deref() == Some("tg-spoiler") => {
            ("spoiler", None)
        }
        "span" => {
            return Err(format!(
                "Tag \"span\" must have class \"tg-spoiler\" at byte offset {at}"
            ));
        }
        _ => {
            return Err(format!(
                "Unsupported start tag \"{name}\" at byte offset {at}"
            ));
        }
    };
    if kind == "blockquote" && stack.iter().any(|open| open.kind == "blockquote") {
        return Err(format!(
            "blockquote entities can't be nested at byte offset {at}"
        ));
    }
    Ok(Open {
        tag,
        kind,
        extra,
        offset: units,
    })
}

fn close(open: Open, units: usize, entities: &mut Vec<(usize, usize, Value)>) {
    let length = units - open.offset;
    if length == 0 {
        return;
    }
    let mut value = json!({ "type": open.kind, "offset": open.offset, "length": length });
    if let Some((name, extra)) = open.extra {
        value[name] = Value::from(extra);
    }
    entities.push((open.offset, length, value));
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let rest = attributes.split_once(&format!("{name}="))?.1;
    let quote = rest.chars().next()?;
    let value = match quote {
        '"' | '\'' => rest[1..].split(quote).next()?,
        _ => rest.split_whitespace().next()?,
    };
    let mut decoded = String::new();
    let mut at = 0;
    while let Some(c) = value[at..].chars().next() {
        if c == '&' {
            let (shown, used) = entity(&value[at..]);
            decoded.push_str(&shown);
            at += used;
        } else {
            decoded.push(c);
            at += c.len_utf8();
        }
    }
    Some(decoded)
}

/// Telegram decodes four names and numbers; anything else stays as written.
fn entity(text: &str) -> (String, usize) {
    if let Some(end) = text.find(';').filter(|end| *end <= 10) {
        let name = &text[1..end];
        let decoded = match name {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            _ => name.strip_prefix('#').and_then(|number| {
                match number.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16).ok(),
                    None => number.parse().ok(),
                }
                .and_then(char::from_u32)
            }),
        };
        if let Some(c) = decoded {
            return (c.to_string(), end + 1);
        }
    }
    ("&".to_owned(), 1)
}
