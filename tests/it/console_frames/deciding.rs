//! Dialogs that decide, and the Queue grouped, filtered and marked.

use leverframe::protocol::enums::*;
use leverframe::protocol::request::{Answer, Query};
use leverframe::protocol::rule::{RuleMatch, RuleMatches};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::Effect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::screens::check;

fn four() -> Snapshot {
    let mut command = fixture::command_approval(1, Risk::Medium);
    command.taint.clear();
    let mut desk = fixture::approval(4, Risk::Low);
    desk.channel = "desk".into();
    Snapshot {
        approvals: vec![
            command,
            fixture::approval(2, Risk::Medium),
            fixture::approval(3, Risk::High),
            desk,
        ],
        continuations: vec![],
        ..fixture::busy()
    }
}

/// The first card has been read to its end.
fn read(width: u16, height: u16) -> Driver {
    let mut driver = Driver::with(width, height, four());
    driver.press("j enter");
    for _ in 0..20 {
        driver.press("ctrl-d");
    }
    driver.wait(800);
    driver
}

#[test]
fn shape() {
    check("shape", |w, h| {
        let mut driver = read(w, h);
        driver.press("s");
        driver
    });
}

#[test]
fn rule_editor() {
    check("rule_editor", |w, h| {
        let mut driver = read(w, h);
        driver.press("r enter j j");
        let asked = driver.effects.iter().rev().find_map(|effect| match effect {
            Effect::Query(query @ Query::GetRuleMatches(_)) => Some(query.clone()),
            _ => None,
        });
        let call = |n: i64, preview: &str, by: &str, kept_by: Option<&str>| RuleMatch {
            call_id: fixture::tool_call(1, ToolCallState::Succeeded, None).id,
            channel: "telegram".into(),
            tool: "execute_command".into(),
            preview: preview.into(),
            risk: Risk::Medium,
            was: VerdictKind::Ask,
            decision: Some(DecisionKind::Approve),
            by: Some(by.into()),
            state: ToolCallState::Succeeded,
            kept_by: kept_by.map(str::to_owned),
            at: fixture::ago(n * 3600),
        };
        let found = RuleMatches {
            rule: "allow execute_command argv prefix `git push`".into(),
            coverage: None,
            since: fixture::ago(7 * 24 * 3600),
            considered: 40,
            more: false,
            matched: 3,
            doubtful: 0,
            ran_unasked: 0,
            approved: 3,
            denied: 0,
            refused: 0,
            calls: vec![
                call(2, "git push origin main", "ana", None),
                call(
                    30,
                    "git push --tags",
                    "ana",
                    Some("untrusted content in context"),
                ),
                call(90, "git push origin docs", "ben", None),
            ],
        };
        let answer = Answer::GetRuleMatches(found);
        driver.answer(asked.unwrap(), answer);
        driver
    });
}

#[test]
fn batch() {
    check("batch", |w, h| {
        let mut driver = read(w, h);
        driver.press("esc space j space j space");
        driver.press("a tab");
        driver
    });
}

#[test]
fn queue_grouped() {
    check("queue_grouped", |w, h| {
        let mut driver = Driver::with(w, h, four());
        driver.press("v / l o w enter j space");
        driver
    });
}
