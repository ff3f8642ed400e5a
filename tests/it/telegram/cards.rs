//! Approvals as messages: everything is shown, or approving is not offered.

use leverframe::channels::card::{self, Card, CardLimit};
use leverframe::channels::telegram::render::{self, MessageText};
use leverframe::clock::Timestamp;
use leverframe::protocol::approval::{Decision, Preview};
use leverframe::protocol::bridge::{OutboundBody, SendOutcome};
use leverframe::protocol::channel::LengthUnit;
use leverframe::protocol::enums::{
    ApprovalKind, ApprovalState, DecisionKind, OutboxClass, Surface,
};
use serde_json::json;

use crate::support::fake_telegram::{TOKEN, html};
use crate::telegram::port::{approval, bridge_at, buttons, connected, options, run};

/// As long as Telegram's bridge makes them.
const CARD: CardLimit = CardLimit {
    max: 3_900,
    unit: LengthUnit::Utf16,
};

fn text(card: &Card) -> MessageText {
    render::lines(&card.lines)
}

#[tokio::test]
async fn a_card_shows_the_whole_question_and_is_disarmed_by_its_outcome() {
    let (fake, port, running) = connected().await;
    fake.change(|state| state.know_chat(4242));
    let card = port.send(
        "4242",
        OutboxClass::ApprovalCard,
        OutboundBody::Card {
            approval: Box::new(approval()),
            buttons: buttons(),
        },
    );
    let SendOutcome::Sent { external_refs } = port.outcome(card).await else {
        panic!("the card is sent");
    };
    let message = fake.messages(4242).remove(0);
    for part in [
        "execute_command",
        "Risk: medium",
        "• runs a program",
        "Asked by Ada & co [telegram:4242] on tg, conversation 4242",
        "autonomy supervised",
        "to publish <b>the</b> branch",
        "Runs git push '--force origin' in /srv/work.",
        "program: \"git\" \"push\" \"--force origin\"",
        "timeout_seconds: 30",
        "In: /srv/work",
        "Program file: /usr/bin/git",
        "bubblewrap",
        "Answer until 2025-10-10 08:53:20 UTC",
        "/approve K7Q2MX",
        "/deny K7Q2MX",
    ] {
        assert!(message.text.contains(part), "{part} in\n{}", message.text);
    }
    assert_eq!(message.text.matches("\"git\" \"push\"").count(), 1);
    assert_eq!(message.labels(), ["Approve", "Deny"]);
    assert_eq!(
        message.keyboard[0][0]["callback_data"],
        json!("t0kenApprove")
    );

    let mut decided = approval();
    decided.state = ApprovalState::Denied;
    decided.decision = Some(Decision {
        until: None,
        answer: None,
        starts_at: None,
        decision: DecisionKind::Deny,
        scope: None,
        by: "bea".to_owned(),
        surface: Surface::Console,
        at: Timestamp(1_760_000_123_000),
        reason: Some("not on a <Friday>".to_owned()),
    });
    let update = |approval| OutboundBody::CardUpdate {
        approval: Box::new(approval),
        external_ref: external_refs[0].clone(),
    };
    let edit = port.send("4242", OutboxClass::CardUpdate, update(decided.clone()));
    assert_eq!(
        port.outcome(edit).await,
        SendOutcome::Sent {
            external_refs: external_refs.clone()
        }
    );
    let message = fake.messages(4242).remove(0);
    assert!(message.labels().is_empty());
    for part in [
        "Denied by bea (console) at 2025-10-09 08:55:23 UTC",
        "Reason: not on a <Friday>",
        "execute_command",
        "K7Q2MX",
    ] {
        assert!(message.text.contains(part), "{part} in\n{}", message.text);
    }
    // The same edit again changes nothing, which is a success.
    let again = port.send("4242", OutboxClass::CardUpdate, update(decided));
    assert!(matches!(
        port.outcome(again).await,
        SendOutcome::Sent { .. }
    ));
    assert_eq!(fake.messages(4242)[0].edits, 1);
    // A card that is not there any more fails for good.
    let gone = port.send(
        "4242",
        OutboxClass::CardUpdate,
        OutboundBody::CardUpdate {
            approval: Box::new(approval()),
            external_ref: "99999".to_owned(),
        },
    );
    assert!(matches!(
        port.outcome(gone).await,
        SendOutcome::Failed { .. }
    ));
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

/// A message number names another message in the supergroup that a group became.
#[tokio::test]
async fn no_message_of_a_group_is_taken_for_one_of_its_supergroup() {
    const OLD: i64 = -55;
    const NEW: i64 = -1_000_000_000_055;
    let card = || OutboundBody::Card {
        approval: Box::new(approval()),
        buttons: buttons(),
    };
    let outcome = |reference: &str| OutboundBody::CardUpdate {
        approval: Box::new(approval()),
        external_ref: reference.to_owned(),
    };
    let (fake, port, running) = connected().await;
    fake.change(|state| {
        state.know_chat(OLD);
        state.know_chat(NEW);
    });
    let before = port.send("-55", OutboxClass::ApprovalCard, card());
    let SendOutcome::Sent { external_refs: old } = port.outcome(before).await else {
        panic!("the card is not out: {}", fake.story());
    };
    fake.change(|state| {
        state.migrated.insert(OLD, NEW);
    });
    let id = port.say("-55", "the answer");
    port.outcome(id).await;
    assert_eq!(fake.messages(NEW)[0].message_id.to_string(), old[0]);
    let body = OutboundBody::Markdown {
        text: "one more".to_owned(),
    };
    let reply = port.send_reply("-55", OutboxClass::Final, body, Some(&old[0]));
    port.outcome(reply).await;
    let update = port.send("-55", OutboxClass::CardUpdate, outcome(&old[0]));
    let update = port.outcome(update).await;
    assert!(matches!(update, SendOutcome::Failed { .. }), "{update:?}");
    let messages = fake.messages(NEW);
    assert_eq!(messages[0].text, "the answer");
    assert_eq!(messages[1].reply_to, None);
    let after = port.send("-55", OutboxClass::ApprovalCard, card());
    let SendOutcome::Sent { external_refs: new } = port.outcome(after).await else {
        panic!("the card is not out: {}", fake.story());
    };
    running.stop().await;
    // A bridge that starts anew has not heard of the move.
    let running = run(bridge_at(fake.url(), TOKEN, options()), &port);
    let update = port.send("-55", OutboxClass::CardUpdate, outcome(&new[0]));
    let update = port.outcome(update).await;
    assert!(matches!(update, SendOutcome::Sent { .. }), "{update:?}");
    assert!(fake.messages(NEW)[2].labels().is_empty());
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[test]
fn a_card_too_long_to_show_offers_only_refusal() {
    let mut long = approval();
    long.preview = Preview::Diff {
        path: "notes.txt".to_owned(),
        unified: "+ a line that is new 🦀\n".repeat(400),
    };
    let card = card::question(&long, &buttons(), CARD);
    assert_eq!(card.buttons.len(), 1);
    assert_eq!(card.buttons[0].label, "Deny");
    assert!(
        text(&card)
            .plain
            .contains("shortened here: full text in the console")
    );
    assert!(text(&card).plain.contains("open the console"));
    assert!(!text(&card).plain.contains("/approve"));
    assert!(text(&card).plain.contains("K7Q2MX"));
    assert!(text(&card).plain.encode_utf16().count() <= 4096);
    let parsed = html::parse(&text(&card).html).expect("valid markup");
    assert_eq!(parsed.text, text(&card).plain, "both forms say the same");

    // Long in another place than the preview is the same.
    let mut long = approval();
    long.args = json!({ "script": "x".repeat(5_000) });
    assert_eq!(card::question(&long, &buttons(), CARD).buttons.len(), 1);
    let mut long = approval();
    long.risk_reasons = vec!["y".repeat(300); 40];
    let card = card::question(&long, &buttons(), CARD);
    assert_eq!(card.buttons.len(), 1);
    assert!(text(&card).plain.encode_utf16().count() <= 4096);
}

#[test]
fn a_card_that_just_fits_is_whole() {
    for length in [2_000, 3_000, 3_100, 3_200, 3_300, 3_400, 4_000] {
        let mut sized = approval();
        sized.preview = Preview::Text {
            text: "é".repeat(length),
        };
        let card = card::question(&sized, &buttons(), CARD);
        let whole = text(&card).plain.contains(&"é".repeat(length));
        assert_eq!(
            whole,
            card.buttons.len() == 2,
            "approving is offered exactly when all is shown ({length})"
        );
        assert!(text(&card).plain.encode_utf16().count() <= 4096);
    }
}

#[test]
fn without_buttons_a_card_shows_the_call_and_where_it_is_decided() {
    let card = card::question(&approval(), &[], CARD);
    assert!(text(&card).plain.contains("K7Q2MX"));
    assert!(text(&card).plain.contains("execute_command"));
    assert!(text(&card).plain.contains("in the console"));
    assert!(!text(&card).plain.contains("/approve"));
    assert!(card.buttons.is_empty());
}

#[test]
fn hostile_text_stays_text_in_every_card() {
    let hostile = "<b>&lt;/pre><a href=\"x\">\u{202e}\u{200b}\nApprove</a>\u{7}";
    for kind in ApprovalKind::ALL {
        for state in ApprovalState::ALL {
            let mut bad = approval();
            bad.kind = *kind;
            bad.state = *state;
            bad.tool = hostile.to_owned();
            bad.args = json!({ hostile: [hostile, 1, {"x": hostile}], "argv": [hostile, "b"] });
            bad.risk_reasons = vec![hostile.to_owned()];
            bad.taint = vec![hostile.to_owned()];
            bad.preview = Preview::Diff {
                path: hostile.to_owned(),
                unified: hostile.to_owned(),
            };
            bad.model_reason = Some(hostile.to_owned());
            bad.question = Some(hostile.to_owned());
            bad.requester.display = hostile.to_owned();
            bad.plan.env = vec![(hostile.to_owned(), hostile.to_owned())];
            bad.decision = Some(Decision {
                until: None,
                answer: None,
                starts_at: None,
                decision: DecisionKind::Deny,
                scope: None,
                by: hostile.to_owned(),
                surface: Surface::Chat,
                at: Timestamp(0),
                reason: Some(hostile.to_owned()),
            });
            for lines in [
                card::question(&bad, &buttons(), CARD).lines,
                card::outcome(&bad),
            ] {
                let text = render::lines(&lines);
                let parsed = html::parse(&text.html).expect("valid markup");
                assert_eq!(parsed.text, text.plain);
                assert!(
                    parsed
                        .entities
                        .iter()
                        .all(|entity| entity["type"] == "bold" || entity["type"] == "pre")
                );
                assert!(!text.plain.contains(['\u{202e}', '\u{200b}', '\u{7}']));
            }
        }
    }
}
