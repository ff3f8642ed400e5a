//! Lists, snapshots and events contain the beginning of large content. A request for one thing by
//! its id returns all of it.

use serde_json::Value;

/// Most bytes of a call's arguments, diff and result, each, in a list, a snapshot or an event. The
/// marks of cut content come on top.
pub const PREVIEW_BYTES: usize = 2 * 1024;

/// Bytes that count for an element without text.
const ELEMENT: usize = 8;

/// Cuts a text to the bytes that are left, and subtracts its length from them. True = it was cut.
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
