//! From our text to Telegram's: HTML with a plain twin that says the same.
//!
//! Outside text gets in only revealed (`text::untrusted`) and escaped; nothing here can produce a tag
//! from it.

use serde_json::{Value, json};

use crate::channels::card::{self, Line, Style};
use crate::protocol::bridge::CardButton;
use crate::text::markdown::{to_plain, to_telegram_html};
use crate::text::mrkdwn::escape;

/// One message in both forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageText {
    /// For `parse_mode` HTML.
    pub html: String,
    /// The same without markup, should Telegram refuse the markup.
    pub plain: String,
}

/// Source Markdown, rendered.
pub fn markdown(source: &str) -> MessageText {
    MessageText {
        html: to_telegram_html(source),
        plain: to_plain(source),
    }
}

/// Renders lines.
pub fn lines(lines: &[Line]) -> MessageText {
    let mut html = String::new();
    let mut in_code = false;
    for (at, line) in lines.iter().enumerate() {
        let is_code = line.style == Style::Code;
        if in_code && !is_code {
            html.push_str("</pre>");
        }
        if at > 0 {
            html.push('\n');
        }
        if is_code && !in_code {
            html.push_str("<pre>");
        }
        in_code = is_code;
        match line.style {
            Style::Plain | Style::Code => html.push_str(&escape(&line.text)),
            Style::Bold => html.push_str(&format!("<b>{}</b>", escape(&line.text))),
        }
    }
    if in_code {
        html.push_str("</pre>");
    }
    MessageText {
        html,
        plain: card::plain_text(lines),
    }
}

/// An inline keyboard, two buttons a row; none without buttons.
pub fn keyboard(buttons: &[CardButton]) -> Option<Value> {
    if buttons.is_empty() {
        return None;
    }
    let rows: Vec<Value> = buttons
        .chunks(2)
        .map(|row| {
            row.iter()
                .map(|button| json!({ "text": button.label, "callback_data": button.token }))
                .collect()
        })
        .collect();
    Some(json!({ "inline_keyboard": rows }))
}
