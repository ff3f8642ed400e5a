//! Which decisions a card offers. Nothing is decided here.

use crate::protocol::approval::{Approval, snooze_end};
use crate::protocol::words::DecisionWord;
use crate::tui::action::Action;
use crate::tui::state::app::State;
use crate::tui::state::rule_editor;

/// The decision word a key stands for on this approval, when it is offered.
pub fn word_for(approval: &Approval, action: Action) -> Option<DecisionWord> {
    let candidates: &[DecisionWord] = match action {
        Action::Approve => &[DecisionWord::Approve],
        Action::Deny | Action::DenyWithReason => &[DecisionWord::Deny],
        Action::EditArguments => &[DecisionWord::Edit],
        Action::AnswerInstead => &[DecisionWord::Answer],
        Action::DenyAndStop => &[DecisionWord::DenyAndStop],
        Action::Snooze => &[DecisionWord::Snooze],
        Action::AllowShape | Action::MakeRule => &[DecisionWord::Approve],
        Action::SettleHappened => &[DecisionWord::Happened, DecisionWord::Sent],
        Action::SettleAgain => &[DecisionWord::RunAgain, DecisionWord::SendAgain],
        Action::SettleGiveUp => &[DecisionWord::GiveUp, DecisionWord::Drop],
        _ => &[],
    };
    candidates
        .iter()
        .copied()
        .find(|word| approval.offered.contains(word))
}

/// Whether a decision key means something on this approval, or why not.
pub fn offers(approval: &Approval, action: Action) -> Result<DecisionWord, &str> {
    let word = word_for(approval, action).ok_or("not offered here")?;
    let why = match action {
        Action::AllowShape => approval.only_once(),
        Action::MakeRule => rule_editor::unavailable(approval),
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
