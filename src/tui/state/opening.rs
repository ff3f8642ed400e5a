//! Opening overlays: a text with the draft that was left behind, help, the menus and the autonomy selector.
//!
//! Opening one may ask the engine something; it submits nothing.

use std::collections::BTreeMap;

use crate::console::access::Hosting;
use crate::console::release::Release;
use crate::protocol::request::Command;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::autonomy_selector::{self, AutonomySelector};
use crate::tui::state::memory::MemoryText;
use crate::tui::state::modal::{Confirm, Help, HelpScope, Modal, QuitChoice};
use crate::tui::state::text_dialog::{TextDialog, TextPurpose};
use crate::tui::state::text_field::{Lines, TextField};
use crate::tui::state::tool_lists::ToolLists;

/// Opens a text field, with the draft left behind, when there is one.
pub fn open_text(state: &mut State, purpose: TextPurpose) -> Vec<Effect> {
    let start = match &purpose {
        TextPurpose::EditArguments(bound) => state
            .model
            .world()
            .approvals
            .get(&bound.approval_id)
            .and_then(|approval| serde_json::to_string_pretty(&approval.args).ok())
            .unwrap_or_default(),
        TextPurpose::Memory(MemoryText::Edit(..)) => state
            .screens
            .memory
            .memory()
            .map(|one| one.text.clone())
            .unwrap_or_default(),
        TextPurpose::Preferences(session) => state
            .model
            .world()
            .sessions
            .get(session)
            .and_then(|session| session.preferences.clone())
            .unwrap_or_default(),
        TextPurpose::Memory(MemoryText::Search) => {
            state.screens.memory.search.clone().unwrap_or_default()
        }
        _ => String::new(),
    };
    open_begun(state, purpose, &start)
}

/// Opens a text field that holds this where no draft was left behind.
pub fn open_begun(state: &mut State, purpose: TextPurpose, start: &str) -> Vec<Effect> {
    let drafts = &state.model.host().drafts;
    let draft = purpose.draft().and_then(|key| drafts.get(&key));
    let text = TextDialog::new(purpose, draft.unwrap_or(start));
    state.modals.push(Modal::Text(text));
    state.touch(Dirty::Now);
    Vec::new()
}

/// Opens a question about a command; Cancel is focused.
pub fn ask_first(
    state: &mut State,
    title: impl Into<String>,
    lines: Vec<String>,
    label: &'static str,
    command: impl Into<Command>,
) -> Vec<Effect> {
    let confirm = Confirm::new(title, lines, label, command);
    state.modals.push(Modal::Confirm(confirm));
    Vec::new()
}

/// Opens help or the palette for what has the keyboard now, with why actions do nothing now.
pub fn open_help(state: &mut State, scope: HelpScope, unavailable: BTreeMap<Action, String>) {
    let context = state.screen.context();
    let uses = state.uses.clone();
    state.modals.push(Modal::Help(Help {
        scope,
        context,
        field: TextField::new(Lines::One, ""),
        chosen: 0,
        unavailable,
        uses,
    }));
}

pub fn open_quit(state: &mut State) -> Vec<Effect> {
    let choices = match &state.model.hosting {
        Hosting::Embedded { live_channels } if !live_channels.is_empty() => {
            vec![QuitChoice::Stay, QuitChoice::Detach, QuitChoice::Stop]
        }
        Hosting::Embedded { .. } | Hosting::Attached => vec![QuitChoice::Stay, QuitChoice::Stop],
    };
    state.modals.push(Modal::Quit { choices, chosen: 0 });
    Vec::new()
}

pub fn open_release(state: &mut State) -> Vec<Effect> {
    let Some(release) = Release::open(state.model.world(), state.model.now.wall) else {
        return state.warn("release: no emergency stop is in force");
    };
    state.modals.push(Modal::Release(release));
    Vec::new()
}

/// Opens the autonomy selector of a channel.
pub fn open_dial(state: &mut State, channel: &str) -> Vec<Effect> {
    let Some(known) = state.model.world().channels.get(channel) else {
        return Vec::new();
    };
    let chosen = known.policy.autonomy;
    state.modals.push(Modal::AutonomySelector(AutonomySelector {
        channel: channel.to_owned(),
        chosen,
        lasts: autonomy_selector::OFFERED,
        first: 0,
        answers: BTreeMap::new(),
        confirming: None,
    }));
    vec![autonomy_selector::what_if(channel, chosen)]
}

/// Opens the lists of a channel.
pub fn open_tools(state: &mut State, channel: &str) -> Vec<Effect> {
    let world = state.model.world();
    if let Some(known) = world.channels.get(channel) {
        let tools = world
            .engine
            .as_ref()
            .map_or(&[][..], |engine| &engine.tools);
        let lists = ToolLists::new(channel, &known.policy, tools);
        state.modals.push(Modal::Tools(lists));
    }
    Vec::new()
}
