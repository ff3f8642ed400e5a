//! The models dialog: what is configured, and below it what a look for servers found.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::format;
use crate::protocol::models::{Discovery, KeyState, ModelEntry};
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::modal::{DiscoveryState, ModelsDialog};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, span};

/// Widest popup.
const WIDTH: u16 = 110;
/// Columns of what stands behind the name: window, price, key.
const BEHIND: usize = 8 + 15 + 8;
/// Columns of what it is used for, where there is room.
const USED: usize = 17;
/// Least columns of a name before the uses are left out.
const NAME: usize = 28;

/// Draws it.
pub fn draw(state: &State, theme: &Theme, dialog: &ModelsDialog, area: Rect, buf: &mut Buffer) {
    let session = state.model.world().sessions.get(&dialog.session_id);
    let title = session.map_or_else(
        || "Model of a session".to_owned(),
        |session| {
            let name = session.title.as_deref().unwrap_or(&session.conversation);
            format!("Model of {} / {name}", session.channel)
        },
    );
    let now = session.and_then(|session| session.model.as_deref());
    let width = WIDTH.min(area.width);
    let columns = usize::from(width.saturating_sub(4));
    let below = below(state, dialog, columns);
    let models = dialog.models();
    // The border, the head, a blank row; at least one model is seen.
    let room = usize::from(area.height).saturating_sub(4).max(1);
    let listed = models
        .len()
        .max(1)
        .min(room.saturating_sub(below.len()).max(room / 2).max(1));
    let height = u16::try_from(listed + below.len() + 4).unwrap_or(u16::MAX);
    let inner = paint::padded(paint::popup(buf, area, theme, &title, width, height));
    let columns = usize::from(inner.width);
    let mut at = match &dialog.known {
        None => notice(
            buf,
            inner,
            theme,
            Role::TextMuted,
            "asking for the models …",
        ),
        Some(Err(why)) => notice(buf, inner, theme, Role::NoticeError, why),
        Some(Ok(_)) if models.is_empty() => notice(
            buf,
            inner,
            theme,
            Role::Text,
            "the configuration names no model",
        ),
        Some(Ok(_)) => {
            let head = row(
                "  MODEL",
                "USED FOR",
                "WINDOW",
                "IN/OUT $/M",
                "KEY",
                columns,
            );
            paint::line(
                buf,
                inner,
                0,
                &Line::from(span(theme, Role::TextMuted, head)),
            );
            let first = paint::first_row(Some(dialog.chosen), models.len(), listed);
            for (line, index) in (first..models.len()).take(listed).enumerate() {
                let at = u16::try_from(line + 1).unwrap_or(u16::MAX);
                if let Some((model, key)) = models.get(index) {
                    let chosen = index == dialog.chosen;
                    let text = entry(model, *key, chosen, now == Some(&model.model), columns);
                    let role = match key {
                        KeyState::Missing => Role::TextMuted,
                        KeyState::Present | KeyState::None => Role::Text,
                    };
                    paint::line(buf, inner, at, &Line::from(span(theme, role, text)));
                    if chosen {
                        paint::select(buf, paint::row(inner, at), theme, Role::DialogChosen);
                    }
                }
            }
            u16::try_from(listed + 1).unwrap_or(u16::MAX)
        }
    };
    at = at.saturating_add(1);
    let left = usize::from(inner.height.saturating_sub(at));
    let cut = below.len() > left;
    let shown_lines = if cut { left.saturating_sub(1) } else { left };
    for (role, text) in below.iter().take(shown_lines) {
        paint::line(
            buf,
            inner,
            at,
            &Line::from(span(theme, *role, text.clone())),
        );
        at = at.saturating_add(1);
    }
    if cut {
        let more = below.len() - shown_lines;
        let text = format!("… {more} more lines: `leverframe models discover` shows all");
        let line = Line::from(vec![Span::raw(""), span(theme, Role::TextMuted, text)]);
        paint::line(buf, inner, at, &line);
    }
}

fn notice(buf: &mut Buffer, inner: Rect, theme: &Theme, role: Role, text: &str) -> u16 {
    let text = sanitize::line(text, usize::from(inner.width));
    paint::line(buf, inner, 0, &Line::from(span(theme, role, text)));
    1
}

fn row(name: &str, used: &str, window: &str, price: &str, key: &str, columns: usize) -> String {
    let rest = columns.saturating_sub(BEHIND);
    // Each with a space behind it, however long its text is.
    let apart = |text: &str, columns: usize| match columns {
        0 => String::new(),
        _ => format!("{} ", sanitize::column(text, columns - 1)),
    };
    let used_columns = if rest >= NAME + USED { USED } else { 0 };
    format!(
        "{}{}{}{}{}",
        apart(name, rest - used_columns),
        apart(used, used_columns),
        apart(window, 8),
        apart(price, 15),
        sanitize::column(key, 8)
    )
}

fn entry(model: &ModelEntry, key: KeyState, chosen: bool, now: bool, columns: usize) -> String {
    let mark = if chosen { "> " } else { "  " };
    let now = if now { " (now)" } else { "" };
    let price = match &model.price {
        None => "n/a".to_owned(),
        Some(price) if price.input == 0.0 && price.output == 0.0 => "free".to_owned(),
        Some(price) => format!("{}/{}", price.input, price.output),
    };
    row(
        &format!("{mark}{}{now}", model.model),
        &model.used_for.join(", "),
        &format::count(model.profile.context_window),
        &price,
        key.as_str(),
        columns,
    )
}

/// What stands below the list, in lines of this width.
fn below(state: &State, dialog: &ModelsDialog, columns: usize) -> Vec<(Role, String)> {
    let mut out = Vec::new();
    let mut say = |role: Role, text: &str| {
        out.extend(
            sanitize::block(text, columns)
                .into_iter()
                .map(|line| (role, line)),
        );
    };
    if let Some(why) = &dialog.refused {
        say(Role::NoticeError, why);
    }
    match &dialog.look {
        DiscoveryState::Idle => {
            let key = state.keymap.key_of(Context::Dialog, Action::DialogDiscover);
            let key = key.unwrap_or_default();
            let text = format!(
                "{key} looks for model servers on the engine's machine; none is used by itself"
            );
            say(Role::TextMuted, &text);
        }
        DiscoveryState::Searching => say(Role::TextMuted, "looking for model servers …"),
        DiscoveryState::Failed(why) => say(Role::NoticeError, why),
        DiscoveryState::Finished(found) => said_of(found, &mut say),
    }
    out
}

fn said_of(found: &Discovery, say: &mut impl FnMut(Role, &str)) {
    if found.servers.is_empty() {
        say(
            Role::Text,
            "no model server answers on the engine's machine",
        );
    }
    for offered in &found.servers {
        let server = &offered.server;
        let known = match &offered.provider {
            Some(name) => format!("configured as {name}"),
            None => "not configured".to_owned(),
        };
        let count = match server.models.len() {
            1 => "1 model".to_owned(),
            many => format!("{many} models"),
        };
        let text = format!(
            "{} at {}: {count}, {known}",
            sanitize::whole_line(&server.title),
            sanitize::whole_line(&server.base_url)
        );
        say(Role::Title, &text);
        for line in offered.config.lines() {
            say(Role::Text, &format!("  {}", sanitize::whole_line(line)));
        }
    }
    for note in &found.notes {
        say(Role::TextMuted, note);
    }
    if !found.servers.is_empty() {
        let text = "Not used by itself: put the lines into the configuration; they count from the next start.";
        say(Role::TextMuted, text);
    }
}
