//! The token is nowhere but in requests and in what opens a session: not in logs of any level, health or outcomes.

use crate::discord::world::{CHANNEL, DIRECT, ada, bridge_at, run, start};
use crate::support::fake_discord::{Fault, Order, TOKEN};
use crate::support::log_capture::LogCapture;
use crate::telegram::port::TestPort;

#[tokio::test]
async fn no_log_line_health_report_or_outcome_holds_the_token() {
    let logs = LogCapture::start();
    let mut seen = Vec::new();
    for (fault, order) in [
        (Fault::Server(502), Order::Close(4_000)),
        (Fault::ResetBefore, Order::Drop),
        (Fault::CutBody, Order::Close(4_009)),
        (Fault::NotJson, Order::Invalidate),
        (Fault::TooMany(0.1, false), Order::Close(4_014)),
        // A server that quotes the request back.
        (
            Fault::Refuse(401, 0, format!("no such token: Bot {TOKEN}")),
            Order::Close(4_004),
        ),
    ] {
        let fake = start();
        fake.change(|state| state.shards = 2);
        let port = TestPort::new();
        for route in ["send", "callback", "typing", "commands"] {
            fake.fault(route, fault.clone());
        }
        let running = run(bridge_at(&fake, TOKEN), &port);
        port.show_typing(&CHANNEL.to_string());
        let part = port.say(&CHANNEL.to_string(), "hello");
        let outcome = port.outcome(part).await;
        port.wait_until("a session", |ledger| !ledger.inbox.is_empty())
            .await;
        fake.user_commands(DIRECT, &ada(), "status", "");
        fake.wait_until("its answer", |state| {
            state.ledger.iter().any(|call| call.route == "callback")
        })
        .await;
        fake.order(order);
        let error = running.error().await;
        let ledger = port.ledger();
        seen.push(format!(
            "{outcome:?} {error:?} {error} {:?} {:?}",
            ledger.health, ledger.inbox
        ));
    }
    let log = logs.text();
    assert!(log.contains("recommends 2 shards"), "the operator is told");
    let secret = TOKEN.rsplit_once('.').unwrap().1;
    for text in [log, seen.concat()] {
        assert!(
            !text.contains("interaction-token-"),
            "the token of an interaction"
        );
        let at = text.find(secret);
        assert!(
            at.is_none(),
            "{:?}",
            at.map(|at| &text[at.saturating_sub(200)..at])
        );
    }
}
