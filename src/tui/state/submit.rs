//! The one gate for commands of this console: read-only, lock and connection are checked here.
//! The engine checks everything again; this only keeps promises that are about this screen.

use crate::console::access::Access;
use crate::console::model::Tone;
use crate::console::undo;
use crate::protocol::request::{Command, Decide, EmergencyStop, RehearseCall};
use crate::tui::message::Effect;
use crate::tui::state::app::State;

/// Why no command (other than the emergency stop) can be sent now.
pub fn blocked(state: &State) -> Option<&'static str> {
    if state.replay.is_some() {
        Some("a replay is shown")
    } else if state.model.access == Access::ReadOnly {
        Some("read-only console (--read-only)")
    } else if state.locked {
        Some("locked (L unlocks)")
    } else if !state.is_live() {
        Some("not connected; nothing is decided meanwhile")
    } else {
        None
    }
}

/// Says why no command can be sent now; false = one can.
pub fn refuses(state: &mut State) -> bool {
    let why = blocked(state);
    if let Some(why) = why {
        state.toast(Tone::Warning, format!("not sent: {why}"));
    }
    why.is_some()
}

/// Submits a command, unless this console may not.
pub fn submit(state: &mut State, command: impl Into<Command>) -> Vec<Effect> {
    send(state, command.into())
}

fn send(state: &mut State, command: Command) -> Vec<Effect> {
    if refuses(state) {
        return Vec::new();
    }
    if let Some(why) = state.model.lacks(command.scope()) {
        return state.warn(format!("not sent: {why}"));
    }
    if let Command::Decide(Decide { approval_id, .. }) = &command
        && !state.model.host_mut().deciding.insert(*approval_id)
    {
        return state.warn("not sent: a decision about this is on its way");
    }
    if let Command::RehearseCall(RehearseCall { approval_id }) = &command
        && !state.model.host_mut().rehearsals.begin(*approval_id)
    {
        return state.warn("not sent: it is being rehearsed");
    }
    let host = state.model.host_mut();
    undo::sending(&mut host.undo, &host.world, &command);
    vec![Effect::Submit(command)]
}

/// The emergency stop: under the lock too, and tried even when the connection looks dead.
pub fn emergency_stop(state: &mut State) -> Vec<Effect> {
    if state.model.access == Access::ReadOnly {
        return state.warn("not sent: read-only console (--read-only)");
    }
    if state.model.hosts.several() {
        return stop_all(state);
    }
    state.toast(Tone::Warning, "EMERGENCY STOP sent");
    vec![Effect::Submit(Command::EmergencyStop(EmergencyStop {
        reason: None,
    }))]
}

/// The emergency stop on every host, also on those that look dead.
pub fn stop_all(state: &mut State) -> Vec<Effect> {
    state.stops = state.model.hosts.ids().map(|id| (id, None)).collect();
    let text = format!("EMERGENCY STOP sent to {}", state.model.hosts.names());
    state.toast(Tone::Warning, text);
    vec![Effect::SubmitToAll(Command::EmergencyStop(EmergencyStop {
        reason: None,
    }))]
}
