//! The key that takes back what was done last.

use crate::console::item::ItemKey;
use crate::console::model::Tone;
use crate::console::undo::Way;
use crate::protocol::request::Command;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::{opening, submit};

/// Takes the last step back.
pub fn undo(state: &mut State) -> Vec<Effect> {
    if submit::refuses(state) {
        return Vec::new();
    }
    let now = state.model.now.wall;
    let host = state.model.host_mut();
    let Some(step) = host.undo.take_last(&host.world, now) else {
        return state.warn("undo: no decision of this console can be undone");
    };
    let mut effects = Vec::new();
    let mut taken = Vec::new();
    let mut kept = Vec::new();
    for (name, way) in step {
        match way {
            Way::Send(command) => {
                let sent = submit::submit(state, command);
                if !sent.is_empty() {
                    taken.push(name);
                }
                effects.extend(sent);
            }
            Way::Ask(command) => {
                let what = match &command {
                    Command::UndoFileChange(_) => "The files will be as they were before the call.",
                    _ => "Taking it back allows more than now.",
                };
                let lines = vec![name, what.to_owned()];
                opening::ask_first(state, "Take this back?", lines, "Take back", command);
            }
            Way::Wake(id) => {
                let key = state.model.key(ItemKey::Approval(id));
                state.model.queue.snoozed.remove(&key);
                if state.model.world().approvals.contains_key(&id) {
                    taken.push(name);
                } else {
                    kept.push(format!("{name}: no longer known"));
                }
            }
            Way::Never(why) => kept.push(format!("{name}: {why}")),
        }
    }
    let mut text = Vec::new();
    if !taken.is_empty() {
        text.push(format!("taking back: {}", taken.join(", ")));
    }
    if !kept.is_empty() {
        text.push(format!("cannot undo: {}", kept.join(", ")));
    }
    if !text.is_empty() {
        let tone = if kept.is_empty() {
            Tone::Info
        } else {
            Tone::Warning
        };
        state.toast(tone, text.join("; "));
    }
    effects
}
