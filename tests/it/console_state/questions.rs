//! A question of the agent in the console: what the card says, and how it is answered.

use leverframe::protocol::approval::{Approval, Preview};
use leverframe::protocol::enums::{ApprovalKind, DecisionKind, Risk};
use leverframe::protocol::request::{Command, Decide};
use leverframe::tui::message::Effect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn question(choices: &[&str]) -> Approval {
    Approval {
        kind: ApprovalKind::Question,
        tool: "ask_operator".to_owned(),
        question: Some("Deploy where?\n1. staging\n2. production".to_owned()),
        args: serde_json::json!({"question": "Deploy where?", "choices": choices}),
        preview: Preview::None,
        offered: vec![DecisionKind::Answer, DecisionKind::Deny],
        ..fixture::approval(1, Risk::Low)
    }
}

#[test]
fn the_card_asks_and_the_dialog_takes_an_answer() {
    let mut snapshot = fixture::busy();
    snapshot.approvals[0] = question(&["staging", "production"]);
    let mut driver = Driver::with(120, 50, snapshot);
    driver.press("j");
    driver.wait(800);
    let text = driver.text();
    assert!(
        text.contains("1. staging") && text.contains("2. production"),
        "{text}"
    );
    assert!(
        !text.contains("choices"),
        "the arguments say nothing new: {text}"
    );

    driver.press("o");
    let text = driver.text();
    assert!(text.contains("Answer the agent"), "{text}");
    assert!(text.contains("A number takes a choice."), "{text}");
    driver.press("2");
    let sent = driver.press("enter");
    let answers: Vec<_> = sent
        .iter()
        .filter_map(|effect| match effect {
            Effect::Submit(Command::Decide(Decide { decision, .. })) => decision.answer.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(
        answers,
        ["2"],
        "the engine says which choice that is: {sent:?}"
    );
}

#[test]
fn an_answer_names_a_choice_by_its_text_before_its_number() {
    let asked = question(&["2", "1", "Staging"]);
    for (said, meant) in [
        ("2", "2"),
        ("1", "1"),
        ("3", "Staging"),
        (" staging ", "Staging"),
        ("0", "0"),
        ("4", "4"),
        ("elsewhere", "elsewhere"),
    ] {
        assert_eq!(asked.answer_said(said), meant, "{said:?}");
    }
    assert_eq!(question(&[]).answer_said("1"), "1");
    let call = Approval {
        kind: ApprovalKind::Execute,
        ..asked
    };
    assert_eq!(call.answer_said("3"), "3", "no other kind has choices");
}
