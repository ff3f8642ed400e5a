//! Which events a stream sends again: exactly those that are not documented as ephemeral.

use std::collections::BTreeSet;
use std::time::Instant;

use leverframe::api::events::{EPHEMERAL, KINDS};
use serde_json::json;

use crate::support::daemon::{DEADLINE, Home};

/// The frames of a stream until one of this kind came: (kind, whether it has an id).
async fn frames(response: &mut reqwest::Response, last: &str) -> BTreeSet<(String, bool)> {
    let deadline = Instant::now() + DEADLINE;
    let mut text = String::new();
    let end = format!("event: {last}\n");
    while !text.contains(&end) || !text.ends_with("\n\n") {
        assert!(Instant::now() < deadline, "no {last}: {text}");
        let piece = response.chunk().await.unwrap().expect("the stream goes on");
        text.push_str(&String::from_utf8_lossy(&piece));
    }
    let kind = |frame: &str| {
        let line = frame.lines().find_map(|line| line.strip_prefix("event:"));
        line.map(|kind| kind.trim().to_owned())
    };
    text.split("\n\n")
        .filter_map(|frame| {
            Some((
                kind(frame)?,
                frame.lines().any(|line| line.starts_with("id:")),
            ))
        })
        .collect()
}

#[tokio::test]
async fn what_carries_no_id_is_what_the_documents_call_ephemeral() {
    assert!(EPHEMERAL.iter().all(|kind| KINDS.contains(kind)));
    let home = Home::new("");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let mut stream = crate::support::daemon::client()
        .get(format!("{}/v1/events", daemon.base))
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    daemon.send(&session, "SAY:hello").await;
    let mut seen = frames(&mut stream, "continuation.completed").await;
    daemon.post("/v1/emergency-stop", json!({})).await;
    seen.extend(frames(&mut stream, "engine.state").await);
    for (kind, numbered) in &seen {
        let ephemeral = EPHEMERAL.contains(&kind.as_str());
        assert_eq!(ephemeral, !numbered, "{kind}");
    }
    for kind in ["model.started", "continuation.streaming", "engine.state"] {
        assert!(seen.contains(&(kind.to_owned(), false)), "{kind}: {seen:?}");
    }
    assert!(seen.contains(&("continuation.completed".to_owned(), true)));
    let document = daemon.get("/openapi.json").await;
    let described = &document["paths"]["/v1/events"]["get"]["responses"]["200"];
    assert_eq!(described["x-leverframe-ephemeral"], json!(EPHEMERAL));
    assert!(daemon.terminate().success());
}
