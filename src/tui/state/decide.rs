//! Decisions about the selected card. Every path to a `Decide` command goes through [`armed`] first and
//! carries the digest and revision that were on screen.

use crate::console::arming::{CONFIRM_MS, Demand, Refusal, Subject};
use crate::console::decision::{self, Bound, snoozes};
use crate::console::item::{self, ItemKey};
use crate::console::queue;
use crate::protocol::command::DeliveryResolution;
use crate::protocol::enums::{DecisionKind, OutboxState, Risk, Scope};
use crate::protocol::request::{
    Command, DismissLeftovers, DismissRefusedCalls, RehearseCall, ResolveDelivery,
};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{HighConfirm, State};
use crate::tui::state::modal::{Confirm, Modal, TextPurpose};
use crate::tui::state::offering::{not_offered, word_for};
use crate::tui::state::screen::Screen;
use crate::tui::state::{batching, opening, rule_editing, shape, submit};

/// What this decision key asks of the card.
fn demand(action: Action) -> Demand {
    match action {
        Action::Deny
        | Action::DenyWithReason
        | Action::DenyAndStop
        | Action::Snooze
        | Action::EditArguments
        | Action::AnswerInstead
        | Action::Rehearse => Demand::Identity,
        _ => Demand::Read,
    }
}

/// Whether a decision key counts now; the time the card has been on screen.
pub fn armed(state: &State, action: Action) -> Result<u64, Refusal> {
    if state.screen != Screen::Queue || !state.modals.is_empty() {
        return Err(Refusal::NotShown);
    }
    let demand = demand(action);
    let approval = state.model.selected_approval();
    // The editor holds all of the arguments.
    let needs_all = demand == Demand::Read || action == Action::EditArguments;
    if needs_all && approval.is_some_and(|approval| approval.shortened) {
        return Err(Refusal::NotLoaded);
    }
    let subject = selected_subject(state);
    state
        .arming
        .check(subject.as_ref(), demand, state.model.now.steady)
}

/// What the selected card is bound to.
pub fn selected_subject(state: &State) -> Option<Subject> {
    let key = state.model.queue.selected.as_ref()?;
    queue::subject(&state.model.hosts, key)
}

/// Why a decision key means nothing for what is selected; for the footer and the notice.
pub fn unavailable(state: &State, action: Action) -> Option<String> {
    let Some(key) = state.model.selected() else {
        return Some(Refusal::NothingSelected.why().to_owned());
    };
    if !item::is_open(state.model.world(), key) {
        return Some("already settled".to_owned());
    }
    if let Some(why) = submit::blocked(state) {
        return Some(why.to_owned());
    }
    if let Some(why) = state.model.lacks(Scope::Approve) {
        return Some(why);
    }
    let not_here = "not offered here";
    let offered = match key {
        ItemKey::Approval(id) => match state.model.world().approvals.get(id) {
            Some(approval) => {
                if let Some(why) = decision::decided_by_others(state.model.world(), approval) {
                    return Some(why);
                }
                not_offered(state, approval, action).map_or(Ok(()), Err)
            }
            None => Err(not_here),
        },
        ItemKey::Delivery(_) => match action {
            Action::SettleHappened | Action::SettleAgain | Action::SettleGiveUp => Ok(()),
            _ => Err(not_here),
        },
        ItemKey::Leftovers(_) | ItemKey::RefusedCalls(_) if action == Action::Dismiss => Ok(()),
        ItemKey::Continuation(_)
        | ItemKey::Leftovers(_)
        | ItemKey::RefusedCalls(_)
        | ItemKey::Flood(_)
        | ItemKey::Channel(_)
        | ItemKey::Problem(_) => Err(not_here),
    };
    offered.err().map(str::to_owned)
}

