//! From our text to Slack's: mrkdwn texts that fit into one message, and cards as blocks.
//!
//! Outside text gets in only revealed (`text::untrusted`) and escaped; nothing here can produce a mention from it.

use serde_json::{Value, json};

use crate::channels::card::{Line, Style};
use crate::protocol::bridge::CardButton;
use crate::protocol::channel::LengthUnit;
use crate::text::chunk::{chunk, length};
use crate::text::markdown::to_slack;
use crate::text::mrkdwn;

/// Longest text of a message, in characters of mrkdwn. Slack takes more, and then cuts it in two by itself.
pub const MAX_TEXT: usize = 4_000;
/// Longest text of a section.
const MAX_SECTION: usize = 2_900;
/// Most characters of all sections of a message together; Slack's own limit is about 13 000, for everything.
pub const MAX_BLOCKS_TEXT: usize = 9_000;
/// Most buttons of one row of blocks.
const MAX_BUTTONS: usize = 25;
/// Longest label of a button.
const MAX_LABEL: usize = 75;
/// Pieces of Markdown that are tried, in characters: escaped they are at most five times as long.
const PIECES: &[usize] = &[2_500, 1_500, 700];

/// Markdown as the texts of messages: one, unless its markup makes it too long for that.
pub fn messages(source: &str) -> Vec<String> {
    let whole = to_slack(source);
    if length(&whole, LengthUnit::Chars) <= MAX_TEXT {
        return vec![whole];
    }
    let mut texts = Vec::new();
    for size in PIECES {
        texts = chunk(source, *size, LengthUnit::Chars)
            .iter()
            .map(|piece| to_slack(piece))
            .collect();
        if texts
            .iter()
            .all(|text| length(text, LengthUnit::Chars) <= MAX_TEXT)
        {
            break;
        }
    }
    texts
}

/// Lines as sections; none when they are too long for one message.
pub fn sections(lines: &[Line]) -> Option<Vec<Value>> {
    let mut texts: Vec<String> = Vec::new();
    let mut from = 0;
    while let Some(first) = lines.get(from) {
        let is_code = first.style == Style::Code;
        let until = lines[from..]
            .iter()
            .position(|line| (line.style == Style::Code) != is_code)
            .map_or(lines.len(), |more| from + more);
        add(&lines[from..until], is_code, &mut texts);
        from = until;
    }
    let sum: usize = texts
        .iter()
        .map(|text| length(text, LengthUnit::Chars))
        .sum();
    if sum > MAX_BLOCKS_TEXT {
        return None;
    }
    let section = |text: String| {
        json!({
            "type": "section", "expand": true,
            "text": { "type": "mrkdwn", "text": text, "verbatim": true },
        })
    };
    Some(texts.into_iter().map(section).collect())
}

/// Adds lines that are all code or all none. Neighbours share a section as long as it has room.
fn add(lines: &[Line], is_code: bool, texts: &mut Vec<String>) {
    let rendered = |lines: &[String]| {
        if is_code {
            mrkdwn::preformatted(&lines.join("\n"))
        } else {
            lines.join("\n")
        }
    };
    let mut group: Vec<String> = Vec::new();
    let mut close = |group: &mut Vec<String>| {
        if group.is_empty() {
            return;
        }
        let text = rendered(group);
        group.clear();
        match texts.last_mut() {
            Some(last)
                if length(last, LengthUnit::Chars) + 1 + length(&text, LengthUnit::Chars)
                    <= MAX_SECTION =>
            {
                last.push('\n');
                last.push_str(&text);
            }
            _ => texts.push(text),
        }
    };
    for line in lines {
        for piece in pieces(&line.text) {
            let shown = match line.style {
                Style::Plain => mrkdwn::escape(&piece),
                Style::Bold => mrkdwn::bold(&piece),
                Style::Code => piece,
            };
            group.push(shown);
            if group.len() > 1 && length(&rendered(&group), LengthUnit::Chars) > MAX_SECTION {
                let last = group.pop();
                close(&mut group);
                group.extend(last);
            }
        }
    }
    close(&mut group);
}

/// A line in pieces that fit into a section however they are escaped.
fn pieces(line: &str) -> Vec<String> {
    const MOST: usize = (MAX_SECTION - 20) / 5;
    if length(&mrkdwn::escape(line), LengthUnit::Chars) <= MAX_SECTION - 20 {
        return vec![line.to_owned()];
    }
    let all: Vec<char> = line.chars().collect();
    all.chunks(MOST).map(|part| part.iter().collect()).collect()
}

/// The rows of buttons.
pub fn buttons(buttons: &[CardButton]) -> Vec<Value> {
    buttons
        .chunks(MAX_BUTTONS)
        .map(|row| {
            let elements: Vec<Value> = row
                .iter()
                .map(|button| {
                    let label: String = button.label.chars().take(MAX_LABEL).collect();
                    json!({
                        "type": "button",
                        "text": { "type": "plain_text", "text": label, "emoji": true },
                        "action_id": button.token,
                        "value": button.token,
                    })
                })
                .collect();
            json!({ "type": "actions", "elements": elements })
        })
        .collect()
}

/// What a notification says in place of blocks: the first lines.
pub fn fallback(lines: &[Line]) -> String {
    let text: Vec<String> = lines
        .iter()
        .take(3)
        .map(|line| line.text.chars().take(200).collect())
        .collect();
    mrkdwn::escape(&text.join("\n"))
}
