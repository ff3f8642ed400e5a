//! Allowing one shape for one session: what the dialog prints is exactly what is allowed.

use crate::console::decision::{self, Bound};
use crate::protocol::approval::{Approval, SHAPE_SECONDS};
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::{DecisionKind, DecisionScope};
use crate::tui::state::app::State;
use crate::tui::state::deciding;
use crate::tui::state::modal::{About, Shape};

/// Opens the dialog.
pub fn open(state: &mut State, bound: Bound, approval: Approval) {
    let shape = Shape {
        bound,
        approval: Box::new(approval),
        until: state.model.now.wall.plus_seconds(SHAPE_SECONDS),
    };
    deciding::open(state, About::Shape(shape));
}

/// What it sends.
pub fn request(bound: &Bound) -> DecisionRequest {
    DecisionRequest {
        scope: Some(DecisionScope::Session),
        ..decision::request(bound, DecisionKind::Approve)
    }
}
