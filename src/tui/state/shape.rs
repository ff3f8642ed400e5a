//! Allowing one shape for one session: what the dialog prints is exactly what is allowed.

use crate::clock::Timestamp;
use crate::console::decision;
use crate::console::decision::Bound;
use crate::protocol::approval::{Approval, SHAPE_SECONDS};
use crate::protocol::command::DecisionRequest;
use crate::protocol::words::{DecisionScope, DecisionWord};
use crate::tui::state::app::State;
use crate::tui::state::deciding::{self, About};

/// The dialog.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// What it is bound to.
    pub bound: Bound,
    /// The call as it was shown.
    pub approval: Box<Approval>,
    /// When the permission ends at the latest.
    pub until: Timestamp,
}

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
        ..decision::request(bound, DecisionWord::Approve)
    }
}