/// A decision key was pressed.
pub fn decide(state: &mut State, action: Action, armed: Result<u64, Refusal>) -> Vec<Effect> {
    let high = state.high.take();
    let several = action != Action::Rehearse && !state.model.queue.marks.is_empty()
        || batching::is_about_stack(state, action);
    if several && state.modals.is_empty() {
        return batching::begin(state, action);
    }
    if let Some(why) = unavailable(state, action) {
        return state.warn(format!("{}: {why}", action.short()));
    }
    let seen_ms = match armed {
        Ok(seen_ms) => seen_ms,
        Err(refusal) => {
            state.high = high;
            return state.warn(format!("not armed: {}", refusal.why()));
        }
    };
    let Some(subject) = selected_subject(state) else {
        return Vec::new();
    };
    match subject.key.item.clone() {
        ItemKey::Approval(_) => decide_approval(state, action, subject, seen_ms, high),
        ItemKey::Delivery(id) => {
            let resolution = match action {
                Action::SettleHappened => DeliveryResolution::Sent,
                Action::SettleAgain => DeliveryResolution::SendAgain,
                _ => DeliveryResolution::Drop,
            };
            let unknown = state
                .model
                .world()
                .deliveries
                .get(&id)
                .is_some_and(|d| d.state == OutboxState::Unknown);
            let command = Command::ResolveDelivery(ResolveDelivery {
                outbox_id: id,
                resolution,
                reason: None,
            });
            if unknown && resolution == DeliveryResolution::SendAgain {
                let line = "It may have arrived; sending again may show it twice.".to_owned();
                return ask_bound(state, subject, "Send again?", line, "Send again", command);
            }
            submit::submit(state, command)
        }
        ItemKey::Leftovers(id) => submit::submit(state, DismissLeftovers { tool_call_id: id }),
        ItemKey::RefusedCalls(id) => submit::submit(state, DismissRefusedCalls { session_id: id }),
        ItemKey::Continuation(_)
        | ItemKey::Flood(_)
        | ItemKey::Channel(_)
        | ItemKey::Problem(_) => Vec::new(),
    }
}

/// Opens a question about a command that is only sent while the card is as it was shown.
fn ask_bound(
    state: &mut State,
    subject: Subject,
    title: &str,
    line: String,
    label: &'static str,
    command: Command,
) -> Vec<Effect> {
    state.modals.push(Modal::Confirm(Confirm {
        bound: Some(subject),
        ..Confirm::new(title, vec![line], label, command)
    }));
    Vec::new()
}

fn decide_approval(
    state: &mut State,
    action: Action,
    subject: Subject,
    seen_ms: u64,
    high: Option<HighConfirm>,
) -> Vec<Effect> {
    let Some(approval) = state.model.selected_approval() else {
        return Vec::new();
    };
    let Some(word) = word_for(approval, action) else {
        return Vec::new();
    };
    let risk = approval.risk;
    let bound = Bound {
        approval_id: approval.id,
        subject: subject.clone(),
        seen_ms,
        title: decision::title(approval),
    };
    match action {
        Action::DenyWithReason => return opening::open_text(state, TextPurpose::DenyReason(bound)),
        Action::EditArguments => {
            return opening::open_text(state, TextPurpose::EditArguments(bound));
        }
        Action::AnswerInstead => return opening::open_text(state, TextPurpose::Answer(bound)),
        Action::Snooze => {
            let choices = snoozes(state.model.now.wall, approval.expires_at);
            state.modals.push(Modal::Snooze {
                bound,
                choices,
                chosen: 0,
            });
            return Vec::new();
        }
        Action::AllowShape => {
            let approval = approval.clone();
            shape::open(state, bound, approval);
            return Vec::new();
        }
        Action::Rehearse => {
            let approval_id = approval.id;
            return submit::submit(state, RehearseCall { approval_id });
        }
        Action::MakeRule => {
            let approval = approval.clone();
            return rule_editing::open(state, bound, approval);
        }
        _ => {}
    }
    if word == DecisionKind::DenyAndStop {
        let continuation = approval.continuation_id;
        let others = state
            .model
            .world()
            .pending()
            .filter(|a| a.continuation_id == continuation && a.id != approval.id)
            .count();
        if others > 0 {
            let command = decision::command(&bound, decision::request(&bound, word));
            let line = format!("{others} more waiting in this turn will be closed too.");
            let (title, label) = ("Deny and stop?", "Deny and stop");
            return ask_bound(state, subject, title, line, label, command);
        }
    }
    if word.allows() {
        match risk {
            Risk::Low | Risk::Medium => {}
            Risk::High => {
                let second = high
                    .as_ref()
                    .is_some_and(|h| h.subject == subject && h.decision == word);
                match high {
                    Some(h) if second && state.model.now.steady.since(h.since) >= CONFIRM_MS => {
                        // The card is open only because the first press opened it.
                        state.model.queue.zoomed &= !h.opened;
                    }
                    Some(h) if second => {
                        state.high = Some(h);
                        return state.warn(
                            "not armed: the second press came too soon; read the card once more",
                        );
                    }
                    Some(_) | None => {
                        let opened = !state.model.queue.zoomed;
                        state.model.queue.zoomed = true;
                        state.high = Some(HighConfirm {
                            subject,
                            decision: word,
                            since: state.model.now.steady,
                            opened,
                        });
                        return Vec::new();
                    }
                }
            }
            Risk::Critical => return opening::open_text(state, TextPurpose::Code(bound, word)),
        }
    }
    let command = decision::command(&bound, decision::request(&bound, word));
    submit::submit(state, command)
}
