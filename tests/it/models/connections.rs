//! How a call treats its connection: ended with it, used again, never led elsewhere.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use leverframe::config::settings::ProviderKind;
use leverframe::model::request::{ModelErrorKind, ModelEvent};

use crate::models::byte_peer::{BytePeer, Close, Play};
use crate::models::faults::{ALL, base_of, call, content_type, good, text_part};
use crate::models::helpers::{adapter, exchange, request, run, settings, user};

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for kind in ALL {
        let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        trap.set_nonblocking(true).unwrap();
        let headers = format!(
            "location: http://{}/v1/steal?token=abc\r\n",
            trap.local_addr().unwrap()
        );
        let outcome = call(kind, Play::whole("307 Temporary Redirect", &headers, "")).await;
        let error = outcome.error();
        assert_eq!(error.kind, ModelErrorKind::NotFound);
        assert!(
            error.message.contains("redirects are not followed"),
            "{error}"
        );
        assert!(!error.message.contains("token=abc"), "{error}");
        assert!(trap.accept().is_err(), "nobody came");
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for kind in ALL {
        let play = Play::stream(kind, text_part(kind)).closing(Close::Wait);
        let peer = BytePeer::start(kind, vec![play]).await;
        let settings = settings(kind, &base_of(kind, &peer));
        let mut stream = adapter(kind, &settings).stream(request(vec![user("hi")]));
        while let Some(item) = stream.next().await {
            if matches!(item, Ok(ModelEvent::TextDelta(_))) {
                break;
            }
        }
        drop(stream);
        let seen = peer.seen().await;
        assert!(seen[0].client_left);
    }
}

#[tokio::test]
async fn a_whole_exchange_is_well_formed_on_the_wire() {
    for kind in ALL {
        let peer = BytePeer::start(kind, vec![Play::stream(kind, good(kind))]).await;
        let settings = settings(kind, &base_of(kind, &peer));
        let outcome = run(
            adapter(kind, &settings).as_ref(),
            request(exchange(["c1", "c2"])),
        )
        .await;
        assert_eq!(outcome.answer().text, "Hello");
        let seen = peer.seen().await;
        assert!(seen[0].head.contains("leverframe/"));
        for tool in ["read_file", "list_files"] {
            assert!(seen[0].body["tools"].to_string().contains(tool));
        }
    }
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_complete_answer() {
    for kind in ALL {
        let body = good(kind);
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n",
            content_type(kind),
            body.len()
        );
        // The end of the body comes a moment after the end of the answer, as it does on a network.
        let play = Play::bytes(answer)
            .then(Duration::from_millis(2), "0\r\n\r\n")
            .closing(Close::Again);
        let peer = BytePeer::start(kind, vec![play.clone(), play]).await;
        let model = adapter(kind, &settings(kind, &base_of(kind, &peer)));
        for _ in 0..2 {
            let outcome = run(model.as_ref(), request(vec![user("hi")])).await;
            assert_eq!(outcome.answer().text, "Hello");
        }
        assert_eq!(peer.seen().await.len(), 2);
    }
}

#[tokio::test]
async fn usage_that_never_comes_is_not_waited_for_long() {
    let kind = ProviderKind::OpenAiChat;
    let body = format!(
        "{}data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n",
        text_part(kind)
    );
    let peer = BytePeer::start(kind, vec![Play::events(body).closing(Close::Wait)]).await;
    let started = Instant::now();
    let model = adapter(kind, &settings(kind, &base_of(kind, &peer)));
    let outcome = run(model.as_ref(), request(vec![user("hi")])).await;
    assert_eq!(outcome.answer().text, "Hello");
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "not the idle timeout"
    );
}
