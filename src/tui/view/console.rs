//! What the Queue and its cards are drawn from, and the words they share.

use crate::console::decision;
use crate::console::model::Model;
use crate::protocol::approval::Approval;
use crate::protocol::words::ApprovalState;
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::keymap::lookup::Keymap;
use crate::tui::state::app::State;
use crate::tui::theme::roles::Role;

/// What a card is drawn from.
#[derive(Clone, Copy)]
pub struct Console<'c> {
    /// What is known.
    pub model: &'c Model,
    /// The keys to name; none = this console has no keys.
    pub keymap: Option<&'c Keymap>,
}

impl<'c> Console<'c> {
    /// The console of a screen.
    pub fn of(state: &'c State) -> Self {
        Self {
            model: &state.model,
            keymap: Some(&state.keymap),
        }
    }

    /// The key of an action on the Queue.
    pub fn key_of(self, action: Action) -> Option<String> {
        self.keymap?.key_of(Context::Queue, action)
    }
}

/// Columns for the name of a host at most.
pub const HOST_COLUMNS: usize = 16;

/// That an approved call is held back, and how it is taken back.
pub fn held(console: Console<'_>, left: u64) -> String {
    let seconds = left.div_ceil(1000);
    match console.key_of(Action::Undo) {
        Some(key) => format!("starts in {seconds} s, {key} revokes"),
        None => format!("starts in {seconds} s"),
    }
}

/// How an approval ended, in a few words.
pub fn outcome(approval: &Approval) -> (Role, String) {
    match (&approval.decision, approval.state) {
        (
            Some(decision),
            ApprovalState::Approved
            | ApprovalState::Consumed
            | ApprovalState::Denied
            | ApprovalState::Revoked,
        ) => {
            let role = if decision::lets_something_happen(decision.decision) {
                Role::StateGood
            } else {
                Role::TextMuted
            };
            (
                role,
                format!("{} by {}", decision.decision.text().done, decision.by),
            )
        }
        (_, state) => (Role::TextMuted, state.as_str().to_owned()),
    }
}
