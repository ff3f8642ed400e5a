//! Expired calls of external agents: a person lets one run once, if the agent asks again soon.

use crate::protocol::enums::Risk;
use crate::protocol::ids::ApprovalId;
use crate::protocol::request::AllowLater;
use crate::protocol::session::ToolCall;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::screen::Screen;
use crate::tui::state::{entries, opening};

/// The call that has the focus: of the selected turn, or the newest of the transcript.
fn focused(state: &State) -> Option<(ApprovalId, &ToolCall)> {
    let found = if state.screen == Screen::Continuations {
        let turn = state.screens.continuations.turn()?;
        turn.tool_calls.iter().rev().find(|call| call.is_late())
    } else if state.screen == Screen::Session {
        let entries = state.screens.session.entries.values().rev();
        let mut calls = entries.flat_map(|held| entries::calls(&held.entry));
        calls.find(|call| call.is_late())
    } else {
        None
    }?;
    Some((found.approval_id?, found))
}

/// Why there is nothing to allow; none = there is.
pub fn unavailable(state: &State) -> Option<String> {
    match focused(state) {
        Some((_, call)) if call.risk == Risk::Critical => {
            Some("no rule allows a critical call".to_owned())
        }
        Some(_) => None,
        None => Some("no expired call of an external agent is here".to_owned()),
    }
}

/// Asks whether the call may run once, and says what that does.
pub fn open(state: &mut State) -> Vec<Effect> {
    if let Some(why) = unavailable(state) {
        return state.warn(format!("later: {why}"));
    }
    let Some((approval_id, call)) = focused(state) else {
        return Vec::new();
    };
    let mut lines = vec![
        format!("{} {}", call.name, call.args),
        "Nothing runs now. If the agent asks for exactly this call within 15 minutes, it runs once"
            .to_owned(),
        "without another question. This makes a rule of this session; Rules shows it.".to_owned(),
    ];
    let title = match call.risk {
        Risk::Low | Risk::Medium => "Allow this call later?",
        Risk::High | Risk::Critical => "Allow this HIGH RISK call later?",
    };
    if call.shortened {
        lines.push("The arguments are cut here; W shows where the whole call is.".to_owned());
    }
    opening::ask_first(
        state,
        title,
        lines,
        "Allow once",
        AllowLater { approval_id },
    )
}
