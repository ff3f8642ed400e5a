//! What `/openapi.json` says of these routes is what they answer, and the book has every parameter.

use std::sync::Arc;

use futures_util::StreamExt as _;
use leverframe::api::openai::parameters::{CHAT, Parameter, RESPONSES, Use};
use leverframe::api::openapi;
use leverframe::api::router::table;
use leverframe::protocol::enums::ContinuationState;
use leverframe::protocol::request::{Answer, Outcome};
use serde_json::{Value, json};

use crate::api_http::fake::FakeClient;
use crate::api_http::samples;
use crate::api_http::server::{Server, quick, tokens};
use crate::openai_clients::caller::{chat, home, post, user};

/// The schema of a good answer, with everything that it refers to.
fn schema(document: &Value, path: &str, status: &str, kind: &str) -> Value {
    let mut schema =
        document["paths"][path]["post"]["responses"][status]["content"][kind]["schema"].clone();
    assert!(schema.is_object(), "{path}");
    schema["components"] = document["components"].clone();
    schema
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_what_the_document_says() {
    let home = home();
    let daemon = home.daemon();
    let document = openapi::document(table());
    let check = |path: &str, status: &str, body: &Value| {
        let schema = schema(&document, path, status, "application/json");
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(body)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{path}: {errors:?}: {body:#}");
    };
    let completion = chat(&daemon, &[user("SAY:hello")]).await;
    check("/v1/chat/completions", "200", &completion.body);
    let refused = post(&daemon, "/v1/chat/completions", &[], json!({})).await;
    check("/v1/chat/completions", "default", &refused.body);
    let response = post(
        &daemon,
        "/v1/responses",
        &[],
        json!({ "input": "SAY:hello" }),
    )
    .await;
    check("/v1/responses", "200", &response.body);
    for (path, field) in [
        ("/v1/chat/completions", "messages"),
        ("/v1/responses", "input"),
    ] {
        let body = &document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(body["required"], json!([field]));
        assert_eq!(body["additionalProperties"], true);
    }
}

#[test]
fn the_table_of_parameters_has_what_the_requests_have_and_the_book_has_the_table() {
    let document = openapi::document(table());
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/src/guide/openai-clients.md"
    ))
    .unwrap();
    for (path, list) in [("/v1/chat/completions", CHAT), ("/v1/responses", RESPONSES)] {
        let body = &document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"];
        let fields: Vec<&String> = body["properties"].as_object().unwrap().keys().collect();
        let honoured = |one: &&Parameter| matches!(one.usage, Use::Honoured);
        for field in &fields {
            assert!(
                list.iter().filter(honoured).any(|one| one.name == **field),
                "{field}"
            );
        }
        assert_eq!(list.iter().filter(honoured).count(), fields.len(), "{path}");
        for parameter in list {
            assert!(
                page.contains(&format!("`{}`", parameter.name)),
                "{} is not in the book",
                parameter.name
            );
        }
    }
}

/// A stream over the scripted engine, whose turn never moves.
#[tokio::test]
async fn a_silent_stream_is_kept_alive_and_ends_with_the_daemon() {
    let fake = FakeClient::new();
    let server = Server::start_with(fake.clone(), Arc::new(tokens()), quick()).await;
    let mut channel = samples::channel();
    channel.kind = leverframe::protocol::enums::ChannelKind::Api;
    channel.name = "api".to_owned();
    fake.knows(Ok(Answer::GetChannel(channel)));
    let empty = leverframe::protocol::snapshot::Page {
        items: Vec::new(),
        next_cursor: None,
    };
    fake.knows(Ok(Answer::ListSessions(empty)));
    fake.will(Ok(Outcome::Converse(samples::accepted())));
    let mut turn = samples::continuation(ContinuationState::Pending);
    turn.steps = 0;
    for _ in 0..2 {
        fake.knows(Ok(Answer::GetContinuation(turn.clone())));
    }
    let response = crate::support::daemon::client()
        .post(format!("http://{}/v1/chat/completions", server.address))
        .bearer_auth("lf_admin")
        .json(&json!({ "messages": [user("hi")], "stream": true }))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let mut body = response.bytes_stream();
    let mut seen = String::new();
    let read = async {
        while !seen.contains(": waiting\n\n: waiting\n\n") {
            let piece = body.next().await.expect("it goes on").unwrap();
            seen.push_str(std::str::from_utf8(&piece).unwrap());
        }
    };
    tokio::time::timeout(crate::support::daemon::DEADLINE, read)
        .await
        .expect("comments in time");
    assert!(seen.starts_with("data: {"), "{seen}");
    server.shutdown.cancel();
    let rest = async {
        while let Some(Ok(piece)) = body.next().await {
            seen.push_str(std::str::from_utf8(&piece).unwrap());
        }
    };
    tokio::time::timeout(crate::support::daemon::DEADLINE, rest)
        .await
        .expect("it ends");
    assert!(seen.contains("the daemon stops"), "{seen}");
    assert!(!seen.contains("[DONE]"), "{seen}");
}
