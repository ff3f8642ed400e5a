//! The release dialog.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::console::format;
use crate::console::release::Release;
use crate::protocol::command::Waiting;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::dialog::{choices, rows};
use crate::tui::view::{detail, paint};

const WIDTH: u16 = 72;
/// Columns of a choice and its margins.
const CHOICE: u16 = 24;

const fn word(waiting: Waiting) -> &'static str {
    match waiting {
        Waiting::Newest => "newest goes on",
        Waiting::All => "all go on",
        Waiting::Drop => "drop, with a notice",
    }
}

fn plural(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

pub fn draw(state: &State, theme: &Theme, release: &Release, area: Rect, buf: &mut Buffer) {
    let since = format::age(state.model.now.wall, release.since);
    let (title, mut text) = if release.quarantine {
        (
            "Release the quarantine?",
            "This database is a restored copy: what was open in it may have gone on elsewhere since. Channels \
             connect when it is released."
                .to_owned(),
        )
    } else {
        (
            "Release the emergency stop?",
            format!("It has been in force for {since}."),
        )
    };
    if release.asks() {
        let conversations = plural(
            release.rows.len(),
            "conversation waited",
            "conversations waited",
        );
        text.push_str(&format!(" {conversations}; enter changes a choice."));
    } else {
        text.push_str(" Everything that waited goes on.");
    }
    let width = WIDTH.min(area.width);
    let above = rows(&text, width);
    // The border, the text, and a blank row leave this many for the list.
    let room = area.height.saturating_sub(above + 3).max(1);
    let labels = labels(
        state,
        release,
        usize::from(width.saturating_sub(CHOICE + 4)),
    );
    let below = if release.asks() {
        paint::cells(labels.len()).min(room)
    } else {
        1
    };
    let height = above + below + 3;
    let inner = paint::padded(paint::popup(buf, area, theme, title, width, height));
    let at = detail::texts(buf, inner, theme, &[(Role::Text, text)]);
    if !release.asks() {
        let buttons = paint::buttons(theme, &["Cancel", "Release"], release.chosen);
        paint::line(buf, inner, at + 1, &buttons);
        return;
    }
    // Scrolled just so far that the chosen row is seen.
    let below = usize::from(below);
    let first = (release.chosen + 1).saturating_sub(below);
    let window: Vec<String> = labels.into_iter().skip(first).take(below).collect();
    let chosen = release.chosen.saturating_sub(first);
    choices(buf, inner, theme, at + 1, &window, chosen);
}

fn labels(state: &State, release: &Release, name: usize) -> Vec<String> {
    let mut labels = vec![
        "cancel: stay as it is".to_owned(),
        format!(
            "{}  {}",
            sanitize::column("every conversation", name),
            word(release.everywhere)
        ),
    ];
    labels.extend(release.rows.iter().map(|row| {
        let age = format::age(state.model.now.wall, row.oldest);
        let own = match row.own {
            Some(own) => word(own).to_owned(),
            None => "as above".to_owned(),
        };
        format!(
            "{}  {}",
            sanitize::column(
                &format!("  {} waiting, {age}  {}", row.count, row.name),
                name
            ),
            own
        )
    }));
    labels.push("release with these choices".to_owned());
    labels
}
