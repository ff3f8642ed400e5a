//! What every request begins with stays the same to the byte; and a small question is a small request.

#![allow(clippy::format_collect)] // short texts of a test

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::model_calls::server::{ModelServer, ask, home};
use crate::support::fake_http::Reply;

fn stable_part(body: &Value) -> String {
    let first = body["messages"].as_array().and_then(|all| all.first());
    let system = match &body["system"] {
        Value::Null => first.filter(|message| message["role"] == "system"),
        system => Some(system),
    };
    let system = system.expect("a system text");
    // The order of keys is that of the bytes.
    let hash = Sha256::digest(format!("{}\n{system}", body["tools"]).as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn the_beginning_of_a_request_is_the_same_whatever_else_happens() {
    for server in [
        ModelServer::chat as fn(Vec<Reply>) -> ModelServer,
        ModelServer::claude,
    ] {
        let one = server(Vec::new());
        let config = "[model]\ndefault = \"one/m\"\n[channels.api]\nnote = \"Be kind.\"";
        let home = home(config, &[("one", &one)]);
        let mut daemon = home.daemon();
        let session = daemon.session().await;
        ask(&daemon, &session, "first", "completed").await;
        // Another session, another policy, another time.
        let other = daemon.session().await;
        ask(&daemon, &other, "somebody else's", "completed").await;
        let channel = daemon.get("/v1/channels/api").await;
        let body = json!({"autonomy": "semi_auto", "if_version": channel["policy"]["version"]});
        let (status, changed) = daemon
            .request("PATCH", "/v1/channels/api/policy", Some(body))
            .await;
        assert_eq!(status, 200, "{changed:#}");
        ask(&daemon, &session, "second", "completed").await;
        daemon.terminate();
        let daemon = home.daemon();
        ask(&daemon, &session, "third", "completed").await;
        let parts: Vec<String> = one.seen().iter().map(stable_part).collect();
        assert_eq!(parts.len(), 4);
        assert!(parts.iter().all(|part| *part == parts[0]), "{parts:?}");
        // What was said stays too: each request of the session goes on where the one before ended.
        let said = |n: usize| -> Vec<String> {
            let all = one.seen()[n]["messages"].as_array().unwrap().clone();
            all.iter()
                .map(|message| {
                    let text = message.to_string();
                    text.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
                })
                .collect()
        };
        let (first, second, third) = (said(0), said(2), said(3));
        assert_eq!(first[..], second[..first.len()]);
        assert_eq!(second[..], third[..second.len()]);
    }
}

#[tokio::test]
async fn a_small_question_with_all_tools_is_a_small_request() {
    for server in [
        ModelServer::chat as fn(Vec<Reply>) -> ModelServer,
        ModelServer::claude,
    ] {
        let one = server(Vec::new());
        let home = home("[model]\ndefault = \"one/m\"", &[("one", &one)]);
        let daemon = home.daemon();
        let session = daemon.session().await;
        ask(&daemon, &session, "ping", "completed").await;
        let body = one.seen()[0].clone();
        assert!(
            body["tools"]
                .as_array()
                .is_some_and(|tools| tools.len() >= 5),
            "{body}"
        );
        let bytes = body.to_string().len();
        assert!(bytes <= 8 * 1024, "{bytes} bytes");
    }
}
