//! What the Queue and its cards are drawn from, and the words they share.

use crate::console::format::{clock, duration};
use crate::console::model::Model;
use crate::console::world::{CallResult, World};
use crate::protocol::approval::{Approval, Decision};
use crate::protocol::enums::{ApprovalState, ToolCallState};
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::keymap::lookup::Keymap;
use crate::tui::links::LinkScope;
use crate::tui::state::app::State;
use crate::tui::theme::roles::Role;

/// What a card is drawn from.
#[derive(Clone, Copy)]
pub struct Console<'c> {
    pub model: &'c Model,
    /// The keys to name; none = this console has no keys.
    pub keymap: Option<&'c Keymap>,
}

impl<'c> Console<'c> {
    pub fn of(state: &'c State) -> Self {
        Self {
            model: &state.model,
            keymap: Some(&state.keymap),
        }
    }

    /// The directory in which the tools of a channel work, where its files can be linked to.
    pub fn workspace(self, scope: LinkScope, channel: &str) -> Option<&'c str> {
        let is_here = scope == LinkScope::WebAndFiles && self.model.host().is_here();
        let channel = self.model.world().channels.get(channel);
        channel
            .filter(|_| is_here)
            .and_then(|channel| channel.workspace.as_deref())
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

/// What somebody decided, where and when.
pub fn decided_by(decision: &Decision) -> String {
    format!(
        "{} by {} ({}) at {}",
        decision.decision.text().done,
        decision.by,
        decision.surface,
        clock(decision.at)
    )
}

/// What has come of a call, in a few words: `running`, `succeeded in 1.2s`.
pub fn result_words(result: &CallResult) -> (Role, String) {
    let role = call_role(result.state);
    let word = match result.state {
        ToolCallState::Started => "running",
        state => state.as_str(),
    };
    let word = word.replace('_', " ");
    match (result.state, result.duration_ms) {
        (_, None) => (role, word),
        (ToolCallState::Succeeded, Some(ms)) => (role, format!("{word} in {}", duration(ms))),
        (_, Some(ms)) => (role, format!("{word} after {}", duration(ms))),
    }
}

/// The color of a call's state.
pub const fn call_role(state: ToolCallState) -> Role {
    match state {
        ToolCallState::Succeeded | ToolCallState::SucceededByNote => Role::StateGood,
        ToolCallState::Failed | ToolCallState::Indeterminate => Role::StateBad,
        ToolCallState::Awaiting => Role::StateWaiting,
        ToolCallState::Started => Role::StateRunning,
        ToolCallState::Proposed | ToolCallState::Ready | ToolCallState::Approved => Role::Text,
        ToolCallState::Blocked
        | ToolCallState::Denied
        | ToolCallState::Abandoned
        | ToolCallState::Cancelled
        | ToolCallState::Expired => Role::TextMuted,
    }
}

/// How an approval ended and what came of its call, in a few words.
pub fn outcome_and_result(world: &World, approval: &Approval) -> (Role, String) {
    let (role, words) = outcome(approval);
    match world.result(approval).map(result_words) {
        None => (role, words),
        Some((role, result)) => (role, format!("{words}, {result}")),
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
            let role = if decision.decision.allows() {
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
