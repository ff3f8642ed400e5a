//! Somebody who asks for access, as the operator sees them.

use leverframe::protocol::approval::{Approval, Preview, Requester};
use leverframe::protocol::enums::{Access, ApprovalKind, DecisionKind, Effect, Risk};
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::policy::Verdict;
use leverframe::protocol::request::{Command, Decide};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::Effect as Deed;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::{NOW, approval, busy};
use crate::console_frames::screens::{check, check_at};

/// What the engine asks about a stranger, whose name wants to be a screen's.
fn stranger() -> Approval {
    let plain = approval(5, Risk::High);
    Approval {
        kind: ApprovalKind::Pairing,
        tool: String::new(),
        args: serde_json::Value::Null,
        access: Access::Unknown,
        effect: Effect::NonIdempotent,
        risk_reasons: Vec::new(),
        preview: Preview::None,
        model_reason: None,
        conversation: "999".into(),
        requester: Requester {
            id: "telegram:999".into(),
            display: "Mallory\u{1b}[2J\u{202e}gnp".into(),
            person: None,
        },
        session_id: None,
        continuation_id: None,
        verdict: Verdict {
            rule: "an unknown sender asks for access".into(),
            policy_version: 0,
            ..plain.verdict.clone()
        },
        offered: vec![
            DecisionKind::Approve,
            DecisionKind::Deny,
            DecisionKind::Snooze,
        ],
        expires_at: Some(NOW.plus_seconds(3000)),
        similar: Vec::new(),
        messages: Vec::new(),
        question: Some(
            "telegram:999 wrote to `telegram` and is not on its list. With access they talk to the agent as a user, and \
             decide nothing. Their name can be anybody's: compare the code they were told, or ask them."
                .into(),
        ),
        ..plain
    }
}

fn asked() -> Snapshot {
    let mut world = busy();
    world.approvals = vec![stranger()];
    for channel in &mut world.channels {
        if channel.name == "telegram" {
            (channel.asking, channel.paired) = (1, 4);
        }
    }
    world
}

#[test]
fn queue_pairing() {
    let card = |w, h| {
        let mut driver = Driver::with(w, h, asked());
        driver.press("j enter");
        driver.wait(600);
        driver
    };
    check("queue_pairing", card);
    check_at("queue_pairing", &[(160, 45)], card);
}

#[test]
fn letting_somebody_in_is_confirmed() {
    let mut driver = Driver::with(120, 40, asked());
    driver.press("j enter G");
    driver.wait(600);
    let effects = driver.press("a");
    assert!(effects.is_empty(), "{effects:?}");
    driver.wait(800);
    let text = driver.text();
    assert!(text.contains("HIGH RISK: press the same key"), "{text}");
    driver.press("a");
    driver.wait(5_000);
    let sent: Vec<(ApprovalId, DecisionKind)> = driver
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Deed::Submit(Command::Decide(Decide {
                approval_id,
                decision,
            })) => Some((*approval_id, decision.decision)),
            _ => None,
        })
        .collect();
    assert_eq!(sent, [(stranger().id, DecisionKind::Approve)]);
    for (width, height) in [(80, 24), (120, 40)] {
        let mut driver = Driver::with(width, height, asked());
        driver.press("j enter");
        driver.wait(600);
        let text = driver.text();
        for shown in ["telegram:999", "K7Q2M5", "not on its list"] {
            assert!(text.contains(shown), "{shown}:\n{text}");
        }
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    }
}

#[test]
fn a_channel_says_how_many_ask_and_were_let_in() {
    for (width, height) in [(80, 24), (120, 40), (160, 45)] {
        let mut driver = Driver::with(width, height, asked());
        driver.press("4 j j");
        let text = driver.text();
        assert!(
            text.contains("1 ask for access, 4 have it"),
            "{width}x{height}:\n{text}"
        );
        let mut nobody = Driver::with(width, height, busy());
        nobody.press("4 j j");
        assert!(!nobody.text().contains("unknown senders"));
    }
}
