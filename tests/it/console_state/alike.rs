//! Alike calls of a session share a row. A decision about the row lists all of them first, with the words that differ.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::approval::{Approval, Preview};
use leverframe::protocol::command::DecisionRequest;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::request::{Command, Decide, Outcome};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::Effect;
use leverframe::tui::state::modal::{About, Modal};
use ratatui::style::Modifier;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::screens::check_at;

/// A command that only reads, of medium risk.
fn command(n: u8, words: &[&str]) -> Approval {
    let mut approval = fixture::command_approval(n, Risk::Medium);
    let argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    approval.args = serde_json::json!({ "argv": argv });
    approval.preview = Preview::Exec { argv };
    approval.taint.clear();
    approval.risk_reasons = vec!["runs a program that only reads".into()];
    approval.messages.truncate(1);
    approval.expires_at = Some(fixture::NOW.plus_seconds(1_500));
    approval
}

fn world(approvals: Vec<Approval>) -> Snapshot {
    Snapshot {
        approvals,
        continuations: vec![],
        ..fixture::busy()
    }
}

/// Three commands that differ in their last word.
fn three() -> Snapshot {
    world(vec![
        command(1, &["wc", "-l", "notes/a.txt"]),
        command(2, &["wc", "-l", "notes/b.txt"]),
        command(3, &["wc", "-l", "notes/c.txt"]),
    ])
}

fn rows(driver: &Driver) -> usize {
    driver.state.model.queue.order.len()
}

fn decided(effects: &[Effect]) -> Vec<(ApprovalId, DecisionRequest)> {
    let one = |effect: &Effect| match effect {
        Effect::Submit(Command::Decide(Decide {
            approval_id,
            decision,
        })) => Some((*approval_id, decision.clone())),
        _ => None,
    };
    effects.iter().filter_map(one).collect()
}

fn arrives(driver: &mut Driver, seq: u64, approval: Approval) {
    let event = Event {
        seq: Some(seq),
        at: driver.now().wall,
        session_id: approval.session_id,
        continuation_id: None,
        body: EventBody::ApprovalRequested {
            approval: Box::new(approval),
        },
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
    driver.draw();
}

fn answer(driver: &mut Driver, id: ApprovalId, decision: &DecisionRequest) -> Vec<Effect> {
    let mut approval = driver.state.model.world().approvals[&id].clone();
    approval.state = ApprovalState::Approved;
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(Command::Decide(Decide {
            approval_id: id,
            decision: decision.clone(),
        })),
        result: Ok(Box::new(Outcome::Decide(approval))),
    })
}

/// The table, opened with this key once the card was read.
fn table(snapshot: Snapshot, key: &str) -> Driver {
    let mut driver = Driver::with(100, 40, snapshot);
    driver.press("tab");
    driver.wait(800);
    driver.press(key);
    assert!(!driver.state.modals.is_empty(), "{}", driver.text());
    driver
}

/// The pieces of the screen that are underlined.
fn underlined(driver: &mut Driver) -> Vec<String> {
    let buffer = driver.draw();
    let mut pieces: Vec<String> = Vec::new();
    let mut open = false;
    for cell in &buffer.content {
        let marked = cell.modifier.contains(Modifier::UNDERLINED);
        if marked && !open {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut().filter(|_| marked) {
            piece.push_str(cell.symbol());
        }
        open = marked;
    }
    pieces
}

#[test]
fn one_more_key_allows_the_calls_that_the_table_lists() {
    let mut driver = table(three(), "a");
    assert_eq!(rows(&driver), 1);
    assert_eq!(
        underlined(&mut driver),
        ["notes/a.txt", "notes/b.txt", "notes/c.txt"]
    );
    let text = driver.text();
    assert!(text.contains("a allows the 3 that are listed"), "{text}");
    // Too soon: the table has just appeared.
    assert!(decided(&driver.press("a")).is_empty());
    driver.wait(710);
    let mut sent = decided(&driver.press("a"));
    let mut ids = Vec::new();
    while let Some((id, request)) = sent.pop() {
        assert_eq!(request.decision, DecisionKind::Approve);
        assert!(request.batch);
        assert_eq!(
            request.digest,
            driver.state.model.world().approvals[&id].digest
        );
        ids.push(id);
        sent = decided(&answer(&mut driver, id, &request));
    }
    assert_eq!(ids, [1, 2, 3].map(fixture::approval_id));
}

#[test]
fn what_arrives_or_changes_while_the_table_is_open_is_not_in_it() {
    let mut driver = table(three(), "a");
    driver.wait(710);
    arrives(&mut driver, 200, command(4, &["wc", "-l", "notes/d.txt"]));
    let mut changed = command(2, &["wc", "-l", "/etc/passwd"]);
    changed.revision = 2;
    changed.digest = "ff".repeat(32);
    arrives(&mut driver, 201, changed);
    let text = driver.text();
    assert!(
        text.contains("arrived since and are not in this table"),
        "{text}"
    );
    assert!(
        text.contains("left out: it changed or was settled since"),
        "{text}"
    );
    assert!(!text.contains("notes/d.txt"), "{text}");
    // The table says something else than before: it is looked at again.
    assert!(decided(&driver.press("a")).is_empty());
    driver.wait(710);
    let mut sent = decided(&driver.press("a"));
    let mut ids = Vec::new();
    while let Some((id, request)) = sent.pop() {
        ids.push(id);
        sent = decided(&answer(&mut driver, id, &request));
    }
    assert_eq!(ids, [1, 3].map(fixture::approval_id));
}

#[test]
fn a_held_key_and_a_table_that_was_not_seen_whole_allow_nothing() {
    let long: Vec<Approval> = (1..=9)
        .map(|n| command(n, &["wc", "-l", &format!("{}{n}", "deep/".repeat(60))]))
        .collect();
    let mut driver = Driver::with(100, 40, world(long));
    driver.press("tab enter ctrl-d ctrl-d ctrl-d");
    driver.wait(800);
    driver.press("a");
    assert!(!driver.state.modals.is_empty(), "{}", driver.text());
    driver.wait(710);
    assert!(decided(&driver.press("a")).is_empty());
    assert!(driver.text().contains("part of this has not been shown"));
    for _ in 0..6 {
        driver.press("ctrl-d");
    }
    driver.wait(710);
    assert_eq!(decided(&driver.press("a")).len(), 1);
}

#[test]
fn only_the_key_that_opened_the_table_counts_as_its_second() {
    let mut driver = table(three(), "d");
    driver.wait(710);
    assert!(decided(&driver.press("a")).is_empty());
    assert!(decided(&driver.press("s")).is_empty());
    let mut driver = table(three(), "s");
    driver.wait(710);
    assert!(decided(&driver.press("a")).is_empty());
    let sent = decided(&driver.press("s"));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1.scope, Some(DecisionScope::Session));
}

