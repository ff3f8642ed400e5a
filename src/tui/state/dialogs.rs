//! What keys do in dialogs with choices. A dialog with a text has `text_keys`.

use crate::console::decision;
use crate::console::queue::Step;
use crate::console::release::ReleaseChoice;
use crate::protocol::enums::DecisionKind;
use crate::protocol::policy::PolicyPatch;
use crate::protocol::request::{Command, SetPolicy};
use crate::tui::action::Action;
use crate::tui::message::{Effect, QuitKind};
use crate::tui::state::app::State;
use crate::tui::state::autonomy_selector::{self, AutonomySelector};
use crate::tui::state::deciding::{self, still};
use crate::tui::state::list::{List, neighbor};
use crate::tui::state::modal::{About, Modal, QuitChoice};
use crate::tui::state::text_dialog::TextPurpose;
use crate::tui::state::tool_lists::ToolLists;
use crate::tui::state::{batching, models, opening, rule_editing, shape, submit, why};

pub fn dialog_action(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::DialogNext => turn(state, true),
        Action::DialogPrevious => turn(state, false),
        Action::DialogAccept => accept(state),
        Action::DialogDiscover => models::discover(state),
        Action::DialogFilter => match state.modals.last() {
            Some(Modal::Models(dialog)) => {
                let words = dialog.list.filter.clone();
                opening::open_begun(state, TextPurpose::FilterModels, &words)
            }
            Some(_) | None => Vec::new(),
        },
        Action::DialogPageDown | Action::DialogPageUp => {
            let half = i64::from((state.size.1 / 2).max(2)) - 1;
            let down = action == Action::DialogPageDown;
            let lines = if down { half } else { -half };
            match state.modals.last_mut() {
                Some(Modal::Why(pager)) => why::scroll(&mut pager.scroll, lines),
                Some(Modal::Models(dialog)) => dialog.list.page(lines),
                Some(Modal::AutonomySelector(selector)) => {
                    autonomy_selector::scroll(selector, lines);
                }
                Some(Modal::Tools(lists)) => {
                    if let Some(channel) = state.model.world().channels.get(&lists.channel) {
                        lists.scroll(&channel.policy, lines);
                    }
                }
                Some(Modal::Summary(pager)) => why::scroll(&mut pager.scroll, lines),
                _ => {}
            }
            deciding::page(state, lines);
            Vec::new()
        }
        Action::DialogLonger | Action::DialogShorter => {
            if let Some(Modal::AutonomySelector(selector)) = state.modals.last_mut()
                && let Some(channel) = state.model.world().channels.get(&selector.channel)
            {
                autonomy_selector::last(selector, &channel.policy, action == Action::DialogLonger);
            }
            deciding::step(state, action == Action::DialogLonger);
            if let Some(Modal::Tools(lists)) = state.modals.last_mut()
                && let Some(channel) = state.model.world().channels.get(&lists.channel)
            {
                return lists.step(&channel.policy, action == Action::DialogLonger);
            }
            Vec::new()
        }
        Action::DialogAgain | Action::DialogApprove => press(state, action),
        Action::DialogCancel => {
            if let Some(Modal::AutonomySelector(selector)) = state.modals.last_mut()
                && selector.confirming.take().is_some()
            {
                return Vec::new();
            }
            if let Some(Modal::Tools(lists)) = state.modals.last_mut()
                && lists.confirming.take().is_some()
            {
                return Vec::new();
            }
            if let Some(Modal::Models(dialog)) = state.modals.last()
                && !dialog.list.filter.is_empty()
            {
                models::filter(state, "");
            } else if matches!(state.modals.last(), Some(Modal::Deciding(_))) {
                cancel(state);
            } else {
                state.modals.pop();
            }
            Vec::new()
        }
        Action::EmergencyStop => submit::emergency_stop(state),
        _ => Vec::new(),
    }
}

fn turn(state: &mut State, forward: bool) -> Vec<Effect> {
    let line = if forward { 1 } else { -1 };
    match state.modals.last_mut() {
        Some(Modal::Quit { choices, chosen }) => {
            *chosen = neighbor(*chosen, choices.len(), forward);
        }
        Some(Modal::Release(release)) => {
            release.chosen = neighbor(release.chosen, release.places(), forward);
        }
        Some(Modal::Confirm(confirm)) => confirm.chosen = neighbor(confirm.chosen, 2, forward),
        Some(Modal::Snooze {
            choices, chosen, ..
        }) => *chosen = neighbor(*chosen, choices.len(), forward),
        Some(Modal::Models(dialog)) => {
            dialog
                .list
                .step(if forward { Step::Down } else { Step::Up });
        }
        Some(Modal::Why(pager)) => why::scroll(&mut pager.scroll, line),
        Some(Modal::Deciding(_)) => deciding::turn(state, forward),
        Some(Modal::Summary(pager)) => why::scroll(&mut pager.scroll, line),
        Some(Modal::AutonomySelector(selector)) => {
            return autonomy_selector::turn(selector, forward);
        }
        Some(Modal::Tools(lists)) => {
            if let Some(channel) = state.model.world().channels.get(&lists.channel) {
                lists.turn(&channel.policy, forward);
            }
        }
        Some(Modal::Help(_) | Modal::Text(_)) | None => {}
    }
    Vec::new()
}

