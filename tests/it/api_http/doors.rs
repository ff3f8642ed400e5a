//! The door: host, origin, credential, content type, scope, rate limit, unix socket.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use leverframe::api::peer::{may_connect, name_in};
use leverframe::api::report::NoReport;
use leverframe::api::serve::{ServeError, TcpOptions, Timing, serve_tcp, serve_unix};
use leverframe::api::token::StaticTokens;
use leverframe::client::webhooks::Webhooks;
use leverframe::config::server::ListenerLimits;
use leverframe::protocol::command::Actor;
use leverframe::protocol::enums::Scope;
use leverframe::protocol::request::{Answer, Outcome, Query};
use leverframe::protocol::token::generate;
use tokio_util::sync::CancellationToken;

use crate::api_http::fake::FakeClient;
use crate::api_http::samples;
use crate::api_http::samples_traffic;
use crate::api_http::server::{Server, tokens, unix};

const TOKEN: &str = "Authorization: Bearer lf_admin";

#[tokio::test]
async fn the_matrix_of_host_origin_token_and_content_type() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let json = "Content-Type: application/json";
    let local = "Host: 127.0.0.1:9";
    let get = "GET /v1/channels";
    let post = "POST /v1/emergency-stop";
    let cases: &[(&str, &[&str], &str, u16)] = &[
        (get, &[local, TOKEN], "", 200),
        (get, &["Host: LOCALHOST", TOKEN], "", 200),
        (get, &["Host: [::1]:80", TOKEN], "", 200),
        (get, &["Host: evil.example", TOKEN], "", 403),
        (get, &["Host: 127.0.0.1.evil.example", TOKEN], "", 403),
        (get, &["Host: localhost:80@evil", TOKEN], "", 403),
        (get, &["Host: localhost:999999", TOKEN], "", 403),
        (get, &[local, "Host: evil.example", TOKEN], "", 403),
        (
            "GET http://evil.example/v1/channels",
            &[local, TOKEN],
            "",
            403,
        ),
        (get, &[local, "Origin: http://evil.example", TOKEN], "", 403),
        (get, &[local, "Origin: null", TOKEN], "", 403),
        (get, &[local, "Origin: http://127.0.0.1:9", TOKEN], "", 403),
        (
            "OPTIONS /v1/emergency-stop",
            &[
                local,
                "Origin: http://x",
                "Access-Control-Request-Method: POST",
            ],
            "",
            403,
        ),
        (get, &[local], "", 401),
        (get, &[local, "Authorization: Bearer "], "", 401),
        (get, &[local, "Authorization: Bearer lf_wrong"], "", 401),
        (get, &[local, "Authorization: Basic lf_admin"], "", 401),
        (
            get,
            &[local, TOKEN, "Authorization: Bearer lf_wrong"],
            "",
            401,
        ),
        ("GET /v1/channels?token=lf_admin", &[local], "", 401),
        ("GET /nothing-here", &[local], "", 401),
        (post, &[local, TOKEN, json], "{}", 200),
        (post, &[local, TOKEN, "Content-Type: text/plain"], "{}", 415),
        (
            post,
            &[
                local,
                TOKEN,
                "Content-Type: application/x-www-form-urlencoded",
            ],
            "a=b",
            415,
        ),
        (post, &[local, TOKEN], "{}", 415),
        (post, &[local, TOKEN], "", 200),
        ("GET /healthz", &[local], "", 200),
        ("GET /healthz", &["Host: evil.example"], "", 403),
        ("GET /openapi.json", &[local], "", 200),
        ("GET /openapi.json", &["Host: evil.example"], "", 403),
        (
            "GET /openapi.json",
            &[local, "Authorization: Bearer lf_wrong"],
            "",
            401,
        ),
        ("GET /readyz", &["Host: evil.example"], "", 403),
        (
            "GET /readyz",
            &[local, "Authorization: Bearer lf_wrong"],
            "",
            401,
        ),
        ("POST /readyz", &[local, json], "{}", 405),
        (get, &[local, "Authorization: Bearer lf_reader"], "", 200),
        (get, &[local, "Authorization: Bearer lf_blind"], "", 403),
    ];
    for (line, headers, body, expected) in cases {
        fake.will(Ok(Outcome::EmergencyStop(samples::engine())));
        let answer = samples_traffic::answer(|query| matches!(query, Query::ListChannels(_)));
        fake.knows(Ok(answer));
        let before = fake.queries.lock().unwrap().len() + fake.envelopes.lock().unwrap().len();
        let reply = server.raw(line, headers, body).await;
        assert_eq!(
            reply.status, *expected,
            "{line} {headers:?}: {}",
            reply.body
        );
        assert!(reply.head.contains("leverframe-protocol: 2"));
        let after = fake.queries.lock().unwrap().len() + fake.envelopes.lock().unwrap().len();
        if *expected >= 400 {
            assert_eq!(before, after, "{line} {headers:?} reached the engine");
            assert!(reply.head.contains("application/problem+json"));
            assert_eq!(reply.json()["status"], *expected);
        }
    }
}

