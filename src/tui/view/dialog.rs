//! Small dialogs: quit, confirm, snooze; and what the others are drawn with.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::console::access::Hosting;
use crate::console::decision::{Bound, SnoozeChoice};
use crate::console::format;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::modal::{Confirm, QuitChoice};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::{detail, paint};

/// Rows that a text takes in a popup of this width.
pub(crate) fn rows(text: &str, popup: u16) -> u16 {
    let inner = usize::from(popup.saturating_sub(4));
    paint::cells(sanitize::block(text, inner).len())
}

/// A list with one chosen entry, from a row on.
pub(crate) fn choices(
    buf: &mut Buffer,
    inner: Rect,
    theme: &Theme,
    from: u16,
    labels: &[String],
    chosen: usize,
) {
    for (index, label) in labels.iter().enumerate() {
        let at = from.saturating_add(paint::cells(index));
        let mark = if index == chosen { "> " } else { "  " };
        let text = sanitize::column(&format!("{mark}{label}"), usize::from(inner.width));
        paint::put(buf, inner, at, theme, Role::Text, &text);
        if index == chosen {
            paint::select(buf, paint::row(inner, at), theme, Role::DialogChosen);
        }
    }
}

pub fn quit(
    state: &State,
    theme: &Theme,
    offered: &[QuitChoice],
    chosen: usize,
    area: Rect,
    buf: &mut Buffer,
) {
    let (why, stop) = match &state.model.hosting {
        Hosting::Embedded { live_channels } if live_channels.is_empty() => (
            "The engine runs in this process.".to_owned(),
            "stop the engine and quit; open turns can be resumed later",
        ),
        Hosting::Embedded { live_channels } => (
            format!(
                "The engine runs in this process and serves {}.",
                live_channels.join(", ")
            ),
            "stop the engine and quit; open turns can be resumed later",
        ),
        Hosting::Attached => (
            "The engine runs elsewhere and goes on.".to_owned(),
            "quit this console",
        ),
    };
    let work = state.model.world().open_work();
    let why = match (&state.model.hosting, work.is_empty()) {
        (Hosting::Attached, _) => why,
        (Hosting::Embedded { .. }, true) => format!("{why}\nNothing is under way."),
        (Hosting::Embedded { .. }, false) => format!("{why}\nUnder way: {}.", work.join(", ")),
    };
    let labels: Vec<String> = offered
        .iter()
        .map(|choice| match choice {
            QuitChoice::Stay => "stay".to_owned(),
            QuitChoice::Detach => "detach: the engine goes on in the background".to_owned(),
            QuitChoice::Stop => stop.to_owned(),
        })
        .collect();
    // Text, a blank row, the choices, and the border.
    let height = rows(&why, 66) + paint::cells(labels.len()).min(8) + 3;
    let inner = paint::padded(paint::popup(buf, area, theme, "Quit", 66, height));
    let at = detail::texts(buf, inner, theme, &[(Role::Text, why)]);
    choices(buf, inner, theme, at + 1, &labels, chosen);
}

pub fn confirm(theme: &Theme, confirm: &Confirm, area: Rect, buf: &mut Buffer) {
    let lines: Vec<(Role, String)> = confirm
        .lines
        .iter()
        .map(|text| (Role::Text, text.clone()))
        .collect();
    // A line may need several rows; the buttons must stay in sight.
    let needed = confirm
        .lines
        .iter()
        .map(|text| rows(text, 66.min(area.width)));
    let height = needed.fold(5, u16::saturating_add);
    let inner = paint::padded(paint::popup(buf, area, theme, &confirm.title, 66, height));
    let at = detail::texts(buf, inner, theme, &lines);
    let buttons = paint::buttons(theme, &["Cancel", confirm.label], confirm.chosen);
    paint::line(buf, inner, at + 1, &buttons);
}

pub fn snooze(
    theme: &Theme,
    bound: &Bound,
    offered: &[SnoozeChoice],
    chosen: usize,
    area: Rect,
    buf: &mut Buffer,
) {
    let title = format!("Snooze {}", bound.title);
    let inner = paint::padded(paint::popup(buf, area, theme, &title, 60, 8));
    let text = "It goes below; others still see it. Its deadline stays, and it is back ten minutes before.";
    let at = detail::texts(buf, inner, theme, &[(Role::TextMuted, text.to_owned())]);
    let labels: Vec<String> = offered
        .iter()
        .map(|choice| format!("{}, until {}", choice.words, format::clock(choice.until)))
        .collect();
    choices(buf, inner, theme, at, &labels, chosen);
}
