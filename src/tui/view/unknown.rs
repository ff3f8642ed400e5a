//! The part of a card for an unknown outcome: what is known, and what each answer leads to.

use crate::console::format;
use crate::protocol::approval::{Approval, UnknownOutcome};
use crate::protocol::enums::{ApprovalState, DecisionKind, OutboxClass};
use crate::tui::action::Action;
use crate::tui::state::offering;
use crate::tui::theme::roles::Role;
use crate::tui::view::card_body::Body;
use crate::tui::view::console::Console;

/// What the section is drawn from beside the approval's own revision, for the cache of cards.
pub fn version(console: Console<'_>, approval: &Approval) -> String {
    let Some(unknown) = &approval.unknown else {
        return String::new();
    };
    let epoch = console
        .model
        .world()
        .engine
        .as_ref()
        .map_or(0, |engine| engine.epoch);
    format!(
        "{epoch} {} {} {}",
        unknown.attempt,
        unknown.attempts,
        unknown.known.as_ref().map_or(0, String::len)
    )
}

/// Adds the section; nothing for other approvals.
pub fn draw(console: Console<'_>, approval: &Approval, body: &mut Body<'_>) {
    let Some(unknown) = &approval.unknown else {
        return;
    };
    body.rule("What is known");
    facts(console, unknown, body);
    if let Some(delivery) = &unknown.delivery {
        match delivery.class {
            OutboxClass::ApprovalCard | OutboxClass::CardUpdate => {}
            OutboxClass::Final | OutboxClass::Progress | OutboxClass::Notice => {
                body.rule("Text that was being sent");
                body.text(Role::Outside, &delivery.text);
            }
        }
    }
    if approval.state == ApprovalState::Pending {
        body.rule("Your answer");
        for action in [
            Action::SettleHappened,
            Action::SettleAgain,
            Action::SettleGiveUp,
        ] {
            if let Some(word) = offering::word_for(approval, action) {
                choice(console, action, word, body);
            }
        }
        let then = match approval.continuation_id {
            Some(id) if unknown.delivery.is_none() => format!("{id} goes on"),
            Some(id) => format!("part of the answer of {id}, which has ended"),
            None => "nothing else waits for it".to_owned(),
        };
        body.field("then", Role::Text, &then);
    }
}

fn facts(console: Console<'_>, unknown: &UnknownOutcome, body: &mut Body<'_>) {
    let started = unknown.started_at.map_or_else(
        || "not recorded".to_owned(),
        |at| {
            format!(
                "{} ({} ago)",
                format::clock(at),
                format::age(console.model.now.wall, at)
            )
        },
    );
    body.field("started", Role::Text, &started);
    body.field(
        "attempt",
        Role::Text,
        &format!("{} of {}", unknown.attempt, unknown.attempts),
    );
    let process = match console
        .model
        .world()
        .engine
        .as_ref()
        .map(|engine| engine.epoch)
    {
        Some(now) if now != unknown.epoch => format!("epoch {}, gone (now {now})", unknown.epoch),
        Some(_) | None => format!("epoch {}", unknown.epoch),
    };
    body.field("process", Role::Text, &process);
    if let Some(delivery) = &unknown.delivery {
        body.field(
            "part",
            Role::Text,
            &format!(
                "{} of {} · {}",
                delivery.part, delivery.parts, delivery.class
            ),
        );
        body.field("delivery", Role::TextMuted, &delivery.id.to_string());
    }
    body.field("key", Role::TextMuted, &unknown.key);
    body.field(
        "last known",
        Role::Outside,
        unknown.known.as_deref().unwrap_or("nothing"),
    );
}

fn choice(console: Console<'_>, action: Action, word: DecisionKind, body: &mut Body<'_>) {
    let key = console
        .key_of(action)
        .unwrap_or_else(|| "no key".to_owned());
    body.field(&key, Role::TextStrong, &word.text().choice());
}
