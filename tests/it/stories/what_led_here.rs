//! An approval tells the messages that led to it and the calls before it, over HTTP and on the command line.

use serde_json::json;

use crate::stories::bot::{WRITE, cli};
use crate::support::daemon::Home;

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_tells_the_last_messages_and_the_calls_before() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let long = format!("SAY:{} end", "word ".repeat(200));
    let first = daemon.send(&session, "SAY:the first answer").await;
    daemon.wait_state(&first, "completed").await;
    let second = daemon.send(&session, &long).await;
    daemon.wait_state(&second, "completed").await;
    let turn = daemon.send(&session, WRITE).await;
    let asked = daemon.wait_approval().await;
    let messages = asked["messages"].as_array().unwrap();
    let senders: Vec<bool> = messages.iter().map(|m| m["sender"].is_string()).collect();
    assert_eq!(senders, [true, false, true], "{asked:#}");
    assert_eq!(messages[2]["text"], WRITE);
    let answer = messages[1]["text"].as_str().unwrap();
    assert!(
        answer.chars().count() == 401 && answer.ends_with('…'),
        "{answer}"
    );
    assert_eq!(asked["similar"], json!([]));

    let id = asked["id"].as_str().unwrap();
    let (shown, card) = cli(&home, &["approvals", "show", id]).await;
    assert!(shown, "{card}");
    let mut at = 0;
    for part in [
        "Creates note.txt with 1 line.",
        "creates a file in the workspace",
        "before    the bot: ",
        "+hi",
        "asked by",
    ] {
        let found = card[at..].find(part);
        assert!(found.is_some(), "{part} is missing or too early:\n{card}");
        at += found.unwrap_or_default();
    }
    assert!(!card.contains("\narguments"), "the diff shows it:\n{card}");

    assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
    daemon.wait_state(&turn, "completed").await;
    daemon.send(&session, WRITE).await;
    let again = daemon.wait_approval().await;
    assert_eq!(again["similar"][0]["decision"], "deny", "{again:#}");
    assert_eq!(again["similar"].as_array().unwrap().len(), 1, "{again:#}");
}