fn accept(state: &mut State) -> Vec<Effect> {
    match state.modals.last().cloned() {
        Some(Modal::Quit { choices, chosen }) => {
            state.modals.pop();
            match choices.get(chosen) {
                Some(QuitChoice::Detach) => vec![Effect::Quit(QuitKind::Detach)],
                Some(QuitChoice::Stop) => vec![Effect::Quit(QuitKind::Stop)],
                Some(QuitChoice::Stay) | None => Vec::new(),
            }
        }
        Some(Modal::Release(mut release)) => match release.place(release.chosen) {
            ReleaseChoice::Cancel => {
                state.modals.pop();
                Vec::new()
            }
            ReleaseChoice::Everywhere | ReleaseChoice::Row(_) => {
                release.turn();
                if let Some(shown) = state.modals.last_mut() {
                    *shown = Modal::Release(release);
                }
                Vec::new()
            }
            ReleaseChoice::Release => {
                state.modals.pop();
                submit::submit(state, release.command())
            }
        },
        Some(Modal::Confirm(confirm)) => {
            state.modals.pop();
            if confirm.chosen == 0 {
                return Vec::new();
            }
            if let Some(subject) = &confirm.bound
                && !still(state, subject)
            {
                return Vec::new();
            }
            submit::submit(state, confirm.command)
        }
        Some(Modal::Snooze {
            bound,
            choices,
            chosen,
        }) => {
            state.modals.pop();
            if !still(state, &bound.subject) {
                return Vec::new();
            }
            let mut request = decision::request(&bound, DecisionKind::Snooze);
            request.minutes = choices.get(chosen).map(|choice| choice.minutes);
            submit::submit(state, decision::command(&bound, request))
        }
        Some(Modal::AutonomySelector(selector)) => accept_autonomy(state, &selector),
        Some(Modal::Tools(lists)) => accept_lists(state, &lists),
        Some(Modal::Models(dialog)) => models::accept(state, &dialog),
        Some(Modal::Deciding(_)) => press(state, Action::DialogAccept),
        Some(Modal::Why(_) | Modal::Summary(_)) => {
            state.modals.pop();
            Vec::new()
        }
        Some(Modal::Help(_) | Modal::Text(_)) | None => Vec::new(),
    }
}

/// Takes the level, after a question where it raises.
fn accept_autonomy(state: &mut State, selector: &AutonomySelector) -> Vec<Effect> {
    let Some(channel) = state.model.world().channels.get(&selector.channel) else {
        state.modals.pop();
        return Vec::new();
    };
    let policy = &channel.policy;
    let confirming = match selector.confirming {
        None if selector.raises(policy) => Some(Some(0)),
        Some(0) => Some(None),
        None | Some(_) => None,
    };
    if let Some(confirming) = confirming {
        if let Some(Modal::AutonomySelector(selector)) = state.modals.last_mut() {
            selector.confirming = confirming;
        }
        return Vec::new();
    }
    let same = selector.chosen == policy.autonomy && policy.expires_at.is_none();
    let command = Command::SetPolicy(SetPolicy {
        channel: selector.channel.clone(),
        patch: PolicyPatch {
            autonomy: Some(selector.chosen),
            expires_in_seconds: selector.seconds(policy),
            if_version: Some(policy.version),
            ..PolicyPatch::default()
        },
    });
    state.modals.pop();
    if same {
        return Vec::new();
    }
    submit::submit(state, command)
}

/// Puts the tool into its list, after a question where it may do more. The lists stay open for the next tool.
fn accept_lists(state: &mut State, lists: &ToolLists) -> Vec<Effect> {
    let Some(channel) = state.model.world().channels.get(&lists.channel) else {
        state.modals.pop();
        return Vec::new();
    };
    let policy = &channel.policy;
    let Some(patch) = lists.patch(policy) else {
        return Vec::new();
    };
    let (confirming, sends) = match lists.confirming {
        None if lists.raises(policy) => (Some(0), false),
        Some(0) => (None, false),
        None | Some(_) => (None, true),
    };
    let command = Command::SetPolicy(SetPolicy {
        channel: lists.channel.clone(),
        patch: PolicyPatch {
            if_version: Some(policy.version),
            ..patch
        },
    });
    if let Some(Modal::Tools(lists)) = state.modals.last_mut() {
        lists.confirming = confirming;
    }
    if sends {
        submit::submit(state, command)
    } else {
        Vec::new()
    }
}

/// The choice of a dialog that decides is taken, or the key of the shape dialog was pressed.
fn press(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(dialog) = deciding::top(state) else {
        return Vec::new();
    };
    match (&dialog.about, action) {
        (About::Shape(shape), Action::DialogAgain) => {
            let shape = shape.clone();
            let request = shape::request(state, &shape);
            deciding::send(state, &shape.bound, request)
        }
        (About::Shape(_), Action::DialogAccept) => shape::write(state),
        (About::Rule(_), Action::DialogAccept) => rule_editing::press(state),
        (About::Batch(_), Action::DialogAccept) => batching::press(state),
        (About::Batch(_), key) => batching::again(state, key),
        (About::Shape(_) | About::Rule(_), _) => Vec::new(),
    }
}

/// Closes a dialog that decides, without deciding.
fn cancel(state: &mut State) {
    if let Some(dialog) = deciding::top(state) {
        match dialog.about {
            About::Batch(_) => drop(batching::close(state)),
            About::Shape(_) | About::Rule(_) => drop(state.modals.pop()),
        }
    }
}
