//! What is copied: an id, or a whole thing in words. Copies nothing itself, the terminal does.

use crate::console::item::ItemKey;
use crate::console::model::Tone;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::background_search::search_text;
use crate::tui::state::panel::{self, ScreenKind};
use crate::tui::state::panels;
use crate::tui::state::screen::Screen;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// The id of what is selected.
    Id,
    /// All of it, in words.
    All,
}

/// Copies by the terminal (OSC 52), or says that nothing is selected.
pub fn copy(state: &mut State, what: Copied) -> Vec<Effect> {
    match copied(state, what == Copied::All) {
        Some(text) => {
            let part = state.screen == Screen::Session
                && state.screens.session.selected.is_none()
                && what == Copied::All
                && !state.screens.session.is_whole();
            let key = state.keymap.key_of(state.context(), Action::Export);
            let part = match key.filter(|_| part) {
                Some(key) => format!(": only what is loaded; {key} writes everything to a file"),
                None => " to the clipboard (OSC 52)".to_owned(),
            };
            state.toast(Tone::Info, format!("copied {} bytes{part}", text.len()));
            vec![Effect::Copy(text)]
        }
        None => state.nothing(Action::CopyId),
    }
}

/// The id of what is selected, or all of it.
fn copied(state: &State, all: bool) -> Option<String> {
    let world = state.model.world();
    match panels::of(state.screen) {
        ScreenKind::Queue => match state.model.selected()? {
            ItemKey::Approval(id) => panel::copied(id, world.approvals.get(id), all),
            ItemKey::Continuation(id) => panel::copied(id, world.continuations.get(id), all),
            ItemKey::Delivery(id) => panel::copied(id, world.deliveries.get(id), all),
            ItemKey::Leftovers(id) => panel::copied(id, world.leftovers.get(id), all),
            ItemKey::RefusedCalls(id) | ItemKey::Flood(id) => {
                panel::copied(id, world.sessions.get(id), all)
            }
            ItemKey::Channel(name) => panel::copied(name, world.channels.get(name), all),
            ItemKey::Problem(text) => Some(text.clone()),
        },
        ScreenKind::Session => {
            let session = &state.screens.session;
            let selected = session.selected.and_then(|at| session.entries.get(&at));
            match (selected, all) {
                (Some(held), false) => Some(held.entry.continuation_id.to_string()),
                (Some(held), true) => Some(search_text(&held.entry)),
                (None, false) => session.session_id.map(|id| id.to_string()),
                (None, true) => {
                    let visible = session.visible();
                    let entries = visible.iter().filter_map(|at| session.entries.get(at));
                    let texts: Vec<String> = entries.map(|held| search_text(&held.entry)).collect();
                    (!texts.is_empty()).then(|| texts.join("\n\n"))
                }
            }
        }
        ScreenKind::List(panel) => (panel.copied)(state, all),
    }
}
