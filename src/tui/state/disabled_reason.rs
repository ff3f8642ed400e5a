//! Why an action would do nothing now, in words. Help and the palette show it. No action relies on it: each checks
//! again when it runs.

use crate::console::access::Access;
use crate::protocol::enums::Scope;
use crate::tui::action::{Action, ActionClass};
use crate::tui::keymap::context::Context;
use crate::tui::state::app::State;
use crate::tui::state::screen::Screen;
use crate::tui::state::selection::{
    focused_channel, focused_continuation, focused_flood, focused_session,
};
use crate::tui::state::{assigning, decide, late, submit};

/// What is about the session that has the focus, wherever it is bound.
const SESSION: &[Action] = &[
    Action::Compose,
    Action::Models,
    Action::PauseSession,
    Action::TakeOver,
    Action::Shell,
    Action::Export,
];
/// What is about its channel.
const CHANNEL: &[Action] = &[
    Action::Autonomy,
    Action::ToolLists,
    Action::PauseChannel,
    Action::DrainChannel,
    Action::TestChannel,
    Action::QueueOfChannel,
];
/// What is about its turn.
const TURN: &[Action] = &[
    Action::ResumeContinuation,
    Action::RetryContinuation,
    Action::KillContinuation,
];

/// What takes the scope `operate`, beside what is about a turn.
const OPERATE: &[Action] = &[
    Action::Compose,
    Action::NewSession,
    Action::Models,
    Action::Autonomy,
    Action::ToolLists,
    Action::PauseSession,
    Action::PauseChannel,
    Action::TakeOver,
    Action::DrainChannel,
    Action::TestChannel,
    Action::PinAnswer,
    Action::PurgeAnswer,
    Action::PurgeAnswers,
    Action::ResetHook,
    Action::EndInterpreter,
    Action::MemoryAdd,
    Action::MemoryEdit,
    Action::MemoryPin,
    Action::MemoryAccept,
    Action::MemoryDelete,
    Action::MemorySupersede,
];
/// What takes the scope `admin`.
const ADMIN: &[Action] = &[
    Action::Shell,
    Action::ReleaseStop,
    Action::RuleAdd,
    Action::RuleEdit,
    Action::RuleToggle,
    Action::MemoryToggle,
    Action::MemoryUndo,
];

/// Why this would do nothing now; none = it works.
pub fn why_not(state: &State, action: Action) -> Option<String> {
    match action.class() {
        ActionClass::Decision if state.screen != Screen::Queue => {
            Some("only on a card of the Queue".to_owned())
        }
        ActionClass::Decision => decide::unavailable(state, action),
        ActionClass::Ordinary if action == Action::Assign => {
            assigning::unavailable(state).or_else(|| state.model.lacks(Scope::Approve))
        }
        ActionClass::Ordinary => ordinary(state, action).or_else(|| elsewhere(state, action)),
        ActionClass::Dialog | ActionClass::Text => None,
    }
}

fn ordinary(state: &State, action: Action) -> Option<String> {
    let missing = if SESSION.contains(&action) && focused_session(state).is_none() {
        Some("no session is selected")
    } else if CHANNEL.contains(&action) && focused_channel(state).is_none() {
        Some("no channel is selected")
    } else if TURN.contains(&action)
        && focused_continuation(state).is_none()
        && (action != Action::ResumeContinuation || focused_flood(state).is_none())
    {
        Some("no turn is selected")
    } else if action == Action::AllowLater {
        return late::unavailable(state)
            .or_else(|| submit::blocked(state).map(str::to_owned))
            .or_else(|| state.model.lacks(Scope::Approve));
    } else if [Action::SearchNext, Action::SearchPrevious].contains(&action)
        && state.screen == Screen::Session
        && state.screens.session.search.is_none()
    {
        Some("no search is active")
    } else if action == Action::ReleaseStop
        && state
            .model
            .world()
            .engine
            .as_ref()
            .is_none_or(|engine| engine.held_since.is_none())
    {
        Some("no emergency stop is in force")
    } else if [Action::EmergencyStop, Action::Lock].contains(&action)
        && state.model.access == Access::ReadOnly
    {
        Some("read-only console (--read-only)")
    } else if action == Action::Undo && state.model.host().undo.is_empty() {
        Some("nothing was decided on this console yet")
    } else if action == Action::NextHost && !state.model.hosts.several() {
        Some("this console is attached to one daemon only")
    } else if sends(action) {
        submit::blocked(state)
    } else {
        None
    };
    missing
        .map(str::to_owned)
        .or_else(|| state.model.lacks(scope(action)?))
}

/// What is sent by it at once, or in the end, needs this scope; none = nothing is sent, or it depends.
pub fn scope(action: Action) -> Option<Scope> {
    if TURN.contains(&action) || OPERATE.contains(&action) {
        Some(Scope::Operate)
    } else if ADMIN.contains(&action) {
        Some(Scope::Admin)
    } else {
        None
    }
}

fn sends(action: Action) -> bool {
    TURN.contains(&action)
        || [
            Action::PauseSession,
            Action::PauseChannel,
            Action::DrainChannel,
            Action::TestChannel,
            Action::TakeOver,
            Action::NewSession,
            Action::ReleaseStop,
            Action::Undo,
        ]
        .contains(&action)
}

/// Screens that have it, where this one does not. What is about the focus works from everywhere.
fn elsewhere(state: &State, action: Action) -> Option<String> {
    let anywhere = [SESSION, CHANNEL, TURN, &[Action::NewSession, Action::Undo]];
    let bound = |context: Context| !state.keymap.keys_of(context, action).is_empty();
    if anywhere.iter().any(|list| list.contains(&action)) || bound(state.screen.context()) {
        return None;
    }
    let screens: Vec<&str> = Context::ALL
        .iter()
        .filter(|context| context.sees_global() && bound(**context))
        .map(|context| context.name())
        .collect();
    (!screens.is_empty()).then(|| format!("only on {}", screens.join(", ")))
}
