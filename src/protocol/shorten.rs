//! What lists, snapshots and events say of large content: its beginning. The whole of one thing is asked for by its id.

use serde_json::Value;

/// Most bytes that a list, a snapshot or an event holds of a call's arguments, of its diff and of its result, each;
/// the marks of what was cut come on top.
pub const PREVIEW_BYTES: usize = 2 * 1024;

/// Bytes that an element without text counts as.
const ELEMENT: usize = 8;

/// Cuts a text that is longer than what is left, and takes it from that. True = it was cut.
pub fn shorten_text(text: &mut String, left: &mut usize) -> bool {
    if text.len() <= *left {
        *left -= text.len();
        return false;
    }
    text.truncate(text.floor_char_boundary(*left));
    text.push('…');
    *left = 0;
    true
}

/// Cuts a list of texts. True = something was cut.
pub fn shorten_texts(texts: &mut Vec<String>, left: &mut usize) -> bool {
    shorten_list(texts, left, shorten_text)
}

/// Cuts the texts, lists and maps of a value. True = something was cut.
pub fn shorten_json(value: &mut Value, left: &mut usize) -> bool {
    match value {
        Value::String(text) => shorten_text(text, left),
        Value::Array(list) => shorten_list(list, left, shorten_json),
        Value::Object(map) => {
            let mut cut = false;
            map.retain(|name, value| {
                let Some(rest) = left.checked_sub(name.len() + ELEMENT) else {
                    cut = true;
                    return false;
                };
                *left = rest;
                cut |= shorten_json(value, left);
                true
            });
            cut
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn shorten_list<T>(
    list: &mut Vec<T>,
    left: &mut usize,
    mut shorten: impl FnMut(&mut T, &mut usize) -> bool,
) -> bool {
    let mut cut = false;
    list.retain_mut(|element| {
        let Some(rest) = left.checked_sub(ELEMENT) else {
            cut = true;
            return false;
        };
        *left = rest;
        cut |= shorten(element, left);
        true
    });
    cut
}
