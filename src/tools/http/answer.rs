//! The text of an answer, for a model. Pure.
//!
//! Nothing here follows what a page says: no script, no reference, no further address.

use serde_json::Value;

use crate::tools::http::exchange::Answer;
use crate::tools::http::html;

/// How far a page is looked into for the name of its character set, in bytes.
const LOOKED_INTO: usize = 1024;
/// The characters of windows-1252 from 0x80 on that are not those of Latin-1.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// What an answer holds.
enum Content {
    Html,
    Json,
    Text,
    /// Nobody said.
    Unknown,
    Binary,
}

/// The type and the character set that a header names, both in lower case.
fn named(content_type: Option<&str>) -> (String, Option<String>) {
    let mut parts = content_type.unwrap_or_default().split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    });
    (essence, charset)
}

fn content(essence: &str) -> Content {
    const TEXTS: [&str; 9] = [
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/toml",
        "application/x-javascript",
        "application/x-ndjson",
        "application/x-sh",
        "application/xml",
        "application/yaml",
    ];
    match essence {
        "" => Content::Unknown,
        "text/html" | "application/xhtml+xml" => Content::Html,
        "application/json" | "text/json" => Content::Json,
        other if other.ends_with("+json") => Content::Json,
        other
            if other.starts_with("text/") || other.ends_with("+xml") || TEXTS.contains(&other) =>
        {
            Content::Text
        }
        _ => Content::Binary,
    }
}

/// The character set that the beginning of a page names.
fn of_page(body: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&body[..body.len().min(LOOKED_INTO)]).to_ascii_lowercase();
    let (_, rest) = head.split_once("charset")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let label: String = rest
        .trim_start_matches(['"', '\''])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
        .collect();
    (!label.is_empty()).then_some(label)
}

fn utf16(body: &[u8], little: bool) -> String {
    let units = body.chunks_exact(2).map(|pair| {
        let pair = [pair[0], pair[1]];
        if little {
            u16::from_le_bytes(pair)
        } else {
            u16::from_be_bytes(pair)
        }
    });
    char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

fn windows_1252(body: &[u8]) -> String {
    let of = |byte: &u8| match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
        other => char::from(*other),
    };
    body.iter().map(of).collect()
}

/// A body as text, by its byte-order mark, what it is said to be, or what it looks like; else why it is none.
fn decoded(body: &[u8], label: Option<&str>, cut: bool) -> Result<String, String> {
    match body {
        [0xef, 0xbb, 0xbf, rest @ ..] => return Ok(String::from_utf8_lossy(rest).into_owned()),
        [0xff, 0xfe, rest @ ..] => return Ok(utf16(rest, true)),
        [0xfe, 0xff, rest @ ..] => return Ok(utf16(rest, false)),
        _ => {}
    }
    if matches!(label, Some("utf-16" | "utf-16le")) {
        return Ok(utf16(body, true));
    }
    if label == Some("utf-16be") {
        return Ok(utf16(body, false));
    }
    if body.contains(&0) {
        return Err("holds zero bytes, so it is no text".to_owned());
    }
    // Whatever it is said to be: what is UTF-8 throughout is nothing else. A cut may be in the middle of a character.
    let known = match std::str::from_utf8(body) {
        Ok(text) => return Ok(text.to_owned()),
        Err(error) if cut && error.error_len().is_none() => {
            return Ok(String::from_utf8_lossy(&body[..error.valid_up_to()]).into_owned());
        }
        Err(_) => label,
    };
    match known {
        Some("utf-8" | "utf8") => Ok(format!(
            "{}\n[bytes that are not UTF-8 are shown as \u{fffd}]",
            String::from_utf8_lossy(body)
        )),
        None | Some("windows-1252" | "cp1252" | "iso-8859-1" | "latin1" | "us-ascii" | "ascii") => {
            Ok(windows_1252(body))
        }
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            Err(format!(
                "is in the character set `{other}`; only UTF-8, UTF-16 and windows-1252 are read"
            ))
        }
    }
}

/// The JSON of an answer; none = it is none.
pub fn json(answer: &Answer) -> Option<Value> {
    serde_json::from_slice(&answer.body).ok()
}

/// The text of an answer: of HTML what people read, of JSON its lines; else why it has none, with its type and size.
pub fn text(answer: &Answer, base: &reqwest::Url) -> Result<String, String> {
    let (essence, charset) = named(answer.content_type.as_deref());
    let refused = |why: &str| {
        let size = match answer.length {
            Some(length) => format!("{length} bytes"),
            None if answer.cut => format!("more than {} bytes", answer.body.len()),
            None => format!("{} bytes", answer.body.len()),
        };
        let what = if essence.is_empty() {
            "of no type"
        } else {
            &essence
        };
        let what: String = what.chars().take(80).collect();
        format!("the answer ({what}, {size}) {why}")
    };
    let kind = content(&essence);
    if matches!(kind, Content::Binary) {
        return Err(refused("is no text, and only text is read"));
    }
    if matches!(kind, Content::Json)
        && let Some(value) = json(answer)
        && let Ok(lines) = serde_json::to_string_pretty(&value)
    {
        return Ok(lines);
    }
    let label = charset.or_else(|| match kind {
        Content::Html | Content::Unknown => of_page(&answer.body),
        Content::Json | Content::Text | Content::Binary => None,
    });
    let text = decoded(&answer.body, label.as_deref(), answer.cut).map_err(|why| refused(&why))?;
    let begins = text
        .trim_start()
        .get(..14)
        .unwrap_or_default()
        .to_ascii_lowercase();
    let looks_html = begins.starts_with("<!doctype html") || begins.starts_with("<html");
    let is_html = match kind {
        Content::Html => true,
        Content::Unknown => looks_html,
        Content::Json | Content::Text | Content::Binary => false,
    };
    let mut text = if is_html {
        html::text(&text, base)
    } else {
        text
    };
    if answer.cut {
        text.push_str(&format!(
            "\n[the answer goes on; only its first {} bytes were read]",
            answer.body.len()
        ));
    }
    Ok(text)
}
