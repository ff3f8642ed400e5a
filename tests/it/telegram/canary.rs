//! The token is nowhere but in the path of requests: not in logs of any level, health or outcomes.

use crate::support::fake_telegram::{FakeTelegram, Fault, TOKEN};
use crate::support::log_capture::LogCapture;
use crate::telegram::port::{TestPort, ada, bridge_at, options, run};

#[tokio::test]
async fn no_log_line_health_report_or_outcome_holds_the_token() {
    let logs = LogCapture::start();
    let mut seen = Vec::new();
    for fault in [
        Fault::Server(502),
        Fault::ResetBefore,
        Fault::ResetAfter,
        Fault::CutBody,
        Fault::NotJson,
        Fault::TooMany(1),
        Fault::Conflict,
        // A server that quotes the request back.
        Fault::Refuse(400, format!("Bad Request: no such path /bot{TOKEN}/x")),
        Fault::Refuse(401, format!("Unauthorized: {TOKEN}")),
    ] {
        let fake = FakeTelegram::start();
        let port = TestPort::new();
        fake.change(|state| state.know_chat(4242));
        for method in ["sendMessage", "answerCallbackQuery", "sendChatAction"] {
            fake.fault(method, fault.clone());
        }
        let running = run(bridge_at(fake.url(), TOKEN, options()), &port);
        port.show_typing("4242");
        let part = port.say("4242", "hello");
        let outcome = port.outcome(part).await;
        fake.raw_update(serde_json::json!({ "callback_query": { "id": "1", "data": "x" } }));
        fake.wait_until("the click's answer", |state| {
            state
                .faults
                .get("answerCallbackQuery")
                .is_none_or(std::collections::VecDeque::is_empty)
        })
        .await;
        fake.fault("getUpdates", fault.clone());
        fake.user_says(4242, &ada(), "hi");
        fake.wait_until("the bad poll", |state| {
            state.faults["getUpdates"].is_empty()
        })
        .await;
        running.stop.cancel();
        let ended = running.task.await.unwrap();
        let health = format!("{:?}", port.ledger().health);
        seen.push(format!("{outcome:?} {ended:?} {health}"));
    }
    let dead = FakeTelegram::start();
    let url = dead.url().to_owned();
    drop(dead);
    let error = run(bridge_at(&url, TOKEN, options()), &TestPort::new())
        .error()
        .await;
    seen.push(format!("{error:?} {error}"));
    let log = logs.text();
    let secret = TOKEN.split_once(':').unwrap().1;
    for text in [log, seen.concat()] {
        let at = text.find(secret);
        assert!(
            at.is_none(),
            "{:?}",
            at.map(|at| &text[at.saturating_sub(200)..at])
        );
    }
}
