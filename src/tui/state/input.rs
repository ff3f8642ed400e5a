//! Keys and pastes: through the keymap to an action, or into the text field that has the keyboard.

use crossterm::event::{KeyEvent, KeyEventKind};

use crate::console::arming::Refusal;
use crate::console::model::Tone;
use crate::tui::action::{Action, ActionClass};
use crate::tui::keymap::context::Context;
use crate::tui::keymap::key::{Key, print_sequence};
use crate::tui::keymap::lookup::Lookup;
use crate::tui::message::Effect;
use crate::tui::state::app::{Dirty, PendingKeys, SEQUENCE_MS, State};
use crate::tui::state::modal::{Modal, TextPurpose};
use crate::tui::state::{actions, decide, dialogs, offering, text_keys};

pub fn key(state: &mut State, event: &KeyEvent) -> Vec<Effect> {
    if event.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let steady = state.model.now.steady;
    let key = Key::from_event(event);
    let context = state.context();
    let mut keys = match state.pending.take() {
        Some(pending) if steady.since(pending.since) < SEQUENCE_MS => {
            // The next key is not the stop any more, or it is the stop itself.
            if pending.emergency {
                state.toast = None;
            }
            pending.keys
        }
        Some(_) | None => Vec::new(),
    };
    let continued = !keys.is_empty();
    keys.push(key);
    let mut lookup = state.keymap.lookup(context, &keys);
    // A broken-off sequence is dropped on screens, where the next key may decide something; in a text
    // field the key is still text.
    if lookup == Lookup::None && continued && context == Context::Text {
        keys = vec![key];
        lookup = state.keymap.lookup(context, &keys);
    }
    let action = match lookup {
        Lookup::Found(action) => Some(action),
        Lookup::Pending { emergency } => {
            if emergency {
                stop_hint(state, &keys);
            }
            state.pending = Some(PendingKeys {
                keys,
                since: steady,
                emergency,
            });
            state.touch(Dirty::Now);
            None
        }
        Lookup::None => None,
    };
    if let Some(action) = action {
        state.count_use(action);
    }
    // A held key repeats: fine for moving, never for deciding.
    let repeated = event.kind == KeyEventKind::Repeat;
    let effects = match action {
        Some(action) if action.class() == ActionClass::Decision => {
            let approval = state.model.selected_approval();
            let action = approval.map_or(action, |approval| offering::meant(approval, action));
            let armed = if repeated {
                Err(Refusal::NotQuiet)
            } else {
                decide::armed(state, action)
            };
            state.arming.key(steady);
            decide::decide(state, action, armed)
        }
        Some(
            Action::EmergencyStop
            | Action::DialogAccept
            | Action::DialogAgain
            | Action::DialogApprove,
        ) if repeated => {
            state.arming.key(steady);
            Vec::new()
        }
        Some(action) => {
            state.arming.key(steady);
            perform_action(state, context, action)
        }
        None => {
            state.arming.key(steady);
            if state.pending.is_none()
                && context == Context::Text
                && let Some(c) = key.character()
            {
                text_keys::insert(state, c.encode_utf8(&mut [0; 4]));
            }
            Vec::new()
        }
    };
    state.touch(Dirty::Now);
    effects
}

fn stop_hint(state: &mut State, keys: &[Key]) {
    let hosts = state.model.hosts.names();
    let text = format!("{} again within 1.5 s: STOP {hosts}", print_sequence(keys));
    state.toast(Tone::Warning, text);
}

fn perform_action(state: &mut State, context: Context, action: Action) -> Vec<Effect> {
    match context {
        Context::Dialog => dialogs::dialog_action(state, action),
        Context::Text => text_keys::text_action(state, action),
        Context::Global
        | Context::Queue
        | Context::Live
        | Context::Session
        | Context::Channels
        | Context::Continuations
        | Context::Rules
        | Context::CacheCost
        | Context::Memory
        | Context::Audit
        | Context::Doctor
        | Context::Resources
        | Context::Datasets
        | Context::Servers
        | Context::Stats
        | Context::Fleet
        | Context::Replay => actions::perform(state, action),
    }
}

/// Text was pasted. It only ever goes into a text field; it never is a key.
pub fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    state.pending = None;
    state.arming.key(state.model.now.steady);
    match state.modals.last() {
        Some(Modal::Text(entry)) if matches!(entry.purpose, TextPurpose::Code(..)) => {
            state.toast(
                Tone::Warning,
                "not armed: the code must be typed, not pasted",
            );
        }
        Some(Modal::Text(_) | Modal::Help(_)) => text_keys::insert(state, text),
        Some(
            Modal::Quit { .. }
            | Modal::Release(_)
            | Modal::Confirm(_)
            | Modal::AutonomySelector(_)
            | Modal::Tools(_)
            | Modal::Snooze { .. }
            | Modal::Models(_)
            | Modal::Why(_)
            | Modal::Deciding(_)
            | Modal::Summary(_),
        )
        | None => {
            state.toast(
                Tone::Warning,
                format!("not armed: {}", Refusal::Pasted.why()),
            );
        }
    }
    state.touch(Dirty::Now);
    Vec::new()
}
