//! Decisions about several cards: a table first, with what will happen to each and what is left out and why; then one
//! command after the other, each with the digest that was read on its own card.

use crate::console::decision::{Bound, SnoozeChoice};
use crate::console::lifetime::LifetimeChoice;
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::{DecisionKind, Risk};
use crate::tui::action::Action;

/// What became of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It will be decided.
    Waits,
    /// It is not part of the decision, and why.
    LeftOut(String),
    /// The command is on its way.
    Sent,
    Done,
    /// It was not taken, and why.
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWord {
    /// The word, in quotes where it needs them: outside text.
    pub text: String,
    /// Whether it differs among the calls that are alike.
    pub differs: bool,
}

/// A card that the table lists.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What it is bound to: what was read on its card.
    pub bound: Bound,
    pub channel: String,
    pub risk: Risk,
    /// What would be done, in one line: outside text.
    pub what: String,
    /// The whole command, where it differs from others that are alike: the table is the only place that shows it.
    pub command: Vec<CommandWord>,
    /// What of the files that this command names is bound; none = no command is listed, or it names no file.
    pub bound_files: Option<String>,
    pub fate: Fate,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The key that was pressed.
    pub action: Action,
    pub word: DecisionKind,
    /// How long the permissions hold; none = each is for one call, or nothing is allowed. It does not change once
    /// something was sent.
    pub lasts: Option<LifetimeChoice>,
    /// Read by the model.
    pub reason: Option<String>,
    /// How long, for a snooze; the choices are the buttons.
    pub snoozes: Vec<SnoozeChoice>,
    /// The cards, as the queue shows them.
    pub items: Vec<Item>,
    /// Whether it lists the calls of one row, and not marked cards.
    pub is_stack: bool,
    /// Alike calls that arrived since the table opened: they are not in it.
    pub arrived: usize,
    /// The chosen button: 0 = Cancel.
    pub chosen: usize,
    /// What the buttons sent, while that goes on and after it.
    pub sending: Option<DecisionRequest>,
}

impl Batch {
    /// Labels of the buttons; Cancel is the first. Nothing but closing is left once it was sent.
    pub fn buttons(&self) -> Vec<String> {
        let count = self.count(&Fate::Waits);
        if self.sending.is_some() {
            return vec![if self.open() { "Stop" } else { "Close" }.to_owned()];
        }
        let go = match self.action {
            Action::Approve => format!("Allow {count} once"),
            Action::AllowShape => format!("Allow {count} shapes"),
            Action::Deny | Action::DenyWithReason => format!("Deny {count}"),
            Action::DenyAndStop => format!("Deny {count} and stop"),
            _ => format!("{} {count}", self.action.short()),
        };
        let mut labels = vec!["Cancel".to_owned()];
        if count == 0 {
            return labels;
        }
        if self.word == DecisionKind::Snooze {
            labels.extend(self.snoozes.iter().map(|choice| choice.words.to_owned()));
        } else {
            labels.push(go);
        }
        labels
    }

    /// Nothing more is sent: the cards must be read again.
    pub fn lost(&mut self) {
        for item in &mut self.items {
            if item.fate == Fate::Waits {
                item.fate =
                    Fate::LeftOut("the connection was lost; read its card again".to_owned());
            }
        }
        self.chosen = 0;
    }

    /// Whether this key of a dialog means the decision that is listed, once more.
    pub fn is_again(&self, key: Action) -> bool {
        match key {
            Action::DialogApprove => self.action == Action::Approve,
            Action::DialogAgain => self.action == Action::AllowShape,
            _ => false,
        }
    }

    /// How many items have this fate.
    pub fn count(&self, fate: &Fate) -> usize {
        self.items.iter().filter(|item| item.fate == *fate).count()
    }

    /// Whether some of it is still to be sent or answered.
    pub fn open(&self) -> bool {
        self.items
            .iter()
            .any(|item| matches!(item.fate, Fate::Waits | Fate::Sent))
    }

    /// What will happen to each, in words.
    pub const fn in_words(&self) -> &'static str {
        match self.action {
            Action::Approve => "runs once",
            Action::AllowShape => "runs; the same call runs again without asking",
            Action::Deny | Action::DenyWithReason => "is refused; the model goes on",
            Action::DenyAndStop => "is refused, and its turn ends",
            Action::Snooze => "is put off",
            Action::SettleHappened => "counts as done",
            Action::SettleAgain => "is done again",
            Action::SettleGiveUp => "is given up",
            _ => "is decided",
        }
    }
}
