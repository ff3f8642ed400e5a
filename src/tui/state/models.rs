//! The models of a session: which there are, which is chosen, and what a look for servers found. What is found is shown
//! and never used: only a provider of the configuration can be chosen.

use crate::console::format;
use crate::console::labels::problem_text;
use crate::protocol::ids::SessionId;
use crate::protocol::models::ProviderModels;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Command, DiscoverModels, ListModels, Outcome, UpdateSession};
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::list::{Cell, ListDetail};
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
        list: ListDetail::default(),
        refused: None,
        look: DiscoveryState::Idle,
    })));
    vec![Effect::ask(ListModels {})]
}

/// The configured models came; the one that the session has is highlighted, else the default.
pub fn listed(state: &mut State, answer: Result<Vec<ProviderModels>, String>) {
    let Some(dialog) = top(state) else {
        return;
    };
    dialog.known = Some(answer);
    let session_id = dialog.session_id;
    arrange(state);
    let sessions = &state.model.world().sessions;
    let now = sessions.get(&session_id).and_then(|one| one.model.clone());
    let Some(dialog) = top(state) else {
        return;
    };
    let found = dialog.models().find(|(model, _)| match &now {
        Some(now) => model.model == *now,
        None => model.used_for.iter().any(|what| what == "default"),
    });
    let chosen = found.map(|(model, _)| model.model.clone());
    let chosen = chosen.or_else(|| dialog.list.order.first().cloned());
    dialog.list.select(chosen);
}

pub const COLUMNS: &[&str] = &["model", "used for", "window", "in/out $/M", "key"];

/// What the list shows of a model, in the order of its columns.
pub fn cells(dialog: &ModelsDialog, name: &str) -> Vec<Cell> {
    let Some((model, provider)) = dialog.model(name) else {
        return Vec::new();
    };
    let price = match &model.price {
        None => Cell::new("n/a"),
        Some(price) if price.input == 0.0 && price.output == 0.0 => Cell::ranked("free", 0.0),
        Some(price) => Cell::ranked(format!("{}/{}", price.input, price.output), price.output),
    };
    let window = model.profile.context_window;
    vec![
        Cell::new(&model.model),
        Cell::new(model.used_for.join(", ")),
        Cell::ranked(format::count(window), window as f64),
        price,
        Cell::new(provider.key.as_str()),
    ]
}

/// Lists only models whose rows contain these words.
pub fn filter(state: &mut State, words: &str) {
    for modal in &mut state.modals {
        if let Modal::Models(dialog) = modal {
            words.trim().clone_into(&mut dialog.list.filter);
        }
    }
    arrange(state);
}

fn arrange(state: &mut State) {
    for modal in &mut state.modals {
        if let Modal::Models(dialog) = modal {
            let mut list = std::mem::take(&mut dialog.list);
            let all = dialog.models().map(|(model, _)| model.model.clone());
            list.arrange_afresh(all.collect(), |name| cells(dialog, name));
            dialog.list = list;
        }
    }
}

/// Asks for the highlighted model. The dialog stays until that is done, so that a refusal is read in it.
pub fn accept(state: &mut State, dialog: &ModelsDialog) -> Vec<Effect> {
    let Some(model) = dialog.list.selected.clone() else {
        return Vec::new();
    };
    let command = UpdateSession {
        session_id: dialog.session_id,
        title: None,
        model: Some(model),
        paused: None,
        preferences: None,
    };
    submit::submit(state, command)
}

/// Looks for servers, unless a look is under way.
pub fn discover(state: &mut State) -> Vec<Effect> {
    if top(state).is_none_or(|dialog| dialog.look == DiscoveryState::Searching) {
        return Vec::new();
    }
    let effects = submit::submit(state, DiscoverModels {});
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
