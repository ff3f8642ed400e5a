//! Rules: rules and session grants, and what they match.
//!
//! Nothing here is drawn or asked by itself: `panel` asks, `view::rules` draws.

use crate::protocol::event::Event;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::{Answer, Query};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::panel::Panel;
use crate::tui::state::queue::Step;

/// What the screen knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RulesPanel {}

/// Its table.
pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    moved,
    page,
    open,
    back,
    perform,
    copied,
    session,
    continuation,
    channel,
    hints,
};

fn ask(_state: &State) -> Vec<Query> {
    Vec::new()
}

fn answered(_state: &mut State, _query: &Query, _result: Result<&Answer, &Problem>) {}

fn concerns(_event: &Event) -> bool {
    false
}

fn moved(_state: &mut State, _step: Step) {}

fn page(_state: &mut State, _lines: i64) {}

fn open(_state: &mut State) -> Vec<Effect> {
    Vec::new()
}

fn back(_state: &mut State) -> bool {
    false
}

fn perform(_state: &mut State, _action: Action) -> Option<Vec<Effect>> {
    None
}

fn copied(_state: &State, _all: bool) -> Option<String> {
    None
}

fn session(_state: &State) -> Option<SessionId> {
    None
}

fn continuation(_state: &State) -> Option<ContinuationId> {
    None
}

fn channel(_state: &State) -> Option<String> {
    None
}

fn hints(_state: &State) -> Vec<Action> {
    Vec::new()
}
