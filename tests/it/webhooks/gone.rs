//! A caller that goes away while its request waits.

use std::time::Duration;

use serde_json::Value;

use crate::webhooks::world::{home, message, say, start};

/// The parts of a class that the queue has, if they are so.
fn of_class(outbox: &Value, class: &str, is_so: impl Fn(&Value) -> bool) -> bool {
    let parts = outbox["items"].as_array().into_iter().flatten();
    let mut parts = parts.filter(|part| part["class"] == class);
    parts.any(is_so)
}

#[tokio::test]
async fn what_a_caller_did_not_get_is_not_sent_and_the_next_request_gets_it() {
    let home = home(
        "senders = \"authenticated\"\n\n[people.ada]\nids = [\"webhook/shop:ada\"]\nrole = \"owner\"\n\n\
         [approvals]\nself_approval = \"always\"",
    );
    let daemon = start(&home, &[]).await;
    let call = message("m1", "TOOL:execute_command{\"argv\":[\"true\"]}\nSAY:done");
    {
        // It goes away with the card, long before its time is over.
        let asking = say(&daemon, &call, Some(120));
        let carded = daemon.wait("/v1/outbox?limit=50", "a card for the caller", |all| {
            of_class(all, "approval_card", |part| part["state"] == "sent")
        });
        tokio::select! {
            (status, answer) = asking => panic!("{status} {answer:#}"),
            _ = carded => {}
        }
    }
    let approval = daemon.wait_approval().await;
    let (status, answer) = daemon.decide(&approval, "deny").await;
    assert!((200..300).contains(&status), "{answer:#}");
    let all = daemon
        .wait("/v1/outbox?limit=50", "an update that nobody gets", |all| {
            of_class(all, "card_update", |part| {
                part["state"] == "sent" || part["last_error"].is_string()
            })
        })
        .await;
    assert!(
        !of_class(&all, "card_update", |part| part["state"] == "sent"),
        "{all:#}"
    );

    let asked = tokio::time::timeout(Duration::from_secs(60), say(&daemon, &call, Some(15)));
    let (status, answer) = asked.await.expect("an answer");
    assert_eq!(status, 200, "{answer:#}");
    let messages = answer["messages"].as_array().unwrap();
    for kind in ["card", "card_update", "reply"] {
        assert!(
            messages.iter().any(|message| message["type"] == kind),
            "no {kind}: {answer:#}"
        );
    }
}
