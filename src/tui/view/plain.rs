//! The texts of the screens as lines, for a terminal without a screen and for screen readers.
//!
//! Nothing is drawn and nothing is cut: a card that is printed here is printed whole.

use ratatui::text::Line;

use crate::console::item::QueueKey;
use crate::console::model::Model;
use crate::console::queue;
use crate::protocol::ids::ContinuationId;
use crate::protocol::session::TranscriptEntry;
use crate::tui::code_colors::CodeColors;
use crate::tui::sanitize;
use crate::tui::state::entries::{is_answer, is_repeated};
use crate::tui::theme::depth::ColorDepth;
use crate::tui::theme::file::default_theme;
use crate::tui::theme::roles::Theme;
use crate::tui::view::approval_card::{CardDetail, CardLayout};
use crate::tui::view::cache::ViewCache;
use crate::tui::view::console::Console;
use crate::tui::view::diff::DiffLayout;
use crate::tui::view::transcript_entry::Manner;
use crate::tui::view::{card, transcript_entry};

fn theme() -> Theme {
    default_theme(ColorDepth::None)
}

fn text(line: &Line<'_>) -> String {
    let whole: String = line
        .spans
        .iter()
        .map(|span| span.content.as_ref())
        .collect();
    // The rule behind a heading is for eyes.
    whole.trim_end_matches([' ', '─']).to_owned()
}

/// The whole card of a queue item; none when there is no such item.
pub fn card(model: &Model, key: &QueueKey, width: usize) -> Option<Vec<String>> {
    let subject = queue::subject(&model.hosts, key)?;
    let console = Console {
        model,
        keymap: None,
    };
    let item = &key.item;
    let (title, id, risk) = card::identity(console, item);
    let mut lines = vec![
        format!(
            "{} · {} · {}",
            sanitize::whole_line(&title),
            risk.1.to_uppercase(),
            card::status(console, item).1
        ),
        sanitize::whole_line(&id),
    ];
    let theme = theme();
    let mut cache = ViewCache::default();
    let body = card::lines(
        console,
        &theme,
        &mut cache,
        item,
        &subject.digest,
        CardLayout {
            width,
            detail: CardDetail::Whole,
            diff: DiffLayout::Unified,
        },
    );
    lines.extend(body.iter().map(text));
    Some(lines)
}

/// Entries of a transcript, unfolded.
pub fn transcript(entries: &[TranscriptEntry], width: usize) -> Vec<String> {
    let theme = theme();
    let mut lines: Vec<String> = Vec::new();
    let answered = |id: ContinuationId| {
        let mut turn = entries.iter().filter(|entry| entry.continuation_id == id);
        turn.any(is_answer)
    };
    for entry in entries {
        let repeated = is_repeated(entry, answered);
        let drawn = transcript_entry::lines(
            &theme,
            &CodeColors::default(),
            entry,
            Manner {
                width,
                folded: false,
                repeated,
                raw: false,
                unfold: "",
            },
        );
        lines.extend(drawn.iter().map(text));
    }
    lines
}
