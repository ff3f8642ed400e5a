//! The models of a session: which there are, which is chosen, and what a look for servers found. What is found is shown
//! and never used: only a provider of the configuration can be chosen.

use crate::console::labels::problem_text;
use crate::protocol::ids::SessionId;
use crate::protocol::models::ProviderModels;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Command, DiscoverModels, ListModels, Outcome, Query, UpdateSession,
};
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::modal::{DiscoveryState, Modal, ModelsDialog};
use crate::tui::state::submit;

/// The dialog, where it is on top.
fn top(state: &mut State) -> Option<&mut ModelsDialog> {
    match state.modals.last_mut() {
        Some(Modal::Models(dialog)) => Some(dialog),
        _ => None,
    }
}

/// Opens the dialog of a session.
pub fn open(state: &mut State, session_id: SessionId) -> Vec<Effect> {
    state.modals.push(Modal::Models(Box::new(ModelsDialog {
        session_id,
        known: None,
        chosen: 0,
        refused: None,
        look: DiscoveryState::Idle,
    })));
    vec![Effect::Query(Query::ListModels(ListModels {}))]
}

/// The configured models came; the one that the session has is highlighted, else the default.
pub fn listed(state: &mut State, answer: Result<Vec<ProviderModels>, String>) {
    let Some(dialog) = top(state) else {
        return;
    };
    dialog.known = Some(answer);
    let session_id = dialog.session_id;
    let now = state
        .model
        .world()
        .sessions
        .get(&session_id)
        .and_then(|session| session.model.clone());
    let Some(dialog) = top(state) else {
        return;
    };
    let models = dialog.models();
    let at = models.iter().position(|(model, _)| match &now {
        Some(now) => model.model == *now,
        None => model.used_for.iter().any(|what| what == "default"),
    });
    dialog.chosen = at.unwrap_or(0);
}

/// Asks for the highlighted model. The dialog stays until that is done, so that a refusal is read in it.
pub fn accept(state: &mut State, dialog: &ModelsDialog) -> Vec<Effect> {
    let Some((model, _)) = dialog.models().get(dialog.chosen).copied() else {
        return Vec::new();
    };
    submit::submit(
        state,
        Command::UpdateSession(UpdateSession {
            session_id: dialog.session_id,
            title: None,
            model: Some(model.model.clone()),
            paused: None,
            preferences: None,
        }),
    )
}

/// Looks for servers, unless a look is under way.
pub fn discover(state: &mut State) -> Vec<Effect> {
    if top(state).is_none_or(|dialog| dialog.look == DiscoveryState::Searching) {
        return Vec::new();
    }
    let effects = submit::submit(state, Command::DiscoverModels(DiscoverModels {}));
    if let Some(dialog) = top(state).filter(|_| !effects.is_empty()) {
        dialog.look = DiscoveryState::Searching;
    }
    effects
}

/// A command ended: what it says to the dialog.
pub fn submitted(
    state: &mut State,
    command: &Command,
    result: &Result<Box<Outcome>, Box<Problem>>,
) {
    let Some(dialog) = top(state) else {
        return;
    };
    match (command, result) {
        (Command::DiscoverModels(_), Ok(outcome)) => {
            if let Outcome::DiscoverModels(found) = outcome.as_ref() {
                dialog.look = DiscoveryState::Finished(found.clone());
            }
        }
        (Command::DiscoverModels(_), Err(problem)) => {
            dialog.look = DiscoveryState::Failed(problem_text(problem));
        }
        (
            Command::UpdateSession(UpdateSession {
                session_id,
                model: Some(_),
                ..
            }),
            result,
        ) if *session_id == dialog.session_id => match result {
            Ok(_) => {
                state.modals.pop();
            }
            Err(problem) => dialog.refused = Some(problem_text(problem)),
        },
        _ => {}
    }
}
