//! The models dialog: what is configured, and below it what a look for servers found.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::console::format;
use crate::console::world::session_name;
use crate::protocol::models::{Discovery, KeyState, ModelEntry, ProviderModels};
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::message::FrameReport;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::modal::{DiscoveryState, ModelsDialog};
use crate::tui::state::models::{self, COLUMNS};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::list_panel::NONE_LEFT;
use crate::tui::view::table::{Column, Fit, Row, Table, column};
use crate::tui::view::{detail, paint};

/// Widest popup.
const WIDTH: u16 = 110;

const TABLE: [Column; 5] = [
    column(26, 0, Role::Text, Fit::Rest),
    column(16, 1, Role::TextMuted, Fit::Left),
    column(7, 0, Role::TextMuted, Fit::Right),
    column(14, 0, Role::TextMuted, Fit::Left),
    column(8, 0, Role::TextMuted, Fit::Left),
];

pub fn draw(
    state: &State,
    theme: &Theme,
    dialog: &ModelsDialog,
    area: Rect,
    buf: &mut Buffer,
    report: &mut FrameReport,
) {
    let session = state.model.world().sessions.get(&dialog.session_id);
    let title = session.map_or_else(
        || "Model of a session".to_owned(),
        |session| {
            let name = session_name(session);
            format!("Model of {} / {name}", session.channel)
        },
    );
    let list = &dialog.list;
    let title = format!("{title}  {}{}", list.count(), list.note(COLUMNS));
    let now = session.and_then(|session| session.model.as_deref());
    let width = WIDTH.min(area.width);
    let below = below(state, dialog, usize::from(width.saturating_sub(4)));
    // The border, the head, a blank row; at least one model is seen.
    let room = usize::from(area.height).saturating_sub(4).max(1);
    let listed = list
        .order
        .len()
        .max(1)
        .min(room.saturating_sub(below.len()).max(room / 2).max(1));
    let height = paint::cells(listed + below.len() + 4);
    let popup = paint::popup(buf, area, theme, &title, width, height);
    let inner = paint::padded(popup);
    let (rows, rest) = paint::split_top(inner, paint::cells(listed + 1));
    let notice = match &dialog.known {
        None => Some((Role::TextMuted, "asking for the models …".to_owned())),
        Some(Err(why)) => Some((Role::NoticeError, why.clone())),
        Some(Ok(_)) if list.total == 0 => {
            let text = "no model is configured that can answer";
            Some((Role::Text, text.to_owned()))
        }
        Some(Ok(_)) if list.order.is_empty() => Some((Role::TextStrong, NONE_LEFT.to_owned())),
        Some(Ok(_)) => None,
    };
    if let Some(notice) = notice {
        detail::texts(buf, rows, theme, &[notice]);
    } else {
        let row = |index: usize| match list.order.get(index) {
            Some(name) => {
                let mut cells = models::cells(dialog, name);
                if let Some(cell) = cells.first_mut()
                    && now == Some(name)
                {
                    cell.text.push_str(" (now)");
                }
                let known = dialog.model(name).map(|(_, provider)| provider.key);
                let roles = match known {
                    Some(KeyState::Missing) => vec![(0, Role::TextMuted)],
                    Some(KeyState::Present | KeyState::None) | None => Vec::new(),
                };
                Row::Cells {
                    cells,
                    roles,
                    region: None,
                }
            }
            None => Row::Heading(String::new()),
        };
        let table = Table {
            theme,
            titles: COLUMNS,
            columns: &TABLE,
        };
        let shown = (list.order.len(), list.position());
        table.draw(buf, (popup, rows), shown, row, report);
    }
    let rest = paint::split_top(rest, 1).1;
    let left = usize::from(rest.height);
    let cut = below.len() > left;
    let fit = if cut { left.saturating_sub(1) } else { left };
    let mut lines: Vec<(Role, String)> = below.iter().take(fit).cloned().collect();
    if cut {
        let more = below.len() - fit;
        let text = format!("… {more} more lines: `leverframe models discover` shows all");
        lines.push((Role::TextMuted, text));
    }
    detail::texts(buf, rest, theme, &lines);
}

/// What is known of a model beside its row, in words.
fn about(model: &ModelEntry, provider: &ProviderModels) -> String {
    let profile = &model.profile;
    let known = |what: Option<bool>| match what {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known",
    };
    let price = model.price.as_ref();
    let price = price.map_or("none known", |price| price.source.as_str());
    let note = model.note.as_ref();
    let note = note.map_or_else(String::new, |note| format!("; {note}"));
    format!(
        "{} ({}): answers up to {} tokens; tools {}; pictures {}; profile: {}; price: {price}{note}",
        provider.provider,
        provider.kind,
        format::count(profile.max_output_tokens.into()),
        known(profile.tools),
        known(profile.pictures),
        profile.source,
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
    let selected = dialog.list.selected.as_ref();
    if let Some((model, provider)) = selected.and_then(|name| dialog.model(name)) {
        say(Role::Text, &about(model, provider));
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
