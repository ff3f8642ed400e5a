//! Dialogs whose last press decides: the shape dialog, the rule editor and the table of a decision about several.
//! Nothing is sent from one before what it says has been on screen as it is, in full, for as long as the arming rule
//! asks.

use crate::console::arming::{DialogExposure, DialogReport, Refusal};
use crate::console::decision;
use crate::console::decision::Bound;
use crate::console::model::Tone;
use crate::protocol::command::DecisionRequest;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Command, Decide, Outcome};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::batch::{self, Batch};
use crate::tui::state::dialogs;
use crate::tui::state::modal::Modal;
use crate::tui::state::rule_editor::{self, RuleEditor};
use crate::tui::state::shape::{self, Shape};
use crate::tui::state::submit;

/// Which dialog, and how long it has been looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Deciding {
    /// What it decides.
    pub about: About,
    /// What of it has been on screen.
    pub exposure: DialogExposure,
}

/// What a dialog decides.
#[derive(Debug, Clone, PartialEq)]
pub enum About {
    /// A permission for a shape.
    Shape(Shape),
    /// A rule.
    Rule(RuleEditor),
    /// Several cards.
    Batch(Batch),
}

/// Opens one.
pub fn open(state: &mut State, about: About) {
    state.modals.push(Modal::Deciding(Box::new(Deciding {
        about,
        exposure: DialogExposure::default(),
    })));
    state.touch(Dirty::Now);
}

/// The dialog, where it is on top.
pub fn top(state: &mut State) -> Option<&mut Deciding> {
    match state.modals.last_mut() {
        Some(Modal::Deciding(dialog)) => Some(dialog),
        _ => None,
    }
}

/// A frame showed the dialog on top.
pub fn drawn(state: &mut State, report: DialogReport) {
    let now = state.model.now.steady;
    if let Some(dialog) = top(state) {
        dialog.exposure.drawn(report, now);
    }
}

/// What is on screen may not be true any more.
pub fn unsure(state: &mut State) {
    for modal in &mut state.modals {
        if let Modal::Deciding(dialog) = modal {
            dialog.exposure.changed();
        }
    }
}

/// The connection was lost: what was read of the cards of a table is not known to be true any more.
pub fn lost(state: &mut State) {
    unsure(state);
    for modal in &mut state.modals {
        if let Modal::Deciding(dialog) = modal
            && let About::Batch(batch) = &mut dialog.about
        {
            batch.lost();
        }
    }
}

/// Moves between the choices.
pub fn turn(state: &mut State, forward: bool) {
    if let Some(dialog) = top(state) {
        match &mut dialog.about {
            About::Shape(_) => dialog.exposure.scroll_by(if forward { 1 } else { -1 }),
            About::Rule(editor) => editor.turn(forward),
            About::Batch(batch) => {
                let last = batch.buttons().len().saturating_sub(1);
                batch.chosen = if forward {
                    (batch.chosen + 1).min(last)
                } else {
                    batch.chosen.saturating_sub(1)
                };
            }
        }
    }
}

/// Scrolls.
pub fn page(state: &mut State, lines: i64) {
    if let Some(dialog) = top(state) {
        dialog.exposure.scroll_by(lines);
    }
}

/// The choice is taken, or the key of the shape dialog was pressed.
pub fn press(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(dialog) = top(state) else {
        return Vec::new();
    };
    match (&dialog.about, action) {
        (About::Shape(shape), Action::DialogAgain) => {
            let (bound, request) = (shape.bound.clone(), shape::request(&shape.bound));
            send(state, &bound, request)
        }
        (About::Rule(_), Action::DialogAccept) => rule_editor::press(state),
        (About::Batch(_), Action::DialogAccept) => batch::press(state),
        (About::Shape(_) | About::Rule(_) | About::Batch(_), _) => Vec::new(),
    }
}

/// Whether the press that decides in the dialog on top counts now.
pub fn armed(state: &State) -> Result<(), Refusal> {
    match state.modals.last() {
        Some(Modal::Deciding(dialog)) => {
            dialog.exposure.check(&state.arming, state.model.now.steady)
        }
        _ => Err(Refusal::NotShown),
    }
}

/// Sends what the dialog on top decides, if that counts now. The dialog stays until it is known to be done.
pub fn send(state: &mut State, bound: &Bound, request: DecisionRequest) -> Vec<Effect> {
    if top(state).is_none() {
        return Vec::new();
    }
    if let Err(refusal) = armed(state) {
        state.flash(Tone::Warning, format!("not armed: {}", refusal.why()));
        return Vec::new();
    }
    if !dialogs::still(state, &bound.subject) {
        state.modals.pop();
        return Vec::new();
    }
    submit::submit(state, decision::command(bound, request))
}

/// Closes without deciding.
pub fn cancel(state: &mut State) {
    if let Some(dialog) = top(state) {
        match dialog.about {
            About::Batch(_) => drop(batch::close(state)),
            About::Shape(_) | About::Rule(_) => drop(state.modals.pop()),
        }
    }
}

/// A decision was carried out or refused: the dialog that made it closes, or says why it was refused.
pub fn submitted(
    state: &mut State,
    command: &Command,
    result: &Result<Box<Outcome>, Box<Problem>>,
) {
    let Command::Decide(Decide { approval_id, .. }) = command else {
        return;
    };
    let Some(dialog) = top(state) else {
        return;
    };
    match &mut dialog.about {
        About::Shape(shape) if shape.bound.approval_id == *approval_id => {
            state.modals.pop();
        }
        About::Rule(editor) if editor.bound.approval_id == *approval_id => match result {
            Ok(_) => {
                state.modals.pop();
            }
            Err(problem) => {
                editor.refused = Some(crate::console::labels::problem_text(problem));
                dialog.exposure.changed();
            }
        },
        About::Shape(_) | About::Rule(_) | About::Batch(_) => {}
    }
}