#[test]
fn a_reason_for_alike_calls_is_about_those_that_were_meant_and_stays_until_it_is_sent() {
    let mut driver = Driver::with(120, 35, three());
    driver.press("tab");
    driver.wait(800);
    driver.press("D");
    assert!(
        driver.text().contains("Deny 3 alike calls: reason"),
        "{}",
        driver.text()
    );
    driver.type_text("not now");
    driver.press("esc D");
    assert!(driver.text().contains("not now"), "{}", driver.text());
    // The table is left, too.
    driver.press("enter esc D");
    assert!(driver.text().contains("not now"), "{}", driver.text());
    // What comes while the reason is written is not meant.
    arrives(&mut driver, 300, command(4, &["wc", "-l", "notes/d.txt"]));
    driver.press("enter");
    let Some(Modal::Deciding(dialog)) = driver.state.modals.last() else {
        panic!("{}", driver.text())
    };
    let About::Batch(batch) = &dialog.about else {
        panic!("{}", driver.text())
    };
    assert_eq!(batch.items.len(), 3);
    assert_eq!(batch.reason.as_deref(), Some("not now"));
}

#[test]
fn calls_are_alike_only_where_the_card_says_the_same_of_both() {
    let base = || command(1, &["wc", "-l", "a"]);
    let mut others = Vec::new();
    // Another program, more words, another directory, another reason, other arguments, somebody else, other risk.
    others.push(command(2, &["cat", "-l", "a"]));
    others.push(command(2, &["wc", "-l", "a", "b"]));
    let mut other = command(2, &["wc", "-l", "b"]);
    other.plan.cwd = Some("/elsewhere".into());
    others.push(other);
    let mut other = command(2, &["wc", "-l", "b"]);
    other.risk_reasons.push("outside the workspace: b".into());
    others.push(other);
    let mut other = command(2, &["wc", "-l", "b"]);
    other.args["stdin"] = "x".into();
    others.push(other);
    let mut other = command(2, &["wc", "-l", "b"]);
    other.requester.id = "telegram:1".into();
    others.push(other);
    let mut other = command(2, &["wc", "-l", "b"]);
    other.risk = Risk::Low;
    others.push(other);
    let mut other = command(2, &["wc", "-l", "b"]);
    other.session_id = Some(fixture::session_id(2));
    others.push(other);
    let mut other = command(2, &["wc", "-l", "b"]);
    other.taint = vec!["result of fetch".into()];
    others.push(other);
    for other in others {
        let driver = Driver::with(100, 40, world(vec![base(), other.clone()]));
        assert_eq!(rows(&driver), 2, "{other:#?}");
    }
    let alike = command(2, &["wc", "-l", "b"]);
    let driver = Driver::with(100, 40, world(vec![base(), alike]));
    assert_eq!(rows(&driver), 1);
    // High risk has a card of its own each.
    let mut high = [base(), command(2, &["wc", "-l", "b"])];
    for one in &mut high {
        one.risk = Risk::High;
    }
    let driver = Driver::with(100, 40, world(high.into()));
    assert_eq!(rows(&driver), 2);
}

#[test]
fn the_table_of_alike_calls() {
    check_at("alike", &[(80, 24), (120, 35), (200, 60)], |w, h| {
        let mut driver = Driver::with(w, h, three());
        driver.press("tab");
        driver.wait(800);
        driver.press("a");
        arrives(&mut driver, 200, command(4, &["wc", "-l", "notes/d.txt"]));
        driver
    });
}
