//! How many tokens a text is likely to have. Pure; never asks a tokenizer.
//!
//! The figures are guesses that real usage corrects: every session learns its own ratio of real to estimated tokens.

use serde_json::Value;

use crate::model::request::ModelMessage;

/// Sixtieths of a token per character: 4 Latin characters, 2.5 of other alphabets, 1.5 of CJK make one token.
const LATIN: u64 = 15;
const OTHER: u64 = 24;
const CJK: u64 = 40;
/// Sixtieths of a token per character of JSON: punctuation is tokens.
const JSON: u64 = 20;
/// Tokens around a message.
pub const PER_MESSAGE: u64 = 4;
/// Tokens around a tool's definition.
pub const PER_TOOL: u64 = 12;
/// Tokens of a picture: what the largest takes that providers do not make smaller.
pub const PER_PICTURE: u64 = 1_600;
/// Tokens around a call.
const PER_CALL: u64 = 8;
/// Tokens around a result.
const PER_RESULT: u64 = 12;

/// Bounds of a session's ratio of real to estimated tokens.
pub const RATIO: std::ops::RangeInclusive<f64> = 0.5..=3.0;

/// Estimated tokens of a text.
pub fn text(text: &str) -> u64 {
    if text.is_ascii() {
        return (text.len() as u64 * LATIN).div_ceil(60);
    }
    let sixtieths: u64 = text
        .chars()
        .map(|c| match u32::from(c) {
            0..0x250 | 0x2000..0x2070 => LATIN,
            0x250..0x2000 | 0x2070..0x2e80 => OTHER,
            0x2e80.. => CJK,
        })
        .sum();
    sixtieths.div_ceil(60)
}

/// Estimated tokens of JSON.
pub fn json(value: &Value) -> u64 {
    (value.to_string().chars().count() as u64 * JSON).div_ceil(60)
}

/// Estimated tokens of a message.
pub fn message(message: &ModelMessage) -> u64 {
    let inner = match message {
        ModelMessage::User { text, pictures } => {
            self::text(text) + pictures.len() as u64 * PER_PICTURE
        }
        ModelMessage::Assistant {
            text,
            tool_calls,
            native,
        } => {
            let calls: u64 = tool_calls
                .iter()
                .map(|call| self::text(&call.name) + json(&call.args) + PER_CALL)
                .sum();
            // Sent in place of text and calls by its own family.
            let native = native.as_ref().map_or(0, |native| json(&native.content));
            (self::text(text) + calls).max(native)
        }
        ModelMessage::ToolResults { results } => results
            .iter()
            .map(|result| self::text(&result.content) + PER_RESULT)
            .sum(),
    };
    inner + PER_MESSAGE
}

/// Estimated tokens of messages.
pub fn messages(messages: &[ModelMessage]) -> u64 {
    messages.iter().map(message).sum()
}

/// An estimate corrected by what the session has learned.
pub fn calibrated(tokens: u64, ratio: f64) -> u64 {
    let ratio = if ratio.is_finite() {
        ratio.clamp(*RATIO.start(), *RATIO.end())
    } else {
        1.0
    };
    (tokens as f64 * ratio).ceil() as u64
}
