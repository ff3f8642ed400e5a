//! Updates come in once, in order, and are confirmed only when they are durable.

use leverframe::channels::channel::ChannelError;
use leverframe::protocol::bridge::InboundBody;
use leverframe::protocol::enums::ChannelState;
use leverframe::protocol::slash::SlashCommand;
use serde_json::json;

use crate::support::fake_telegram::{FakeTelegram, Fault, TOKEN};
use crate::telegram::port::{TestPort, ada, bridge_at, connected, options, run};

#[tokio::test]
async fn introduces_itself_without_dropping_what_waits() {
    let (fake, port, running) = connected().await;
    port.wait_until("connected", |ledger| {
        ledger
            .last_health()
            .is_some_and(|health| health.state == ChannelState::Connected)
    })
    .await;
    let methods: Vec<String> = fake
        .ledger()
        .iter()
        .map(|entry| entry.method.clone())
        .collect();
    assert_eq!(methods, ["getMe", "deleteWebhook", "setMyCommands"]);
    assert_eq!(
        fake.calls("deleteWebhook")[0].params["drop_pending_updates"],
        json!(false)
    );
    assert_eq!(fake.state().commands.len(), SlashCommand::ALL.len());
    assert_eq!(
        fake.state().allowed.as_deref().unwrap_or_default(),
        [
            "message",
            "edited_message",
            "callback_query",
            "my_chat_member"
        ]
    );
    assert_eq!(
        port.ledger()
            .health
            .last()
            .and_then(|(_, account)| account.clone())
            .as_deref(),
        Some("@lever_test_bot")
    );
    assert_eq!(
        port.ledger()
            .capabilities
            .as_ref()
            .map(|can| can.max_length),
        Some(4000)
    );
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn confirms_an_update_only_after_it_is_stored() {
    let (fake, port, running) = connected().await;
    port.change(|ledger| ledger.ingest_script = "fail".to_owned());
    fake.user_says(4242, &ada(), "one");
    fake.user_says(4242, &ada(), "two");
    port.wait_until("both stored", |ledger| ledger.texts() == ["one", "two"])
        .await;
    fake.wait_until("both confirmed", |state| state.pending.is_empty())
        .await;
    let polls = fake.calls("getUpdates");
    // The poll after the failed one asks for the same updates: nothing was confirmed by it.
    let offsets: Vec<Option<i64>> = polls
        .iter()
        .map(|poll| {
            poll.params
                .get("offset")
                .and_then(serde_json::Value::as_i64)
        })
        .collect();
    assert_eq!(offsets[0], offsets[1], "{offsets:?}");
    assert_eq!(port.ledger().inbox.len(), 2);
    assert!(port.ledger().health.iter().any(|(health, _)| {
        health.state == ChannelState::Degraded
            && health
                .detail
                .as_deref()
                .is_some_and(|detail| detail.contains("cannot be stored"))
    }));
    running.stop().await;
}

#[tokio::test]
async fn a_failure_in_the_middle_confirms_only_what_came_before_it() {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    let first = fake.change(|state| state.next_update);
    for text in ["a", "b", "c"] {
        fake.user_says(4242, &ada(), text);
    }
    port.change(|ledger| ledger.ingest_script = "ok fail".to_owned());
    let running = run(bridge_at(fake.url(), TOKEN, options()), &port);
    port.wait_until("all", |ledger| ledger.texts() == ["a", "b", "c"])
        .await;
    fake.wait_until("confirmed", |state| state.pending.is_empty())
        .await;
    assert_eq!(
        fake.calls("getUpdates")[1].params["offset"],
        json!(first + 1),
        "the poll after the failure confirms the first and asks again for the rest"
    );
    assert_eq!(port.ledger().repeated, 0);
    running.stop().await;
}

#[tokio::test]
async fn an_item_that_is_refused_as_invalid_blocks_nothing_behind_it() {
    let (fake, port, running) = connected().await;
    port.change(|ledger| ledger.ingest_script = "invalid".to_owned());
    fake.user_says(4242, &ada(), "strange");
    fake.user_says(4242, &ada(), "plain");
    port.wait_until("the one behind", |ledger| ledger.texts() == ["plain"])
        .await;
    let recorded = port.ledger().inbox[0].body.clone();
    assert!(
        matches!(&recorded, InboundBody::Other { what } if what.contains("could not be stored"))
    );
    running.stop().await;
}

#[tokio::test]
async fn a_kill_between_storing_and_confirming_loses_and_doubles_nothing() {
    // With the cursor as it was stored, and with one from before (a crash of an engine that stores
    // it late, or a restore): both ways every message is there once.
    for cursor_is_kept in [true, false] {
        let (fake, port, running) = connected().await;
        port.change(|ledger| ledger.ingest_script = "store-and-hang".to_owned());
        fake.user_says(4242, &ada(), "before");
        port.wait_until("stored", |ledger| ledger.texts() == ["before"])
            .await;
        assert_eq!(fake.state().pending.len(), 1, "stored is not confirmed yet");
        running.kill().await;
        fake.user_says(4242, &ada(), "while away");
        port.change(|ledger| {
            if !cursor_is_kept {
                ledger.cursor = None;
            }
        });
        let running = run(bridge_at(fake.url(), TOKEN, options()), &port);
        port.wait_until("the rest", |ledger| ledger.inbox.len() == 2)
            .await;
        fake.wait_until("confirmed", |state| state.pending.is_empty())
            .await;
        assert_eq!(port.ledger().texts(), ["before", "while away"]);
        assert_eq!(port.ledger().repeated, u32::from(!cursor_is_kept));
        running.stop().await;
    }
}

#[tokio::test]
async fn the_same_message_under_two_update_ids_is_one_item() {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    fake.user_says(4242, &ada(), "once");
    fake.repeat_last();
    let running = run(bridge_at(fake.url(), TOKEN, options()), &port);
    fake.wait_until("both confirmed", |state| {
        state.poll > 1 && state.pending.is_empty()
    })
    .await;
    assert_eq!(port.ledger().texts(), ["once"]);
    assert_eq!(port.ledger().repeated, 1);
    running.stop().await;
}

#[tokio::test]
async fn resumes_from_the_saved_cursor() {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    port.change(|ledger| ledger.cursor = Some("123456789:700000001".to_owned()));
    let running = run(bridge_at(fake.url(), TOKEN, options()), &port);
    fake.user_says(4242, &ada(), "hello");
    port.wait_until("stored", |ledger| ledger.texts() == ["hello"])
        .await;
    assert_eq!(
        fake.calls("getUpdates")[0].params["offset"],
        json!(700_000_001)
    );
    running.stop().await;
}

#[tokio::test]
async fn ids_that_start_anew_after_a_quiet_week_are_followed() {
    let (fake, port, running) = connected().await;
    fake.user_says(4242, &ada(), "high");
    port.wait_until("stored", |ledger| ledger.texts() == ["high"])
        .await;
    fake.wait_until("confirmed", |state| state.pending.is_empty())
        .await;
    fake.change(|state| state.next_update = 5_000);
    fake.user_says(4242, &ada(), "low");
    port.wait_until("stored too", |ledger| ledger.texts() == ["high", "low"])
        .await;
    fake.wait_until("confirmed", |state| state.pending.is_empty())
        .await;
    assert_eq!(port.ledger().cursor.as_deref(), Some("123456789:5001"));
    running.stop().await;
}

#[tokio::test]
async fn an_update_of_an_unknown_shape_stops_nothing() {
    let (fake, port, running) = connected().await;
    fake.raw_update(json!({ "x_brand_new": { "deep": [1, {"a": null}] } }));
    fake.raw_update(json!({ "message": "not even an object" }));
    fake.raw_update(json!({ "message": { "message_id": "seven", "chat": 3 } }));
    fake.raw_update(json!({ "callback_query": { "from": {} } }));
    fake.user_says(4242, &ada(), "still here");
    port.wait_until("the text behind them", |ledger| {
        ledger.texts() == ["still here"]
    })
    .await;
    fake.wait_until("all confirmed", |state| state.pending.is_empty())
        .await;
    let bodies: Vec<InboundBody> = port
        .ledger()
        .inbox
        .iter()
        .map(|inbound| inbound.body.clone())
        .collect();
    assert_eq!(bodies.len(), 5);
    assert!(matches!(&bodies[0], InboundBody::Other { what } if what.contains("x_brand_new")));
    running.stop().await;
}

#[tokio::test]
async fn another_poller_is_named_after_a_few_conflicts() {
    let (fake, port, running) = connected().await;
    for _ in 0..6 {
        fake.fault("getUpdates", Fault::Conflict);
    }
    // The poll that waits now is ended by a newer one, as an intruder would.
    fake.change(|state| state.poll += 1);
    port.wait_until("the words", |ledger| {
        ledger.health.iter().any(|(health, _)| {
            health.state == ChannelState::Degraded
                && health.detail.as_deref().is_some_and(|detail| {
                    detail.contains("another instance is polling with this token")
                })
        })
    })
    .await;
    let first = port
        .ledger()
        .health
        .iter()
        .find(|(health, _)| health.state == ChannelState::Degraded)
        .and_then(|(health, _)| health.detail.clone());
    assert!(
        first.is_some_and(|detail| detail.contains("trying again")),
        "the first conflicts mean nothing"
    );
    // It goes on trying, and recovers by itself.
    fake.user_says(4242, &ada(), "after");
    port.wait_until("recovered", |ledger| {
        ledger.texts() == ["after"]
            && ledger
                .last_health()
                .is_some_and(|health| health.state == ChannelState::Connected)
    })
    .await;
    running.stop().await;
}

#[tokio::test]
async fn a_webhook_set_meanwhile_is_removed() {
    let (fake, port, running) = connected().await;
    fake.change(|state| {
        state.webhook = Some("https://elsewhere.example".to_owned());
        state.poll += 1;
    });
    fake.user_says(4242, &ada(), "hello");
    port.wait_until("stored", |ledger| ledger.texts() == ["hello"])
        .await;
    assert!(fake.state().webhook.is_none());
    running.stop().await;
}

#[tokio::test]
async fn a_rate_limited_poll_waits_as_asked() {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    fake.fault("getUpdates", Fault::TooMany(1));
    let running = run(bridge_at(fake.url(), TOKEN, options()), &port);
    fake.user_says(4242, &ada(), "hello");
    port.wait_until("stored", |ledger| ledger.texts() == ["hello"])
        .await;
    let polls = fake.calls("getUpdates");
    assert!(polls[1].at - polls[0].at >= std::time::Duration::from_secs(1));
    assert!(
        port.ledger()
            .health
            .iter()
            .any(|(health, _)| health.rate_limited_until.is_some())
    );
    running.stop().await;
}

#[tokio::test]
async fn server_errors_and_cut_answers_are_transient_and_confirm_nothing() {
    for fault in [
        Fault::Server(502),
        Fault::ResetBefore,
        Fault::ResetAfter,
        Fault::CutBody,
        Fault::NotJson,
    ] {
        let fake = FakeTelegram::start();
        let port = TestPort::new();
        fake.user_says(4242, &ada(), "hello");
        fake.fault("getUpdates", fault.clone());
        let running = run(bridge_at(fake.url(), TOKEN, options()), &port);
        let error = running.error().await;
        assert!(
            matches!(error, ChannelError::Transient { .. }),
            "{fault:?}: {error}"
        );
        assert_eq!(fake.state().pending.len(), 1, "{fault:?}");
        let again = run(bridge_at(fake.url(), TOKEN, options()), &port);
        port.wait_until("stored", |ledger| ledger.texts() == ["hello"])
            .await;
        again.stop().await;
    }
}

#[tokio::test]
async fn a_wrong_token_is_fatal_and_says_where_to_look_and_never_shows() {
    let fake = FakeTelegram::start();
    for token in [
        "123456789:AAnotTheRightOneAtAllButSecretToo",
        "nocolonatall",
        "../../etc",
        "",
    ] {
        let port = TestPort::new();
        let error = run(bridge_at(fake.url(), token, options()), &port)
            .error()
            .await;
        let ChannelError::Fatal { detail, fix } = &error else {
            panic!("{token}: {error:?}");
        };
        assert!(fix.contains("@BotFather"), "{fix}");
        assert!(token.len() < 3 || !format!("{detail} {fix} {error:?}").contains(token));
    }
}

#[tokio::test]
async fn an_unreachable_server_is_transient_and_the_token_never_shows() {
    let fake = FakeTelegram::start();
    let url = fake.url().to_owned();
    drop(fake);
    let port = TestPort::new();
    let error = run(bridge_at(&url, TOKEN, options()), &port).error().await;
    assert!(matches!(error, ChannelError::Transient { .. }));
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("MustNeverShow"), "{shown}");
    assert!(!shown.contains("/bot"), "{shown}");
}

