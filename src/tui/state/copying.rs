//! What is copied: an id, or a whole thing in words. Copies nothing itself, the terminal does.

use crate::console::item::ItemKey;
use crate::console::model::Tone;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::panel::ScreenKind;
use crate::tui::state::panels;
use crate::tui::state::screen::Screen;

/// What a copy takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// The id of what is selected.
    Id,
    /// All of it, in words.
    All,
}

/// Copies by the terminal (OSC 52), or says that nothing is selected.
pub fn copy(state: &mut State, what: Copied) -> Vec<Effect> {
    let text = match what {
        Copied::Id => copied_id(state),
        Copied::All => copied_all(state),
    };
    match text {
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

fn copied_id(state: &State) -> Option<String> {
    match panels::of(state.screen) {
        ScreenKind::Queue => state.model.selected().map(|key| match key {
            ItemKey::Approval(id) => id.to_string(),
            ItemKey::Continuation(id) => id.to_string(),
            ItemKey::Delivery(id) => id.to_string(),
            ItemKey::Leftovers(id) => id.to_string(),
            ItemKey::RefusedCalls(id) | ItemKey::Flood(id) => id.to_string(),
            ItemKey::Channel(name) | ItemKey::Problem(name) => name.clone(),
        }),
        ScreenKind::Session => match state
            .screens
            .session
            .selected
            .and_then(|p| state.screens.session.entries.get(&p))
        {
            Some(held) => Some(held.entry.continuation_id.to_string()),
            None => state.screens.session.session_id.map(|id| id.to_string()),
        },
        ScreenKind::List(panel) => (panel.copied)(state, false),
    }
}

fn copied_all(state: &State) -> Option<String> {
    match panels::of(state.screen) {
        ScreenKind::Queue => match state.model.selected()? {
            ItemKey::Approval(id) => {
                serde_json::to_string_pretty(state.model.world().approvals.get(id)?).ok()
            }
            ItemKey::Continuation(id) => {
                serde_json::to_string_pretty(state.model.world().continuations.get(id)?).ok()
            }
            ItemKey::Delivery(id) => {
                serde_json::to_string_pretty(state.model.world().deliveries.get(id)?).ok()
            }
            ItemKey::Leftovers(id) => {
                serde_json::to_string_pretty(state.model.world().leftovers.get(id)?).ok()
            }
            ItemKey::RefusedCalls(id) | ItemKey::Flood(id) => {
                serde_json::to_string_pretty(state.model.world().sessions.get(id)?).ok()
            }
            ItemKey::Channel(name) => {
                serde_json::to_string_pretty(state.model.world().channels.get(name)?).ok()
            }
            ItemKey::Problem(text) => Some(text.clone()),
        },
        ScreenKind::Session => match state
            .screens
            .session
            .selected
            .and_then(|p| state.screens.session.entries.get(&p))
        {
            Some(held) => Some(crate::tui::state::background_search::search_text(
                &held.entry,
            )),
            None => {
                let entries: Vec<String> = state
                    .screens
                    .session
                    .visible()
                    .iter()
                    .filter_map(|p| state.screens.session.entries.get(p))
                    .map(|h| crate::tui::state::background_search::search_text(&h.entry))
                    .collect();
                (!entries.is_empty()).then(|| entries.join("\n\n"))
            }
        },
        ScreenKind::List(panel) => (panel.copied)(state, true),
    }
}
