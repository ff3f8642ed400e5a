//! Rules, drawn. Shows nothing that the engine does not know: it has no rules yet, and this says what decides instead.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::app::State;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::{detail, paint};

/// What stands in for rules, and where it is changed.
const WORDS: &[(Role, &str)] = &[
    (
        Role::Text,
        "Rules are off: this version does not have them yet.",
    ),
    (Role::Text, ""),
    (
        Role::Text,
        "What a call may do is decided by the level of its channel and the channel's lists (screen 4; A on a channel \
         changes the level and shows what would have run under another one).",
    ),
    (Role::Text, ""),
    (
        Role::TextMuted,
        "W on a card, turn or audit row says which of them decided about a call.",
    ),
];

/// Draws the screen.
pub fn draw(_state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let inner = paint::panel(buf, area, theme, "Rules", true);
    let words: Vec<(Role, String)> = WORDS
        .iter()
        .map(|(role, text)| (*role, (*text).to_owned()))
        .collect();
    detail::texts(buf, paint::padded(inner), theme, &words);
}
