//! Servers over streamable HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leverframe::config::mcp::McpPlace;
use leverframe::protocol::enums::{McpEra, McpServerState};
use leverframe::tools::tool::EffectDisposition::{ConfirmedNoEffect, Done, Unknown};
use serde_json::{Value, json};

use crate::mcp_client::world::{OverHttp, SERVER, Scripted, address, none, secret, settings};
use crate::support::fake_http::{FakeHttp, Reply, Request};
use crate::tools::harness::eventually;

#[tokio::test]
async fn both_eras_are_spoken() {
    for (word, era) in [("legacy", McpEra::Handshake), ("modern", McpEra::Stateless)] {
        let there = OverHttp::start(&[word]).await;
        let server = Scripted::with(there.settings());
        assert_eq!(server.said("echo", json!({"text": "hi"})).await, "hi");
        let status = server.status();
        assert_eq!(status.era, Some(era));
        assert_eq!((status.pid, status.sandbox), (None, None));
        let catalogue = server.servers.catalogue(SERVER).await.unwrap();
        assert_eq!(catalogue.identity.place, there.url);
        assert_eq!(server.said("progress", none()).await, "done");
        assert!(!server.person.seen.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_token_is_sent_and_its_lack_says_what_to_do() {
    let there = OverHttp::start(&["token", "sesame-open-now"]).await;
    let without = Scripted::with(there.settings());
    let why = without.servers.catalogue(SERVER).await.unwrap_err();
    assert!(why.contains("wants a login"), "{why}");
    let status = without.status();
    assert_eq!(status.state, McpServerState::NeedsLogin);
    assert!(status.problem.unwrap().contains("login = true"));
    let mut with = address(there.url.clone());
    let bearer = secret("Bearer sesame-open-now");
    with.headers.insert("Authorization".to_owned(), bearer);
    let with = Scripted::with(settings(McpPlace::Address(with)));
    assert_eq!(with.said("echo", json!({"text": "in"})).await, "in");
}

#[tokio::test]
async fn no_redirect_takes_a_credential_elsewhere() {
    let elsewhere = OverHttp::start(&[]).await;
    let there = OverHttp::start(&["elsewhere", &elsewhere.url]).await;
    let mut place = address(there.url.clone());
    let bearer = secret("Bearer sesame-open-now");
    place.headers.insert("Authorization".to_owned(), bearer);
    let server = Scripted::with(settings(McpPlace::Address(place)));
    let why = server.servers.catalogue(SERVER).await.unwrap_err();
    assert!(why.contains("redirect"), "{why}");
    assert!(there.received().contains("sesame-open-now"));
    assert_eq!(elsewhere.received(), "");
}

#[tokio::test]
async fn an_address_far_away_needs_tls_and_one_that_is_closed_is_said_to_be() {
    let far = Scripted::with(settings(McpPlace::Address(address(
        "http://192.0.2.1/mcp".to_owned(),
    ))));
    let why = far.servers.catalogue(SERVER).await.unwrap_err();
    assert!(why.contains("use https there"), "{why}");
    let closed = OverHttp::start(&[]).await;
    let url = closed.url.clone();
    drop(closed);
    let server = Scripted::with(settings(McpPlace::Address(address(url))));
    let request = Scripted::new(&[]).request("echo", none()).await;
    let called = server.send(request).await;
    assert!(
        called.outcome.content.contains("cannot be reached"),
        "{called:?}"
    );
    assert_eq!(called.outcome.disposition, ConfirmedNoEffect);
}

#[tokio::test]
async fn a_death_in_a_call_and_a_cancelled_one_end_clearly() {
    let there = OverHttp::start(&["modern"]).await;
    let server = Scripted::with(there.settings());
    let died = server.call("die", none()).await;
    assert_eq!(died.outcome.disposition, Unknown);
    assert!(died.outcome.is_error);
    let there = OverHttp::start(&["modern"]).await;
    let server = Scripted::with(there.settings());
    let request = server.request("forever", none()).await;
    let cancel = server.cancel.clone();
    let (called, ()) = tokio::join!(server.send(request), async {
        eventually("progress comes", || {
            !server.person.seen.lock().unwrap().is_empty()
        })
        .await;
        cancel.cancel();
    });
    assert_eq!(called.outcome.disposition, Unknown);
    // To close the answer is to cancel the call.
    eventually("the server notices", || {
        there.received().contains("hung up")
    })
    .await;
}

/// A server of the older era: its tool `admin` is refused for this login, its tool `slow` answers after a second.
fn partly_refused(request: &Request, slow_runs: &AtomicBool) -> Reply {
    let result =
        |result: Value| json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result});
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let done = json!({"content": [{"type": "text", "text": "done"}]});
    match request.body["method"].as_str().unwrap_or_default() {
        "" => Reply::Json(405, Value::Null),
        "initialize" => Reply::Json(
            200,
            result(json!({
                "protocolVersion": request.body["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "partly", "version": "1.0"},
            })),
        ),
        "tools/list" => Reply::Json(200, result(json!({"tools": [tool("admin"), tool("slow")]}))),
        "tools/call" if request.body["params"]["name"] == "admin" => Reply::Json(403, json!({})),
        "tools/call" => {
            slow_runs.store(true, Ordering::SeqCst);
            Reply::Late(Duration::from_secs(1), 200, result(done))
        }
        "server/discover" => Reply::Json(
            200,
            json!({"jsonrpc": "2.0", "id": request.body["id"],
                   "error": {"code": -32601, "message": "Method not found"}}),
        ),
        _ => Reply::Raw(
            b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
        ),
    }
}

#[tokio::test]
async fn a_call_that_is_refused_ends_no_other_one() {
    let slow_runs = Arc::new(AtomicBool::new(false));
    let serving = Arc::clone(&slow_runs);
    let http = FakeHttp::start(move |request| partly_refused(request, &serving));
    let place = address(format!("{}/mcp", http.url()));
    let server = Scripted::with(settings(McpPlace::Address(place)));
    let slow = server.request("slow", none()).await;
    let admin = server.request("admin", none()).await;
    let (called, refused) = tokio::join!(server.send(slow), async {
        eventually("the slow call runs", || slow_runs.load(Ordering::SeqCst)).await;
        let refused = server.send(admin).await;
        assert_eq!(server.status().state, McpServerState::NeedsLogin);
        refused
    });
    assert_eq!(
        refused.outcome.disposition, ConfirmedNoEffect,
        "{refused:?}"
    );
    assert_eq!(called.outcome.content, "done", "{called:?}");
    assert_eq!(called.outcome.disposition, Done);
    // The connection goes with its last call, and the next call gets a new one.
    eventually("it is let go", || server.status().connected_at.is_none()).await;
    assert_eq!(server.said("slow", none()).await, "done");
}
