//! The content of events that we send. Nothing in it mentions anybody, whatever its text says.

use serde_json::{Value, json};

use crate::channels::card::{self, CardLimit, Line, Style};
use crate::protocol::approval::Approval;
use crate::protocol::artifact::SentFile;
use crate::protocol::bridge::CardButton;
use crate::protocol::channel::LengthUnit;
use crate::protocol::enums::{ApprovalKind, DecisionKind};
use crate::text::markdown::{to_matrix_html, to_plain};

/// Where the card of a decision says which one, in its own content: the code that its text shows too.
pub const CARD_FIELD: &str = "dev.leverframe.card";
/// Bytes of content that leave room for the rest of an event: an event has at most 65 536.
const MAX_CONTENT: usize = 60_000;
/// Longest card, in bytes: an edit of it holds it once more, and its HTML too.
const MAX_CARD: usize = 8_000;

/// A text in both forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// HTML.
    pub html: String,
    /// The same without markup.
    pub plain: String,
}

/// Markdown, rendered.
pub fn markdown(source: &str) -> Text {
    Text {
        html: to_matrix_html(source),
        plain: to_plain(source),
    }
}

/// Lines of ours, rendered.
pub fn lines(lines: &[Line]) -> Text {
    let mut html = String::new();
    let mut in_code = false;
    for (at, line) in lines.iter().enumerate() {
        let is_code = line.style == Style::Code;
        match (in_code, is_code) {
            (true, false) => html.push_str("</code></pre>"),
            (false, true) => html.push_str("<pre><code>"),
            (true, true) => html.push('\n'),
            (false, false) if at > 0 => html.push_str("<br>"),
            (false, false) => {}
        }
        in_code = is_code;
        let text = escape(&line.text);
        match line.style {
            Style::Plain | Style::Code => html.push_str(&text),
            Style::Bold => html.push_str(&format!("<b>{text}</b>")),
        }
    }
    if in_code {
        html.push_str("</code></pre>");
    }
    Text {
        html,
        plain: card::plain_text(lines),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Whether people are told of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What a program says: programs do not answer it, and phones do not ring.
    Notice,
    /// Somebody has to see it: a decision waits.
    Call,
}

/// A message.
pub fn message(text: &Text, kind: Kind) -> Value {
    let msgtype = match kind {
        Kind::Notice => "m.notice",
        Kind::Call => "m.text",
    };
    fitted(json!({
        "msgtype": msgtype,
        "body": text.plain,
        "format": "org.matrix.custom.html",
        "formatted_body": text.html,
        "m.mentions": {},
    }))
}

/// The card of the decision with this code.
pub fn card_content(text: &Text, code: &str) -> Value {
    let mut content = message(text, Kind::Call);
    content[CARD_FIELD] = json!({ "code": code });
    content
}

/// A card as a message, and whether it shows everything.
pub fn question(approval: &Approval, buttons: &[CardButton]) -> (Value, bool) {
    let limit = CardLimit {
        max: MAX_CARD,
        unit: LengthUnit::Bytes,
    };
    let card = card::question(approval, buttons, limit);
    let mut lines = card.lines;
    if !card.buttons.is_empty() {
        lines.push(Line {
            text: hint(approval, card.whole).to_owned(),
            style: Style::Plain,
        });
    }
    let text = self::lines(&lines);
    (card_content(&text, &approval.short_code), card.whole)
}

/// How a card is decided without a word.
fn hint(approval: &Approval, whole: bool) -> &'static str {
    let offers = |decision| approval.offered.contains(&decision);
    match approval.kind {
        ApprovalKind::Question => "Or react to this message: 1️⃣ 2️⃣ 3️⃣ chooses an answer, ❌ denies",
        _ if whole && offers(DecisionKind::Approve) => {
            "Or react to this message: ✅ allows, ❌ denies"
        }
        _ if offers(DecisionKind::Deny) => "Or react to this message: ❌ denies",
        _ => "Decide it in the console",
    }
}

/// A message that takes the place of an earlier one. Its own body is for clients that know no edits.
pub fn edit(event: &str, content: Value) -> Value {
    let body = content["body"].as_str().unwrap_or_default();
    let start: String = body.chars().take(1_000).collect();
    json!({
        "msgtype": content["msgtype"],
        "body": format!("* {start}"),
        "m.mentions": {},
        "m.new_content": content,
        "m.relates_to": { "rel_type": "m.replace", "event_id": event },
    })
}

/// A file that the homeserver has under this address.
pub fn file(file: &SentFile, mxc: &str) -> Value {
    let media_type = &file.artifact.media_type;
    let msgtype = match media_type.split('/').next() {
        Some("image") => "m.image",
        Some("audio") => "m.audio",
        Some("video") => "m.video",
        Some(_) | None => "m.file",
    };
    json!({
        "msgtype": msgtype,
        "body": file.name,
        "filename": file.name,
        "url": mxc,
        "info": { "mimetype": media_type, "size": file.artifact.size },
        "m.mentions": {},
    })
}

/// Puts a message into a thread, or makes it the answer to one.
pub fn relate(content: &mut Value, thread: Option<&str>, reply_to: Option<&str>) {
    let relation = match (thread, reply_to) {
        (Some(root), reply_to) => json!({
            "rel_type": "m.thread",
            "event_id": root,
            // For clients that know no threads: they show it as the answer to this.
            "is_falling_back": true,
            "m.in_reply_to": { "event_id": reply_to.unwrap_or(root) },
        }),
        (None, Some(event)) => json!({ "m.in_reply_to": { "event_id": event } }),
        (None, None) => return,
    };
    content["m.relates_to"] = relation;
}

/// Without its HTML, where both forms are too long for one event.
fn fitted(mut content: Value) -> Value {
    if !fits(&content)
        && let Some(fields) = content.as_object_mut()
    {
        fields.remove("format");
        fields.remove("formatted_body");
    }
    content
}

/// Whether one event can hold this content.
pub fn fits(content: &Value) -> bool {
    content.to_string().len() <= MAX_CONTENT
}
