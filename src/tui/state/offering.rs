//! Which decisions a card offers. Nothing is decided here.

use crate::protocol::approval::{Approval, snooze_end};
use crate::protocol::enums::DecisionKind;
use crate::tui::action::Action;
use crate::tui::state::app::State;
use crate::tui::state::rule_editor;

/// The decision word a key stands for on this approval, when it is offered.
pub fn word_for(approval: &Approval, action: Action) -> Option<DecisionKind> {
    let candidates: &[DecisionKind] = match action {
        Action::Approve => &[DecisionKind::Approve],
        Action::Deny | Action::DenyWithReason => &[DecisionKind::Deny],
        Action::EditArguments => &[DecisionKind::Edit],
        Action::AnswerInstead => &[DecisionKind::Answer],
        Action::DenyAndStop => &[DecisionKind::DenyAndStop],
        Action::Snooze => &[DecisionKind::Snooze],
        Action::AllowShape | Action::MakeRule | Action::Rehearse => &[DecisionKind::Approve],
        Action::SettleHappened => &[DecisionKind::Happened, DecisionKind::Sent],
        Action::SettleAgain => &[DecisionKind::RunAgain, DecisionKind::SendAgain],
        Action::SettleGiveUp => &[DecisionKind::GiveUp, DecisionKind::Drop],
        _ => &[],
    };
    candidates
        .iter()
        .copied()
        .find(|word| approval.offered.contains(word))
}

/// What a decision key means on this approval: the key that repeats an unknown outcome rehearses a command that waits.
pub fn meant(approval: &Approval, action: Action) -> Action {
    let is_again = action == Action::SettleAgain && word_for(approval, action).is_none();
    if is_again { Action::Rehearse } else { action }
}

/// Whether a decision key means something on this approval, or why not.
pub fn offers(approval: &Approval, action: Action) -> Result<DecisionKind, &str> {
    let word = word_for(approval, action).ok_or("not offered here")?;
    let why = match action {
        Action::AllowShape => approval.only_once(),
        Action::MakeRule => rule_editor::unavailable(approval),
        Action::Rehearse => approval.not_rehearsed(),
        _ => None,
    };
    why.map_or(Ok(word), Err)
}

/// Why a decision key means nothing on this approval now; none = it does.
pub fn not_offered<'a>(state: &State, approval: &'a Approval, action: Action) -> Option<&'a str> {
    if action == Action::Snooze
        && snooze_end(state.model.now.wall, 1, approval.expires_at).is_none()
    {
        return Some("its deadline is within ten minutes");
    }
    offers(approval, action).err()
}
