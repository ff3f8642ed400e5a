//! What messages to Discord are made of: pieces of text, the card, and the keys against doubled messages.
//!
//! No message made here mentions anybody, and no two pieces of a part have the same key.

use serde_json::{Value, json};

use crate::channels::card::{self, CardLimit};
use crate::channels::discord::render::{self, MAX_CARD, MAX_MESSAGE, SUPPRESS_EMBEDS};
use crate::protocol::approval::Approval;
use crate::protocol::bridge::{CardButton, Outbound};
use crate::protocol::channel::LengthUnit;
use crate::text::chunk::{chunk, length};
use crate::text::markdown::{to_discord, to_plain};

/// Longest source that is rendered whole; the rest of a message is for the marks of its Markdown.
pub const MAX_SOURCE: usize = 1_900;
/// Lengths that a longer card is cut to, until what it is rendered to fits.
const CARD_LENGTHS: &[usize] = &[3_900, 3_400, 2_800, 2_000];
/// Longest key of a message.
pub const MAX_NONCE: usize = 25;

/// What every new message has. `piece`: of a part that takes several.
pub fn new_message(part: &Outbound, piece: usize) -> Value {
    let mut body = json!({
        "nonce": nonce(&part.idempotency_key, piece),
        "enforce_nonce": true,
        "flags": SUPPRESS_EMBEDS,
        "allowed_mentions": nobody(),
    });
    if piece == 0
        && let Some(message) = part.reply_to.as_deref().filter(|id| is_id(id))
    {
        body["message_reference"] = json!({ "message_id": message, "fail_if_not_exists": false });
    }
    body
}

/// The key of a message: of the part's own as much as fits, and the number of the piece.
pub fn nonce(key: &str, piece: usize) -> String {
    let number = piece.to_string();
    let mut nonce: String = key
        .chars()
        .take(MAX_NONCE.saturating_sub(number.len() + 1).min(20))
        .collect();
    nonce.push('-');
    nonce.push_str(&number);
    nonce
}

/// `allowed_mentions` of everything that we send.
pub fn nobody() -> Value {
    json!({ "parse": [], "replied_user": false })
}

/// The messages of a source. Marks of Markdown count too, so what is too long once it is rendered is cut into shorter
/// sources.
pub fn pieces(source: &str) -> Vec<String> {
    let fits = |text: &str| length(text, LengthUnit::Chars) <= MAX_MESSAGE;
    let mut pieces = Vec::new();
    for part in chunk(source, MAX_SOURCE, LengthUnit::Chars) {
        let whole = to_discord(&part);
        if fits(&whole) {
            pieces.push(whole);
            continue;
        }
        // Every character escaped is twice as long, and lines of a quote have two more.
        for part in chunk(&part, MAX_SOURCE / 3, LengthUnit::Chars) {
            let rendered = to_discord(&part);
            if fits(&rendered) {
                pieces.push(rendered);
            } else {
                pieces.extend(chunk(&to_plain(&part), MAX_MESSAGE, LengthUnit::Chars));
            }
        }
    }
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

/// The components of a card, and whether they show everything.
pub fn question(approval: &Approval, buttons: &[CardButton]) -> (Value, bool) {
    let mut shown = (String::new(), Vec::new(), false);
    for max in CARD_LENGTHS {
        let limit = CardLimit {
            max: *max,
            unit: LengthUnit::Chars,
        };
        let card = card::question(approval, buttons, limit);
        let text = render::lines(&card.lines);
        let fits = length(&text, LengthUnit::Chars) <= MAX_CARD;
        shown = (text, card.buttons, card.whole && fits);
        if fits {
            break;
        }
    }
    let (text, buttons, whole) = shown;
    let text: String = text.chars().take(MAX_CARD).collect();
    (render::card(&text, &buttons), whole)
}

/// Whether a text is an id, and so fit for a path.
pub fn is_id(id: &str) -> bool {
    (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
}
