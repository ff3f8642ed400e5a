//! Expired calls of external agents: a person lets one run once, if the agent asks again soon.

use crate::console::model::Tone;
use crate::protocol::enums::Risk;
use crate::protocol::ids::ApprovalId;
use crate::protocol::request::{AllowLater, Command};
use crate::protocol::session::{ToolCall, TranscriptBody};
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::opening;
use crate::tui::state::screen::Screen;

/// The call that has the focus: of the selected turn, or the newest of the transcript.
fn focused(state: &State) -> Option<(ApprovalId, &ToolCall)> {
    let found = if state.screen == Screen::Continuations {
        let turn = state.screens.continuations.turn()?;
        turn.tool_calls.iter().rev().find(|call| call.is_late())
    } else if state.screen == Screen::Session {
        let entries = state.screens.session.entries.values().rev();
        let calls = entries.filter_map(|held| match &held.entry.body {
            TranscriptBody::Step { tool_calls, .. } => Some(tool_calls),
            TranscriptBody::User { .. }
            | TranscriptBody::State { .. }
            | TranscriptBody::Compacted { .. } => None,
        });
        calls.flatten().find(|call| call.is_late())
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
        state.toast(Tone::Warning, format!("later: {why}"));
        return Vec::new();
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
    let command = Command::AllowLater(AllowLater { approval_id });
    opening::ask_first(state, title, lines, "Allow once", command);
    Vec::new()
}
