//! Dialogs whose last press decides: the shape dialog, the rule editor and the table of a decision about several.
//! Nothing is sent from one before what it says has been on screen as it is, in full, for as long as the arming rule
//! asks.

use crate::clock::Timestamp;
use crate::console::arming::{DialogExposure, DialogReport, Refusal, Subject};
use crate::console::decision::{self, Bound};
use crate::console::model::Tone;
use crate::console::queue;
use crate::protocol::command::DecisionRequest;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Command, Decide, Outcome};
use crate::tui::message::Effect;
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::list::neighbor;
use crate::tui::state::modal::{About, Deciding, Modal};
use crate::tui::state::submit;

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

/// What the dialog on top says changed: it must be looked at again.
pub fn changed(state: &mut State) {
    if let Some(dialog) = top(state) {
        dialog.exposure.changed();
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

pub fn turn(state: &mut State, forward: bool) {
    if let Some(dialog) = top(state) {
        match &mut dialog.about {
            About::Shape(_) => dialog.exposure.scroll_by(if forward { 1 } else { -1 }),
            About::Rule(editor) => editor.turn(forward),
            About::Batch(batch) => {
                batch.chosen = neighbor(batch.chosen, batch.buttons().len(), forward);
            }
        }
    }
}

/// Lets what is allowed hold longer, or shorter.
pub fn step(state: &mut State, longer: bool) {
    let Some(dialog) = top(state) else {
        return;
    };
    match &mut dialog.about {
        About::Shape(shape) => {
            if shape.lasts.step(longer) {
                dialog.exposure.changed();
            }
        }
        About::Rule(editor) => {
            editor.step_life(longer);
            dialog.exposure.changed();
        }
        About::Batch(batch) => {
            // What was sent says how long already.
            let lasts = batch.lasts.as_mut().filter(|_| batch.sending.is_none());
            if lasts.is_some_and(|lasts| lasts.step(longer)) {
                dialog.exposure.changed();
            }
        }
    }
}

/// Lets what is allowed hold until this time.
pub fn choose_time(state: &mut State, at: Timestamp) {
    let Some(dialog) = top(state) else {
        return;
    };
    let lasts = match &mut dialog.about {
        About::Shape(shape) => Some(&mut shape.lasts),
        About::Batch(batch) => batch.lasts.as_mut(),
        About::Rule(_) => None,
    };
    if let Some(lasts) = lasts {
        lasts.choose_time(at);
        dialog.exposure.changed();
    }
}

pub fn page(state: &mut State, lines: i64) {
    if let Some(dialog) = top(state) {
        dialog.exposure.scroll_by(lines);
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
        return state.warn(format!("not armed: {}", refusal.why()));
    }
    if !still(state, &bound.subject) {
        state.modals.pop();
        return Vec::new();
    }
    submit::submit(state, decision::command(bound, request))
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

/// Whether a card is still exactly what the dialog was opened for.
pub fn still(state: &mut State, subject: &Subject) -> bool {
    let current = queue::is_as_shown(&state.model.hosts, subject);
    if !current {
        state.toast(
            Tone::Warning,
            "not sent: it changed or was settled meanwhile; the draft is kept",
        );
    }
    current
}
