//! Help and palette: the actions of the keymap, searchable, executed by enter.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::tui::action::Action;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::modal::{Help, HelpGroup, HelpScope};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, span};
use crate::tui::view::text_entry;

pub fn draw(state: &State, theme: &Theme, help: &Help, area: Rect, buf: &mut Buffer) {
    let title = match help.scope {
        HelpScope::Screen => format!("Help: {}", state.screen.title()),
        HelpScope::All => "Every action".to_owned(),
    };
    let inner = paint::padded(paint::popup(buf, area, theme, &title, 84, area.height));
    let width = usize::from(inner.width);
    let search = Rect {
        width: inner.width.saturating_sub(8),
        x: inner.x + 8.min(inner.width),
        height: inner.height.min(1),
        ..inner
    };
    paint::put(buf, inner, 0, theme, Role::Label, "search");
    text_entry::field(theme, &help.field, search, buf);
    let matches = help.matches(&state.keymap);
    let height = usize::from(inner.height.saturating_sub(2));
    let chosen = help.chosen.min(matches.len().saturating_sub(1));
    // Search results stand by how well they match; then groups would repeat.
    let grouped = help.field.text().trim().is_empty();
    let mut rows: Vec<Result<(usize, Action), HelpGroup>> = Vec::new();
    let mut last = None;
    for (index, action) in matches.iter().copied().enumerate() {
        let group = help.group(&state.keymap, action);
        if grouped && last.replace(group) != Some(group) {
            rows.push(Err(group));
        }
        rows.push(Ok((index, action)));
    }
    let chosen_row = rows
        .iter()
        .position(|row| matches!(row, Ok((index, _)) if *index == chosen));
    let first = paint::first_row(chosen_row, rows.len(), height);
    // The heading above the first action is seen again when the operator goes back up.
    let first = if chosen == 0 { 0 } else { first };
    let keys_width = 18.min(width / 3);
    for (at, row) in (2..).zip(rows.iter().skip(first).take(height)) {
        let (index, action) = match row {
            Ok((index, action)) => (*index, *action),
            Err(group) => {
                paint::put(buf, inner, at, theme, Role::Label, group.title());
                continue;
            }
        };
        let keys = state.keymap.keys_of(help.context, action).join(", ");
        let keys = if keys.is_empty() {
            "-".to_owned()
        } else {
            keys
        };
        let room = width.saturating_sub(keys_width + 3);
        let why = help.unavailable.get(&action);
        let reason = why.map_or_else(String::new, |why| {
            sanitize::line(&format!(" · {why}"), room / 2)
        });
        let description = sanitize::column(
            action.description(),
            room.saturating_sub(sanitize::width(&reason)),
        );
        let (key_role, text_role) = if why.is_some() {
            (Role::FooterDisabled, Role::TextMuted)
        } else {
            (Role::FooterKey, Role::Text)
        };
        let spans = vec![
            span(theme, key_role, sanitize::column(&keys, keys_width)),
            Span::raw(" "),
            span(theme, text_role, description),
            span(theme, Role::FooterDisabled, reason),
        ];
        paint::choice(buf, inner, at, theme, index == chosen, spans);
    }
    if matches.is_empty() {
        let text = "no action matches; backspace widens the search";
        paint::put(buf, inner, 2, theme, Role::TextMuted, text);
    }
}
