//! Characters that a server splits: `"\ud83d"` ends one piece and `"\ude00"` begins the next.
//!
//! Such a piece is no JSON for a strict reader. [`parse`] takes it: half of a character becomes a mark, a character of
//! its own. The decoders put pieces together without knowing of marks, and [`Joiner`] and [`join_answer`] make a
//! character of two marks that met. A mark that is left becomes U+FFFD. Marks lie in the last 2048 private use
//! characters; a server that writes one of those itself gets another character for it.

use serde_json::Value;

use crate::model::request::{MalformedArgs, ModelAnswer, StopReason};

/// The mark of U+D800; the others follow in order, up to U+10FFFF.
const FIRST_MARK: u32 = 0x10_F800;
const FIRST_HALF: u32 = 0xD800;

/// Whether this is half of a character, and which: its UTF-16 unit.
fn half(c: char) -> Option<u16> {
    let unit = (c as u32).checked_sub(FIRST_MARK)? + FIRST_HALF;
    u16::try_from(unit).ok()
}

fn is_first(unit: u16) -> bool {
    (0xD800..0xDC00).contains(&unit)
}

fn mark(unit: u16) -> Option<char> {
    char::from_u32(u32::from(unit).checked_sub(FIRST_HALF)? + FIRST_MARK)
}

/// JSON as a server sends it: an escape of half a character is taken as its mark.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    match serde_json::from_str(text) {
        Err(error) => match marked(text) {
            Some(text) => serde_json::from_str(&text),
            None => Err(error),
        },
        parsed => parsed,
    }
}

/// The unit of the escape `\uXXXX` that `text` begins with.
fn escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits
        .bytes()
        .all(|digit| digit.is_ascii_hexdigit())
        .then(|| u16::from_str_radix(digits, 16).ok())?
}

/// `text` with a mark for every escape of half a character that stands alone; none when there is no such escape.
fn marked(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while let Some(at) = rest.find('\\') {
        let (before, escaped) = rest.split_at(at);
        out.push_str(before);
        let unit = escape(escaped).filter(|unit| (0xD800..0xE000).contains(unit));
        let second = escaped.get(6..).and_then(escape);
        let pair = unit.is_some_and(is_first)
            && second.is_some_and(|second| (0xDC00..0xE000).contains(&second));
        let length = match unit.and_then(mark) {
            Some(_) if pair => {
                out.push_str(escaped.get(..12)?);
                12
            }
            Some(mark) => {
                out.push(mark);
                changed = true;
                6
            }
            None => {
                // An escape is the backslash and what stands behind it: `\\u` is none of a character.
                let length = 1 + escaped.chars().nth(1).map_or(0, char::len_utf8);
                out.push_str(escaped.get(..length)?);
                length
            }
        };
        rest = escaped.get(length..)?;
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// Joins the halves in a text that is shown in pieces.
#[derive(Debug, Default)]
pub struct Joiner {
    first: Option<u16>,
}

impl Joiner {
    /// The next piece. A first half at its end waits for its second.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            let unit = half(c);
            if let Some(first) = self.first.take() {
                if let Some(whole) = unit.and_then(|second| whole(first, second)) {
                    out.push(whole);
                    continue;
                }
                out.push(char::REPLACEMENT_CHARACTER);
            }
            match unit {
                Some(first) if is_first(first) => self.first = Some(first),
                Some(_) => out.push(char::REPLACEMENT_CHARACTER),
                None => out.push(c),
            }
        }
        out
    }

    /// The end of the text: a half that waits stays alone.
    pub fn finish(&mut self) -> Option<char> {
        self.first.take().map(|_| char::REPLACEMENT_CHARACTER)
    }
}

fn whole(first: u16, second: u16) -> Option<char> {
    char::decode_utf16([first, second]).next()?.ok()
}

/// Joins the halves in a whole text.
pub fn join(text: &mut String) {
    if text.chars().any(|c| half(c).is_some()) {
        let mut joiner = Joiner::default();
        let mut joined = joiner.push(text);
        joined.extend(joiner.finish());
        *text = joined;
    }
}

/// Joins the halves in every text of an answer.
pub fn join_answer(answer: &mut ModelAnswer) {
    join(&mut answer.text);
    match &mut answer.stop {
        StopReason::Other(word) | StopReason::RefusedFor(word) => join(word),
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::MaxTokens
        | StopReason::Refusal
        | StopReason::Paused => {}
    }
    for call in &mut answer.tool_calls {
        join(&mut call.provider_call_id);
        join(&mut call.name);
        match &mut call.args {
            Ok(args) => join_json(args),
            Err(MalformedArgs { raw, error }) => {
                join(raw);
                join(error);
            }
        }
    }
    if let Some(native) = &mut answer.native {
        join_json(&mut native.content);
    }
    answer
        .notes
        .iter_mut()
        .chain(&mut answer.model)
        .for_each(join);
}

fn join_json(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => join(text),
        Value::Array(items) => items.iter_mut().for_each(join_json),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            for (mut name, mut field) in old {
                join(&mut name);
                join_json(&mut field);
                fields.insert(name, field);
            }
        }
    }
}
