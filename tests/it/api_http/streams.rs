//! Event streams over HTTP: wire form, resuming, slow readers, revocation, shutdown; and `?wait=`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use leverframe::api::token::TokenVerifier;
use leverframe::client::console_client::ConsoleClient as _;
use leverframe::client::remote::connection::{Limits, RemoteClient};
use leverframe::protocol::command::Actor;
use leverframe::protocol::enums::{ContinuationState, Scope};
use leverframe::protocol::event::{EventBody, EventFilter, StreamItem};
use leverframe::protocol::request::{Answer, Outcome};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::api_http::fake::{FakeClient, Log};
use crate::api_http::samples;
use crate::api_http::samples_traffic;
use crate::api_http::server::{ADMIN, Server, quick, tokens};

const LONG: Duration = Duration::from_secs(10);

async fn open(server: &Server, path: &str, more: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let text = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer lf_admin\r\n{more}\r\n"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

async fn until(stream: &mut TcpStream, needle: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 8192];
    while !text.contains(needle) {
        let size = tokio::time::timeout(LONG, stream.read(&mut buffer))
            .await
            .unwrap_or_else(|_| panic!("no {needle:?} in {text:?}"))
            .unwrap();
        assert!(size > 0, "ended before {needle:?}: {text:?}");
        text.push_str(&String::from_utf8_lossy(&buffer[..size]));
    }
    text
}

#[tokio::test]
async fn the_stream_opens_at_once_and_numbers_only_durable_events() {
    let fake = FakeClient::new();
    let log = Log::new();
    let feed = log.clone();
    fake.streams(move |filter| feed.stream(filter));
    let server = Server::start(fake.clone()).await;
    let mut stream = open(&server, "/v1/events?after=3", "Last-Event-ID: 7\r\n").await;
    let head = until(&mut stream, ": open\n\n").await;
    assert!(head.contains("text/event-stream"), "{head}");
    assert_eq!(
        fake.filters.lock().unwrap()[0].after,
        Some(7),
        "the header wins"
    );
    let delta = EventBody::MessageDelta {
        step: 1,
        offset: 0,
        text: "hi".to_owned(),
    };
    log.append(samples_traffic::event(None, delta));
    let text = until(&mut stream, "\"hi\"").await;
    assert!(text.contains("event: message.delta\ndata: {"), "{text}");
    assert!(!text.contains("id:"), "{text}");
    log.append(samples_traffic::numbered(8));
    let text = until(&mut stream, "number 8").await;
    assert!(
        text.contains("id: 8\nevent: continuation.cancelled\ndata: {"),
        "{text}"
    );
}

#[tokio::test]
async fn bad_filters_are_named_with_what_is_allowed() {
    let server = Server::start(FakeClient::new()).await;
    for (path, word) in [
        ("kind=tool.exploded", "tool.started"),
        ("deltas=con_x", "ses_"),
        ("after=x", "`x`"),
        ("session=1", "ses_"),
        ("sessions=1", "session"),
    ] {
        let reply = server.call(&format!("GET /v1/events?{path}"), "").await;
        assert_eq!(reply.status, 400, "{path}");
        let detail = reply.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(word), "{path}: {detail}");
    }
    let reply = server
        .call_with("GET /v1/events", &["Last-Event-ID: x"], "")
        .await;
    assert_eq!(reply.status, 400);
}

#[tokio::test]
async fn a_reader_that_stops_is_cut_and_nobody_else_notices() {
    struct Gone(Arc<AtomicBool>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let fake = FakeClient::new();
    let gone = Arc::new(AtomicBool::new(false));
    let pulled = Arc::new(AtomicUsize::new(0));
    let (seen_gone, seen_pulled) = (gone.clone(), pulled.clone());
    let log = Log::new();
    let feed = log.clone();
    fake.streams(move |filter| {
        if filter.after != Some(1) {
            return feed.stream(filter);
        }
        // Endless, for the reader that does not read.
        let guard = Gone(seen_gone.clone());
        let pulled = seen_pulled.clone();
        futures_util::stream::repeat_with(move || {
            let _held = &guard;
            pulled.fetch_add(1, Ordering::SeqCst);
            Ok(StreamItem::Event(Arc::new(samples_traffic::numbered(9))))
        })
        .boxed()
    });
    let server = Server::start_with(fake, Arc::new(tokens()), quick()).await;
    let stuck = open(&server, "/v1/events?after=1", "").await;
    let remote = RemoteClient::new(server.target(ADMIN), Limits::default()).unwrap();
    let mut healthy = remote.events(EventFilter::default()).await.unwrap();
    let mut seq = 0;
    let deadline = tokio::time::Instant::now() + LONG;
    while !gone.load(Ordering::SeqCst) {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the stuck reader was not cut"
        );
        seq += 1;
        log.append(samples_traffic::numbered(seq));
        let item = tokio::time::timeout(LONG, healthy.next())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        let StreamItem::Event(event) = item else {
            panic!("{item:?}")
        };
        assert_eq!(event.seq, Some(seq));
    }
    // What the kernel and one connection hold; an unbounded queue would be far beyond.
    let bytes = pulled.load(Ordering::SeqCst) * 250;
    assert!(
        bytes < 64 * 1024 * 1024,
        "{bytes} bytes were taken for a reader that does not read"
    );
    drop(stuck);
}