#[tokio::test]
async fn a_click_carries_the_acting_user_and_is_answered_with_the_feedback() {
    use crate::telegram::port::{approval, buttons, mallory};
    use leverframe::protocol::bridge::OutboundBody;
    use leverframe::protocol::enums::OutboxClass;

    let (fake, port, running) = connected().await;
    fake.change(|state| state.know_chat(-500));
    port.change(|ledger| ledger.feedback = Some("x".repeat(300)));
    let id = port.send(
        "-500",
        OutboxClass::ApprovalCard,
        OutboundBody::Card {
            approval: Box::new(approval()),
            buttons: buttons(),
        },
    );
    port.outcome(id).await;
    let card = fake.messages(-500)[0].message_id;
    fake.user_clicks(-500, card, "Approve", &mallory());
    fake.user_clicks(-500, card, "Deny", &ada());
    port.wait_until("both clicks", |ledger| ledger.inbox.len() == 2)
        .await;
    {
        let ledger = port.ledger();
        let seen: Vec<(String, String)> = ledger
            .inbox
            .iter()
            .map(|inbound| {
                let InboundBody::Click { token } = &inbound.body else {
                    panic!("{inbound:?}")
                };
                assert!(inbound.dedupe_key.starts_with("123456789:cb:"));
                assert_eq!(inbound.conversation, "-500");
                assert_eq!(
                    inbound.message_ref.as_deref(),
                    Some(card.to_string().as_str())
                );
                (inbound.sender.as_ref().unwrap().id.clone(), token.clone())
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("6666".to_owned(), "t0kenApprove".to_owned()),
                ("4242".to_owned(), "t0kenDeny".to_owned())
            ]
        );
    }
    fake.wait_until("both answered", |state| state.open_callbacks.is_empty())
        .await;
    let answers = fake.calls("answerCallbackQuery");
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0].params["text"].as_str().map(str::len), Some(200));
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_click_too_old_to_acknowledge_is_taken_all_the_same() {
    let (fake, port, running) = connected().await;
    fake.raw_update(json!({ "callback_query": {
        "id": "77", "from": ada().json(), "data": "tok", "chat_instance": "1",
        "message": { "chat": {"id": 4242, "type": "private"}, "message_id": 9, "date": 0 } } }));
    port.wait_until("the click", |ledger| ledger.inbox.len() == 1)
        .await;
    fake.wait_until("the refused answer", |state| {
        state
            .ledger
            .iter()
            .any(|entry| entry.method == "answerCallbackQuery" && !entry.accepted)
    })
    .await;
    fake.user_says(4242, &ada(), "and on");
    port.wait_until("the next", |ledger| ledger.texts() == ["and on"])
        .await;
    running.stop().await;
}
