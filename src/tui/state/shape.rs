//! Allowing one shape for longer than one call: what the dialog prints is exactly what is allowed, and for how long.

use crate::console::decision::{self, Bound};
use crate::console::lifetime::LifetimeChoice;
use crate::protocol::approval::Approval;
use crate::protocol::command::DecisionRequest;
use crate::protocol::duration;
use crate::protocol::enums::DecisionKind;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::modal::{About, Shape};
use crate::tui::state::text_dialog::TextPurpose;
use crate::tui::state::{deciding, opening};

/// What is expected of a text that says until when something holds.
pub const EXPECTED: &str = "a time like 30m, 8h or 7d, a day like 2026-12-24, or a time like 2026-12-24 18:00; not over yet";

pub fn open(state: &mut State, bound: Bound, approval: Approval) {
    let shape = Shape {
        bound,
        approval: Box::new(approval),
        lasts: LifetimeChoice::at(state.model.now.wall),
    };
    deciding::open(state, About::Shape(shape));
}

/// Opens the field in which a time or a day is written.
pub fn write(state: &mut State) -> Vec<Effect> {
    opening::open_begun(state, TextPurpose::ShapeLife, "")
}

/// A time was written: the dialog below takes it. The error says what was expected.
pub fn written(state: &mut State, text: &str) -> Result<(), String> {
    let now = state.model.now.wall;
    let Some(at) = duration::ahead(text, now) else {
        return Err(format!("expected {EXPECTED}"));
    };
    state.modals.pop();
    deciding::choose_time(state, at);
    Ok(())
}

pub fn request(state: &State, shape: &Shape) -> DecisionRequest {
    let lifetime = shape.lasts.lifetime();
    let (scope, expires_in_seconds) = lifetime.request(state.model.now.wall);
    DecisionRequest {
        scope: Some(scope),
        expires_in_seconds,
        ..decision::request(&shape.bound, DecisionKind::Approve)
    }
}
