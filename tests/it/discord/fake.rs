//! The fake is as strict as it claims, so that what passes here means something.

use std::sync::Arc;
use std::time::Duration;

use leverframe::channels::discord::api::{Api, Route};
use leverframe::channels::http::{CallError, HttpTimes};
use leverframe::channels::websocket::{Socket, SocketError, SocketMessage};
use leverframe::config::secret::Secret;
use serde_json::{Value, json};

use crate::discord::world::{CHANNEL, DIRECT, ada, start};
use crate::support::fake_discord::{FakeDiscord, TOKEN};

fn api(fake: &FakeDiscord) -> Api {
    let times = HttpTimes {
        connect: Duration::from_secs(5),
        request: Duration::from_secs(5),
        ..HttpTimes::default()
    };
    Api::new(&fake.api_base(), Secret::new(TOKEN), Arc::default(), times).unwrap()
}

async fn refused(api: &Api, body: Value) -> String {
    let route = Route::send(&CHANNEL.to_string());
    match api.call(&route, &body).await {
        Err(CallError::Refused { name, detail, .. }) => format!("{name} {detail}"),
        other => panic!("{body}: {other:?}"),
    }
}

#[tokio::test]
async fn wrong_messages_are_refused() {
    let fake = start();
    let api = api(&fake);
    let button = |id: String| json!({ "type": 2, "style": 1, "label": "b", "custom_id": id });
    let row = |buttons: Vec<Value>| json!({ "content": "x", "components": [{ "type": 1, "components": buttons }] });
    for (body, words) in [
        (json!({ "content": "x".repeat(2_001) }), "2000 or fewer"),
        (json!({ "content": " " }), "50006"),
        (
            json!({ "content": "x", "nonce": "n".repeat(26) }),
            "25 or fewer",
        ),
        (row(vec![button("i".repeat(101))]), "between 1 and 100"),
        (
            row((0..6).map(|n| button(n.to_string())).collect()),
            "between 1 and 5",
        ),
        (
            json!({ "content": "x", "flags": 1 << 15, "components": [{ "type": 10, "content": "y" }] }),
            "IS_COMPONENTS_V2",
        ),
        (
            json!({ "flags": 1 << 15, "components": [{ "type": 10, "content": "y".repeat(4_001) }] }),
            "4000",
        ),
        (
            json!({ "content": "x", "message_reference": { "message_id": "5" } }),
            "Unknown message",
        ),
    ] {
        let said = refused(&api, body).await;
        assert!(said.contains(words), "{said}");
    }
    assert!(fake.state().violations.is_empty());
    // Code points are counted, not units of UTF-16.
    let route = Route::send(&CHANNEL.to_string());
    assert!(
        api.call(&route, &json!({ "content": "🦀".repeat(2_000) }))
            .await
            .is_ok()
    );
    let _ = api
        .call(&route, &json!({ "content": "x", "text": "y" }))
        .await;
    assert_eq!(fake.state().violations.len(), 1);
    // A key counts once.
    let keyed = json!({ "content": "x", "nonce": "k", "enforce_nonce": true });
    let first = api.call(&route, &keyed).await.unwrap();
    assert_eq!(api.call(&route, &keyed).await.unwrap()["id"], first["id"]);
}

/// A connection of which nothing was read.
async fn connect(fake: &FakeDiscord) -> Socket {
    let url = fake.api_base().replace("http://", "ws://");
    let url = url.trim_end_matches("/api/v10");
    let url = format!("{url}/?v=10&encoding=json");
    Socket::connect(&url, Vec::new(), Duration::from_secs(5))
        .await
        .unwrap()
}

/// The next payload.
async fn next(socket: &mut Socket) -> Value {
    match socket.next().await {
        Ok(SocketMessage::Text(text)) => serde_json::from_str(&text).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The code that a payload is answered with.
async fn closed_after(fake: &FakeDiscord, payload: Value) -> u16 {
    let mut socket = connect(fake).await;
    assert_eq!(next(&mut socket).await["op"], 10);
    socket.send(payload.to_string()).await.unwrap();
    loop {
        match socket.next().await {
            Ok(_) => {}
            Err(SocketError::Closed { code, .. }) => return code.unwrap(),
            Err(other) => panic!("{other:?}"),
        }
    }
}

fn identify(token: &str, intents: u64) -> Value {
    json!({ "op": 2, "d": { "token": token, "intents": intents, "properties": { "os": "x" } } })
}

#[tokio::test]
async fn the_gateway_closes_with_the_codes_of_the_real_one() {
    let fake = start();
    assert_eq!(closed_after(&fake, identify("wrong", 1)).await, 4_004);
    assert_eq!(closed_after(&fake, identify(TOKEN, 1 << 40)).await, 4_013);
    assert_eq!(closed_after(&fake, json!({ "op": 77 })).await, 4_001);
    assert_eq!(closed_after(&fake, json!("x".repeat(5_000))).await, 4_002);
    assert_eq!(
        closed_after(&fake, json!({ "op": 3, "d": {} })).await,
        4_003
    );
    fake.change(|state| state.message_content = false);
    assert_eq!(closed_after(&fake, identify(TOKEN, 1 << 15)).await, 4_014);
}

#[tokio::test]
async fn what_was_acknowledged_does_not_come_again_and_the_rest_does() {
    let fake = start();
    let mut socket = connect(&fake).await;
    next(&mut socket).await;
    // No intent to read what people write in servers.
    socket
        .send(identify(TOKEN, 1 | 1 << 9 | 1 << 12).to_string())
        .await
        .unwrap();
    let ready = next(&mut socket).await;
    assert_eq!(
        (ready["t"].as_str(), ready["s"].as_u64()),
        (Some("READY"), Some(1))
    );
    assert_eq!(next(&mut socket).await["t"], "GUILD_CREATE");
    fake.user_says(CHANNEL, &ada(), "hidden");
    fake.user_says(DIRECT, &ada(), "seen");
    assert_eq!(next(&mut socket).await["d"]["content"], "");
    assert_eq!(next(&mut socket).await["d"]["content"], "seen");
    socket
        .send(json!({ "op": 1, "d": 3 }).to_string())
        .await
        .unwrap();
    assert_eq!(next(&mut socket).await["op"], 11);
    drop(socket);

    let mut socket = connect(&fake).await;
    next(&mut socket).await;
    let resume = json!({ "op": 6, "d": { "token": TOKEN, "session_id": "session1", "seq": 2 } });
    socket.send(resume.to_string()).await.unwrap();
    assert_eq!(next(&mut socket).await["s"], 4, "3 was acknowledged");
    assert_eq!(next(&mut socket).await["t"], "RESUMED");
    // 1000 ends the session.
    socket.close(1_000).await;
    fake.wait_until("the end of the session", |state| state.sessions.is_empty())
        .await;
    let mut socket = connect(&fake).await;
    next(&mut socket).await;
    socket.send(resume.to_string()).await.unwrap();
    assert_eq!(next(&mut socket).await, json!({ "op": 9, "d": false }));
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}