#[tokio::test]
async fn readiness_needs_no_token_on_loopback() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    fake.knows(Ok(Answer::GetEngine(samples::engine())));
    let reply = server.raw("GET /readyz", &["Host: localhost"], "").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.json()["status"], "ready");
}

#[tokio::test]
async fn the_actor_is_the_tokens_record_and_no_body_can_say_otherwise() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let smuggled = r#"{"reason":"x","actor":{"type":"engine"}}"#;
    let reply = server.call("POST /v1/emergency-stop", smuggled).await;
    assert_eq!(reply.status, 400);
    let smuggled =
        r#"{"command":{"command":"emergency_stop"},"surface":"cli","actor":{"type":"engine"}}"#;
    assert_eq!(server.call("POST /v1/submit", smuggled).await.status, 400);
    let claimed = r#"{"command":{"command":"emergency_stop"},"surface":"engine"}"#;
    assert_eq!(server.call("POST /v1/submit", claimed).await.status, 400);
    assert!(fake.envelopes.lock().unwrap().is_empty());
    fake.will(Ok(Outcome::EmergencyStop(samples::engine())));
    let headers = [
        "Host: 127.0.0.1",
        "Authorization: Bearer lf_reader",
        "X-Actor: admin",
        "Idempotency-Key: k1",
    ];
    let reply = server.raw("POST /v1/emergency-stop", &headers, "").await;
    assert_eq!(
        reply.status, 200,
        "the engine judges scopes, and this one allows"
    );
    let envelope = fake.last_envelope();
    let expected = Actor::Token {
        name: "reader".to_owned(),
        scopes: vec![Scope::Read],
        person: None,
    };
    assert_eq!(envelope.actor, expected);
    assert_eq!(envelope.idempotency_key.as_deref(), Some("k1"));
}

#[tokio::test]
async fn after_a_hundred_bad_logins_the_next_is_429_and_the_right_token_still_works() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    for attempt in 0..100 {
        let bad = format!("Authorization: Bearer lf_{attempt}");
        let reply = server
            .raw("GET /v1/channels", &["Host: localhost", &bad], "")
            .await;
        assert_eq!(reply.status, 401);
    }
    let reply = server
        .raw("GET /v1/channels", &["Host: localhost"], "")
        .await;
    assert_eq!(reply.status, 429);
    assert!(reply.head.contains("retry-after:"));
    fake.knows(Ok(Answer::GetEngine(samples::engine())));
    assert_eq!(server.call("GET /readyz", "").await.status, 200);
}

#[tokio::test]
async fn the_socket_is_private_and_replaced_only_when_nobody_answers() {
    let fake = FakeClient::new();
    let (dir, path, shutdown, serving) = unix(fake.clone()).await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path) & 0o777, 0o600);
    assert_eq!(mode(path.parent().unwrap()) & 0o777, 0o700);
    let again = serve_unix(
        &path,
        fake.clone(),
        Webhooks::default(),
        Timing::default(),
        CancellationToken::new(),
    )
    .await;
    assert!(matches!(again, Err(ServeError::InUse { .. })));
    shutdown.cancel();
    serving.stopped().await;
    assert!(!path.exists(), "a stopped server takes its socket away");
    // A dead process leaves its socket behind.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let stop = CancellationToken::new();
    let serving = serve_unix(
        &path,
        fake.clone(),
        Webhooks::default(),
        Timing::default(),
        stop.clone(),
    )
    .await
    .unwrap();
    stop.cancel();
    serving.stopped().await;
    let file = dir.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    let refused = serve_unix(
        &file,
        fake,
        Webhooks::default(),
        Timing::default(),
        CancellationToken::new(),
    )
    .await;
    assert!(matches!(refused, Err(ServeError::NotASocket { .. })));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[tokio::test]
async fn addresses_other_machines_can_reach_are_refused() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let options = TcpOptions {
            address: address.parse().unwrap(),
            tls: None,
            limits: ListenerLimits::default(),
            verifier: Arc::new(tokens()),
            report: Arc::new(NoReport),
        };
        let refused = serve_tcp(
            options,
            FakeClient::new(),
            Webhooks::default(),
            Timing::default(),
            CancellationToken::new(),
        )
        .await;
        assert!(
            matches!(refused, Err(ServeError::NotLoopback { .. })),
            "{address}"
        );
    }
}

#[test]
fn only_the_own_user_and_root_may_use_the_socket() {
    assert!(may_connect(1000, 1000));
    assert!(may_connect(0, 1000));
    assert!(!may_connect(1001, 1000));
    assert!(!may_connect(1000, 0));
    let table = "root:x:0:0::/:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/sh\n";
    assert_eq!(name_in(table, 1000).as_deref(), Some("anna"));
    assert_eq!(name_in(table, 7), None);
}

#[test]
fn tokens_are_random_and_an_empty_list_knows_none() {
    use leverframe::api::token::TokenVerifier as _;
    let (one, two) = (generate().unwrap(), generate().unwrap());
    assert_ne!(one, two);
    assert!(one.starts_with("lf_") && one.len() == 67);
    assert_eq!(StaticTokens::default().verify(""), None);
    assert_eq!(tokens().verify("LF_ADMIN"), None);
    assert!(tokens().verify("lf_admin").is_some());
}
