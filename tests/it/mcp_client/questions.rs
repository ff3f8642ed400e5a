//! What servers ask in the midst of a call, in both eras.

use leverframe::tools::tool::EffectDisposition::Unknown;
use serde_json::{Value, json};

use crate::mcp_client::world::{Scripted, none};

#[tokio::test]
async fn a_person_answers_field_by_field() {
    for era in ["legacy", "modern"] {
        let server = Scripted::new(&[era]).answering(&["Ada", "yes"]);
        let said = server.said("ask", none()).await;
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
        assert_eq!(
            said["answer"],
            json!({"action": "accept", "content": {"name": "Ada", "sure": true}}),
            "{era}"
        );
        if era == "modern" {
            // Byte for byte as it came.
            assert_eq!(said["state"], "a state\u{e9} \"of\" mine");
        }
        let asked = server.person.asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0].0, "the tool server odd");
        assert_eq!(asked[0].1, "Who are you?\nname");
        assert_eq!(asked[1].2, ["yes", "no"]);
    }
}

#[tokio::test]
async fn nobody_answers_for_a_person_who_is_not_there() {
    for era in ["legacy", "modern"] {
        let server = Scripted::new(&[era]);
        let said = server.said("ask", none()).await;
        assert!(said.contains("\"decline\""), "{era}: {said}");
        assert!(said.contains("nobody is here"), "{era}: {said}");
    }
}

#[tokio::test]
async fn secrets_and_addresses_are_never_asked_for() {
    for era in ["legacy", "modern"] {
        let server = Scripted::new(&[era]).answering(&["x", "x"]);
        let secret = server.said("ask_secret", none()).await;
        assert!(
            secret.contains("\"decline\"") && secret.contains("api_token"),
            "{secret}"
        );
        let address = server.said("ask_url", none()).await;
        assert!(address.contains("\"decline\""), "{address}");
        assert!(address.contains("javascript:alert(1)"), "{address}");
        assert!(server.person.asked.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn questions_without_end_end() {
    let server = Scripted::new(&["modern"]).answering(&["a", "b", "c", "d", "e", "f", "g", "h"]);
    let called = server.call("ask_forever", none()).await;
    assert!(called.outcome.content.contains("5 rounds"), "{called:?}");
    assert_eq!(called.outcome.disposition, Unknown);
}

#[tokio::test]
async fn a_state_is_carried_up_to_a_size() {
    let server = Scripted::new(&["modern"]);
    assert_eq!(
        server.said("carry", json!({"bytes": 1000})).await,
        "1000 carried"
    );
    let said = server.said("carry", json!({"bytes": 5_000_000})).await;
    assert!(said.contains("65536 are the most"), "{said}");
}

#[tokio::test]
async fn a_refusal_after_a_question_says_nothing_of_what_was_done_before_it() {
    let server = Scripted::new(&["modern"]).answering(&["Ada"]);
    let called = server.call("ask_refuse", none()).await;
    assert!(
        called.outcome.content.contains("no such answer"),
        "{called:?}"
    );
    assert_eq!(called.outcome.disposition, Unknown);
}
