//! The texts for decisions and for the effect of a call, in one table. Cards, the console, the
//! command line and the footer take their texts from it.

use crate::protocol::enums::{Access, DecisionKind, Effect};

/// Texts for one decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecisionText {
    /// The choice: "allow once".
    pub label: &'static str,
    /// What follows from it; empty where the label says it all.
    pub meaning: &'static str,
    /// The decision in the past: "allowed once".
    pub done: &'static str,
}

impl DecisionKind {
    /// Whether a decision lets an effect happen, as opposed to preventing one.
    pub const fn allows(self) -> bool {
        match self {
            Self::Approve | Self::RunAgain | Self::SendAgain => true,
            Self::Deny
            | Self::DenyAndStop
            | Self::Edit
            | Self::Answer
            | Self::Snooze
            | Self::Revoke
            | Self::Happened
            | Self::GiveUp
            | Self::Sent
            | Self::Drop => false,
        }
    }

    /// The texts of this decision.
    pub const fn text(self) -> DecisionText {
        let (label, meaning, done) = match self {
            Self::Approve => ("allow once", "", "allowed once"),
            Self::Deny => ("deny", "the model reads it and goes on", "denied"),
            Self::DenyAndStop => ("deny, and stop the turn", "", "denied and stopped"),
            Self::Edit => (
                "edit the arguments",
                "checked again, still pending",
                "arguments changed, still pending",
            ),
            Self::Answer => ("answer in its place", "", "answered"),
            Self::Snooze => ("snooze", "", "snoozed"),
            Self::Revoke => ("revoke", "", "revoked"),
            Self::Happened => (
                "it happened",
                "the model reads that it was done; it is not run again",
                "settled as happened",
            ),
            Self::RunAgain => (
                "run again",
                "it runs once more; if it did happen, it happens twice",
                "runs again",
            ),
            Self::GiveUp => (
                "give up",
                "the model reads that nobody knows; it is not run again",
                "given up",
            ),
            Self::Sent => (
                "it arrived",
                "it counts as sent; the parts behind it go out",
                "settled as sent",
            ),
            Self::SendAgain => (
                "send again",
                "it is sent once more; if it did arrive, it is seen twice",
                "sent again",
            ),
            Self::Drop => (
                "drop",
                "it is never sent again; the parts behind it go out",
                "dropped",
            ),
        };
        DecisionText {
            label,
            meaning,
            done,
        }
    }

    /// Whether it settles a call or delivery with an unknown outcome.
    pub const fn settles_unknown(self) -> bool {
        match self {
            Self::Happened
            | Self::RunAgain
            | Self::GiveUp
            | Self::Sent
            | Self::SendAgain
            | Self::Drop => true,
            Self::Approve
            | Self::Deny
            | Self::DenyAndStop
            | Self::Edit
            | Self::Answer
            | Self::Snooze
            | Self::Revoke => false,
        }
    }
}

impl DecisionText {
    /// The choice and what follows from it: "deny: the model reads it and goes on".
    pub fn choice(self) -> String {
        match self.meaning {
            "" => self.label.to_owned(),
            meaning => format!("{}: {meaning}", self.label),
        }
    }
}

/// The text with a capital letter, for a button or the start of a line.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// What a call does and whether it can be repeated, as a sentence without its subject.
pub fn effect_text(access: Access, effect: Effect) -> String {
    let access = match access {
        Access::ReadLocal => "reads files of the workspace",
        Access::ReadOpen => "reads from the network",
        Access::WriteAdditive => "adds files and changes none",
        Access::Write => "changes or removes files",
        Access::Exec => "runs a program",
        Access::Send => "sends to somebody",
        Access::Unknown => "does what nobody has classified",
    };
    let again = match effect {
        Effect::ReadOnly | Effect::Idempotent => "can be repeated safely",
        Effect::Keyed => "can be repeated safely with its key",
        Effect::Reconcilable => "whether it happened can be looked up",
        Effect::NonIdempotent => "cannot be repeated safely",
    };
    format!("{access}; {again}")
}
