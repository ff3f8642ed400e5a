//! The console's card of an unknown outcome.

use leverframe::protocol::approval::{Approval, Preview, UnknownDelivery, UnknownOutcome};
use leverframe::protocol::enums::{ApprovalKind, DecisionKind, OutboxClass, Risk};
use leverframe::protocol::ids::OutboxId;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::{self, busy};

fn unknown(delivery: Option<UnknownDelivery>) -> UnknownOutcome {
    UnknownOutcome {
        started_at: Some(fixture::NOW.plus_seconds(-300)),
        attempt: 2,
        attempts: 2,
        epoch: 41,
        key: "0123456789abcdef01234567".to_owned(),
        known: Some("the process ended while it ran \u{202e}".to_owned()),
        delivery,
    }
}

fn frame(approval: Approval, height: u16) -> String {
    let mut snapshot = busy();
    snapshot.approvals = vec![approval];
    snapshot.deliveries.clear();
    let mut driver = Driver::with(100, height, snapshot);
    driver.press("j enter");
    driver.text()
}

fn has(frame: &str, parts: &[&str]) {
    for part in parts {
        assert!(frame.contains(part), "`{part}` is not in\n{frame}");
    }
}

#[test]
fn a_call_shows_arguments_start_attempt_process_key_and_three_answers() {
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.kind = ApprovalKind::ResolveUnknown;
    approval.preview = Preview::None;
    approval.offered = vec![
        DecisionKind::Happened,
        DecisionKind::RunAgain,
        DecisionKind::GiveUp,
    ];
    approval.unknown = Some(Box::new(unknown(None)));
    let continuation = approval.continuation_id.unwrap().to_string();
    let shown = frame(approval, 60);
    if let Some(dir) = option_env!("LEVERFRAME_FRAMES") {
        std::fs::write(format!("{dir}/unknown_call.txt"), &shown).unwrap();
    }
    has(
        &shown,
        &[
            "What is known",
            "(5m ago)",
            "2 of 2",
            "epoch 41, gone (now ",
            "0123456789abcdef01234567",
            "the process ended while it ran",
            "Your answer",
            "it happened: the model reads that it was done",
            "run again: it runs once more",
            "give up: the model reads that nobody knows",
            "notes/today.md",
            &format!("{continuation} goes on"),
        ],
    );
    // Outside text is revealed, also here.
    assert!(!shown.contains('\u{202e}'));
    for (key, label) in [
        ("h ", "it happened"),
        ("R ", "run again"),
        ("u ", "give up"),
    ] {
        let line = shown
            .lines()
            .find(|line| line.contains(&format!("{label}:")))
            .unwrap();
        assert!(
            line.trim_start_matches(['│', ' ']).starts_with(key),
            "{line}"
        );
    }
}

#[test]
fn a_delivery_shows_its_whole_text_and_three_answers() {
    let text = format!("{} the end of it", "word ".repeat(100));
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.kind = ApprovalKind::Resend;
    approval.tool.clear();
    approval.args = serde_json::Value::Null;
    approval.preview = Preview::Text {
        text: text.chars().take(200).collect(),
    };
    approval.offered = vec![
        DecisionKind::Sent,
        DecisionKind::SendAgain,
        DecisionKind::Drop,
    ];
    approval.unknown = Some(Box::new(unknown(Some(UnknownDelivery {
        id: OutboxId::from_bytes([9; 16]),
        class: OutboxClass::Final,
        part: 1,
        parts: 3,
        text,
    }))));
    let shown = frame(approval, 60);
    if let Some(dir) = option_env!("LEVERFRAME_FRAMES") {
        std::fs::write(format!("{dir}/unknown_delivery.txt"), &shown).unwrap();
    }
    has(
        &shown,
        &[
            "Text that was being sent",
            "the end of it",
            "1 of 3 · final",
            "it arrived: it counts as sent",
            "send again: it is sent once more",
            "drop: it is never sent again",
        ],
    );
    assert!(!shown.contains("Text that would be sent"), "{shown}");
}
