//! The lists of a channel, edited with the keyboard.

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::policy::{Policy, PolicyPatch, WhatIf};
use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{Answer, Command, GetWhatIf, Query, SetPolicy};
use leverframe::tui::message::Effect;
use leverframe::tui::state::modal::Modal;
use leverframe::tui::state::tool_lists::ToolLists;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

/// A console with the lists of `telegram` open: nothing blocked, `read_file` runs alone.
fn open() -> Driver {
    let mut world = fixture::busy();
    let channels = &mut world.channels;
    let telegram = channels.iter_mut().find(|one| one.name == "telegram");
    let policy = &mut telegram.unwrap().policy;
    policy.auto_approve = vec!["read_file".to_owned()];
    policy.always_ask = vec!["mcp_*".to_owned()];
    policy.block = Vec::new();
    let mut driver = Driver::with(80, 24, world);
    driver.press("4 j j T");
    driver
}

fn lists(driver: &Driver) -> &ToolLists {
    match driver.state.modals.last() {
        Some(Modal::Tools(lists)) => lists,
        other => panic!("{other:?}"),
    }
}

fn policy(driver: &Driver) -> &Policy {
    &driver.state.model.world().channels["telegram"].policy
}

/// Patches that were sent, and those that were only tried.
fn patches(driver: &Driver) -> (Vec<PolicyPatch>, Vec<PolicyPatch>) {
    let (mut sent, mut tried) = (Vec::new(), Vec::new());
    for effect in &driver.effects {
        match effect {
            Effect::Submit(Command::SetPolicy(SetPolicy { patch, .. })) => sent.push(patch.clone()),
            Effect::Query(Query::GetWhatIf(GetWhatIf { patch, .. })) => tried.push(patch.clone()),
            _ => {}
        }
    }
    (sent, tried)
}

#[test]
fn every_tool_and_every_entry_of_a_list_is_offered_once() {
    let driver = open();
    assert_eq!(
        lists(&driver).tools,
        ["execute_command", "mcp_*", "read_file", "write_file"]
    );
}

#[test]
fn less_is_applied_at_once_and_more_only_after_a_question() {
    let mut driver = open();
    // `execute_command`: the level decides; then always asks, then never runs.
    driver.press("- - enter");
    let (sent, tried) = patches(&driver);
    assert_eq!(tried.len(), 2, "{tried:?}");
    let [patch] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(
        patch.block.as_deref(),
        Some(&["execute_command".to_owned()][..])
    );
    assert_eq!((&patch.auto_approve, &patch.always_ask), (&None, &None));
    assert_eq!(patch.if_version, Some(policy(&driver).version));

    let mut driver = open();
    driver.press("j + enter enter");
    assert_eq!(patches(&driver).0, [], "cancel has the focus");
    driver.press("enter right enter");
    let (sent, _) = patches(&driver);
    let [patch] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(
        patch.always_ask.as_deref(),
        Some(&[][..]),
        "the level decides"
    );
    assert_eq!((&patch.auto_approve, &patch.block), (&None, &None));
    lists(&driver);
}

#[test]
fn a_choice_that_changes_nothing_sends_nothing_and_cancel_closes_the_question_first() {
    let mut driver = open();
    driver.press("+ - enter");
    assert_eq!(patches(&driver).0, []);
    driver.press("+ enter");
    assert_eq!(lists(&driver).confirming, Some(0));
    // Behind the question nothing else changes.
    driver.press("+ +");
    driver.press("esc");
    assert_eq!(lists(&driver).confirming, None);
    driver.press("esc");
    assert!(driver.state.modals.is_empty());
}

#[test]
fn the_answer_shown_is_that_of_the_change_shown() {
    let mut driver = open();
    driver.press("-");
    let [less] = patches(&driver).1.try_into().unwrap();
    assert_eq!(lists(&driver).answer(policy(&driver)), None);
    let query = |patch: &PolicyPatch| {
        Query::GetWhatIf(GetWhatIf {
            channel: "telegram".into(),
            patch: patch.clone(),
            limit: Some(20),
        })
    };
    let what_if = WhatIf {
        channel: "telegram".into(),
        autonomy: policy(&driver).autonomy,
        considered: 20,
        would_run: 7,
        newly_unattended: 0,
        calls: Vec::new(),
    };
    driver.answer(query(&less), Answer::GetWhatIf(what_if.clone()));
    assert_eq!(lists(&driver).answer(policy(&driver)), Some(&Ok(what_if)));
    assert!(
        driver
            .text()
            .contains("7 of the last 20 calls would have run without you")
    );
    // Another change has another answer, also when it fails.
    driver.press("-");
    assert_eq!(lists(&driver).answer(policy(&driver)), None);
    let never = patches(&driver).1.pop().unwrap();
    driver.hear(DaemonMessage::Answered {
        query: Box::new(query(&never)),
        result: Err(Box::new(Problem::invalid("no such channel"))),
    });
    let text = driver.text();
    assert!(text.contains("no such channel"), "{text}");
}
