//! Why calls ran, asked or were refused: a pager over what the engine recorded. It decides nothing.

use crate::console::arming::scrolled;
use crate::console::item::ItemKey;
use crate::protocol::ids::ToolCallId;
use crate::protocol::request::ExplainCall;
use crate::protocol::session::{StepBody, Why};
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::modal::{Modal, WhyPager};
use crate::tui::state::panel::ScreenKind;
use crate::tui::state::{entries, panels};

/// Calls that are explained at once.
pub const MOST: usize = 20;

/// The calls of what is selected, oldest first.
fn focused(state: &State) -> Vec<ToolCallId> {
    let of_turn = |id| {
        let turn = state.model.world().continuations.get(id);
        turn.map_or_else(Vec::new, |turn| {
            turn.tool_calls.iter().map(|call| call.id).collect()
        })
    };
    match panels::of(state.screen) {
        ScreenKind::Queue => match (state.model.selected_approval(), state.model.selected()) {
            (Some(approval), _) => approval.tool_call_id.into_iter().collect(),
            (None, Some(ItemKey::Continuation(id))) => of_turn(id),
            (None, _) => Vec::new(),
        },
        ScreenKind::Session => {
            let selected = state.screens.session.selected;
            let held = selected.and_then(|position| state.screens.session.entries.get(&position));
            match held.and_then(|held| entries::step(&held.entry)) {
                Some((step, calls)) => match &step.body {
                    StepBody::ToolResult { call_id, .. } => vec![*call_id],
                    StepBody::Model { .. }
                    | StepBody::OperatorNote { .. }
                    | StepBody::Final { .. }
                    | StepBody::Error { .. } => calls.iter().map(|call| call.id).collect(),
                },
                None => Vec::new(),
            }
        }
        ScreenKind::List(panel) => (panel.calls)(state),
    }
}

/// Opens the pager for the calls of what is selected.
pub fn open(state: &mut State) -> Vec<Effect> {
    let mut calls = focused(state);
    if calls.is_empty() {
        return state.warn("why: what is selected has no tool call");
    }
    let left_out = calls.len().saturating_sub(MOST);
    calls.drain(..left_out);
    let effects = calls
        .iter()
        .map(|id| Effect::ask(ExplainCall { tool_call_id: *id }));
    let effects = effects.collect();
    state.modals.push(Modal::Why(Box::new(WhyPager {
        calls: calls.into_iter().map(|id| (id, None)).collect(),
        left_out,
        scroll: 0,
    })));
    effects
}

/// An explanation came, or why there is none.
pub fn answered(state: &mut State, id: ToolCallId, answer: Result<Why, String>) {
    for modal in &mut state.modals {
        if let Modal::Why(pager) = modal
            && let Some((_, slot)) = pager.calls.iter_mut().find(|(call, _)| *call == id)
        {
            *slot = Some(answer);
            return;
        }
    }
}

pub fn scroll(at: &mut usize, lines: i64) {
    *at = scrolled(*at, lines, None);
}