struct Revocable(AtomicBool);

impl TokenVerifier for Revocable {
    fn verify(&self, _presented: &str) -> Option<Actor> {
        self.0.load(Ordering::SeqCst).then(|| Actor::Token {
            name: "x".to_owned(),
            scopes: vec![Scope::Read],
            person: None,
        })
    }

    fn certificate(&self, _id: &str) -> Option<Actor> {
        None
    }
}

#[tokio::test]
async fn pings_come_while_it_is_quiet_and_a_revoked_token_ends_the_stream() {
    let verifier = Arc::new(Revocable(AtomicBool::new(true)));
    let server = Server::start_with(FakeClient::new(), verifier.clone(), quick()).await;
    let mut stream = open(&server, "/v1/events", "").await;
    until(&mut stream, ": ping\n\n").await;
    verifier.0.store(false, Ordering::SeqCst);
    // The last chunk of a chunked body.
    until(&mut stream, "0\r\n\r\n").await;
}

#[tokio::test]
async fn shutdown_ends_streams_and_the_server() {
    let mut server = Server::start(FakeClient::new()).await;
    let mut stream = open(&server, "/v1/events", "").await;
    until(&mut stream, ": open").await;
    server.shutdown.cancel();
    until(&mut stream, "0\r\n\r\n").await;
    let serving = server.serving.take().unwrap();
    tokio::time::timeout(Duration::from_secs(4), serving.stopped())
        .await
        .expect("open streams must not hold the server");
}

fn message(fake: &FakeClient) -> String {
    fake.will(Ok(Outcome::SendMessage(samples::accepted())));
    format!("POST /v1/sessions/{}/messages", samples::session_id())
}

fn knows(fake: &FakeClient, state: ContinuationState) {
    fake.knows(Ok(Answer::GetContinuation(samples::continuation(state))));
}

#[tokio::test]
async fn without_wait_a_message_is_202_with_its_ids() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let reply = server.call(&message(&fake), r#"{"text":"hi"}"#).await;
    assert_eq!(reply.status, 202);
    let body = reply.json();
    assert_eq!(
        body["continuation_id"],
        samples::continuation_id().to_string()
    );
    assert_eq!(body["session_id"], samples::session_id().to_string());
    assert_eq!(body["state"], "pending");
}

#[tokio::test]
async fn wait_returns_when_the_turn_ends_or_needs_a_person_and_202_when_the_time_is_over() {
    for (state, body) in [
        (
            ContinuationState::Completed,
            EventBody::ContinuationCompleted {
                preview: String::new(),
                usage: samples::usage(),
            },
        ),
        (
            ContinuationState::AwaitingApproval,
            EventBody::ContinuationAwaitingApproval { pending: 1 },
        ),
    ] {
        let fake = FakeClient::new();
        let event = samples_traffic::event(Some(5), body);
        fake.streams(move |_| {
            let event = event.clone();
            futures_util::stream::once(async { Ok(StreamItem::Event(Arc::new(event))) })
                .chain(futures_util::stream::pending())
                .boxed()
        });
        knows(&fake, ContinuationState::Running);
        knows(&fake, state);
        let server = Server::start(fake.clone()).await;
        let line = format!("{}?wait=30", message(&fake));
        let reply = server.call(&line, r#"{"text":"hi"}"#).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(reply.json()["state"], state.as_str());
    }
    let fake = FakeClient::new();
    knows(&fake, ContinuationState::Running);
    knows(&fake, ContinuationState::Running);
    let server = Server::start(fake.clone()).await;
    let line = format!("{}?wait=0", message(&fake));
    let reply = server.call(&line, r#"{"text":"hi"}"#).await;
    assert_eq!(reply.status, 202, "{}", reply.body);
    let line = format!("{}?wait=601", message(&fake));
    assert_eq!(server.call(&line, r#"{"text":"hi"}"#).await.status, 400);
}
