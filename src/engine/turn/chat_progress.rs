//! What a chat sees of a turn while it runs, by the channel's `reply_style`. Nothing here is stored, and nothing waits
//! for it: the answer comes by the outbox, whatever becomes of this.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::config::settings::ReplyStyle;
use crate::engine::delivery::{Link, platform_conversation};
use crate::engine::lock::lock;
use crate::protocol::bridge::ProgressMessage;
use crate::protocol::enums::Surface;
use crate::protocol::ids::{ContinuationId, ToolCallId};
use crate::store::queries::turn::TurnRows;

/// Tools that the message names, the newest.
const TOOLS: usize = 5;
/// Characters of an answer that the message shows, the newest.
const CHARACTERS: usize = 3_000;

/// The progress message of a turn; it goes when this is dropped.
#[derive(Debug)]
pub struct ChatProgress {
    link: Arc<Link>,
    continuation_id: ContinuationId,
    conversation: String,
    style: ReplyStyle,
    shown: Mutex<Shown>,
}

#[derive(Debug, Default)]
struct Shown {
    /// Tools in the order of their start, and whether each runs.
    tools: VecDeque<(ToolCallId, String, bool)>,
    /// The step whose text it is.
    step: u32,
    /// The answer as far as it was written: outside text.
    text: String,
}

impl ChatProgress {
    /// That of a turn on a channel with this style; none where no chat waits for it, or final answers only are shown.
    pub fn of(rows: &TurnRows, style: ReplyStyle, link: Arc<Link>) -> Option<Self> {
        let shows = match style {
            ReplyStyle::Final => false,
            ReplyStyle::Progress | ReplyStyle::Streaming => rows.surface == Surface::Chat,
        };
        shows.then(|| Self {
            link,
            continuation_id: rows.id,
            conversation: platform_conversation(&rows.conversation).to_owned(),
            style,
            shown: Mutex::default(),
        })
    }

    /// A tool runs.
    pub fn tool_started(&self, id: ToolCallId, name: &str) {
        let mut shown = lock(&self.shown);
        shown.tools.push_back((id, name.to_owned(), true));
        while shown.tools.len() > TOOLS {
            shown.tools.pop_front();
        }
        self.show(&shown);
    }

    /// A tool has ended.
    pub fn tool_finished(&self, id: ToolCallId) {
        let mut shown = lock(&self.shown);
        for (_, _, runs) in shown.tools.iter_mut().filter(|(of, _, _)| *of == id) {
            *runs = false;
        }
        self.show(&shown);
    }

    /// The model wrote more of its answer.
    pub fn wrote(&self, step: u32, piece: &str) {
        match self.style {
            ReplyStyle::Streaming => {}
            ReplyStyle::Final | ReplyStyle::Progress => return,
        }
        let mut shown = lock(&self.shown);
        if shown.step != step {
            shown.step = step;
            shown.text.clear();
        }
        shown.text.push_str(piece);
        self.show(&shown);
    }

    fn show(&self, shown: &Shown) {
        let text = text_of(shown);
        if !text.is_empty() {
            self.link.show_progress(ProgressMessage {
                continuation_id: self.continuation_id,
                conversation: self.conversation.clone(),
                text: Some(text),
            });
        }
    }
}

impl Drop for ChatProgress {
    fn drop(&mut self) {
        self.link.end_progress(self.continuation_id);
    }
}

/// The answer so far, then the tools.
fn text_of(shown: &Shown) -> String {
    let mut parts = Vec::new();
    if !shown.text.trim().is_empty() {
        let count = shown.text.chars().count();
        let newest: String = shown
            .text
            .chars()
            .skip(count.saturating_sub(CHARACTERS))
            .collect();
        let cut = if count > CHARACTERS { "… " } else { "" };
        parts.push(format!("{cut}{newest} …"));
    }
    if !shown.tools.is_empty() {
        let tools = shown.tools.iter().map(|(_, name, runs)| {
            let mark = if *runs { "…" } else { "✓" };
            format!("`{name}` {mark}")
        });
        parts.push(format!("Working: {}", tools.collect::<Vec<_>>().join(", ")));
    }
    parts.join("\n\n")
}
