//! Bytes no library would send: requests that two programs could read differently, and requests that never end.

use std::time::Duration;

use leverframe::api::framing::Framing;
use leverframe::api::serve::Timing;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use leverframe::protocol::request::Outcome;

use crate::api_http::fake::FakeClient;
use crate::api_http::samples;
use crate::api_http::server::{Server, tokens};

/// Sends bytes; everything that came until the server hung up.
async fn talk(server: &Server, bytes: &str) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut whole = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut whole));
    let _ = ended.await.expect("the connection is closed");
    String::from_utf8_lossy(&whole).into_owned()
}

const HEAD: &str =
    "Host: localhost\r\nAuthorization: Bearer lf_admin\r\nContent-Type: application/json\r\n";

#[tokio::test]
async fn what_leaves_room_for_two_readings_is_answered_400_and_cut() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let post = format!("POST /v1/emergency-stop HTTP/1.1\r\n{HEAD}");
    let hidden = "GET /v1/snapshot HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let bare = post.replace("\r\n", "\n");
    let cases = [
        format!("{post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("{post}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n{hidden}"),
        format!("{post}Content-Length: 2\r\nContent-Length: 9\r\n\r\n{{}}{hidden}"),
        format!("{post}Content-Length: 2, 9\r\n\r\n{{}}{hidden}"),
        format!("{post}Content-Length: +2\r\n\r\n{{}}{hidden}"),
        format!("{post}Content-Length : 2\r\n\r\n{{}}{hidden}"),
        format!("{post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("{post}Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("{post}X: a\r\n Content-Length: 9\r\n\r\n{hidden}"),
        format!("{bare}Content-Length: 2\n\n{{}}"),
        format!("{post}Content-Length: 2\n\r\n{{}}"),
        format!("{post}Content-Length: 0\r\n\n{hidden}"),
        format!("{post}X: a\rContent-Length: 9\r\n\r\n"),
        format!("\n{post}\r\n"),
        format!("{post}Transfer-Encoding: chunked\r\n\r\n2\n{{}}\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}0\r\n\r\n"),
        format!("{post}Transfer-Encoding: chunked\r\n\r\n+2\r\n{{}}\r\n0\r\n\r\n"),
    ];
    for case in cases {
        let said = talk(&server, &case).await;
        assert!(said.starts_with("HTTP/1.1 400"), "{case:?}: {said:?}");
        assert_eq!(said.matches("HTTP/1.1").count(), 1, "{case:?}: {said:?}");
        assert!(fake.envelopes.lock().unwrap().is_empty(), "{case:?}");
        assert!(fake.queries.lock().unwrap().is_empty(), "{case:?}");
    }
}

#[tokio::test]
async fn the_second_request_of_a_connection_is_judged_like_the_first() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let post = format!("POST /v1/emergency-stop HTTP/1.1\r\n{HEAD}");
    let last = format!("{post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    for first in [
        format!("{post}\r\n"),
        format!("{post}Content-Length: 2\r\n\r\n{{}}"),
        format!(
            "{post}Transfer-Encoding: chunked\r\n\r\n1;x=y\r\n{{\r\n1\r\n}}\r\n0\r\nT: 1\r\n\r\n"
        ),
    ] {
        fake.envelopes.lock().unwrap().clear();
        fake.will(Ok(Outcome::EmergencyStop(samples::engine())));
        let said = talk(&server, &format!("{first}{last}")).await;
        assert!(said.starts_with("HTTP/1.1 200"), "{first:?}: {said:?}");
        assert!(said.contains("HTTP/1.1 400"), "{first:?}: {said:?}");
        assert_eq!(fake.envelopes.lock().unwrap().len(), 1, "{first:?}");
    }
}

#[test]
fn framing_is_the_same_however_the_bytes_arrive() {
    let whole = format!(
        "\r\nPOST / HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n\
         POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\n\n\nGET / HTTP/1.1\r\n\r\n"
    );
    for size in 1..40 {
        let mut framing = Framing::default();
        let mut bytes = whole.clone().into_bytes();
        let passed: usize = bytes
            .chunks_mut(size)
            .map(|chunk| framing.judge(chunk))
            .sum();
        assert_eq!(passed, whole.len(), "pieces of {size}");
        assert_eq!(bytes, whole.as_bytes(), "pieces of {size}");
        let mut refused = b"GET / HTTP/1.1\nHost: x\n\n".to_vec();
        let passed: usize = refused
            .chunks_mut(size)
            .map(|chunk| framing.judge(chunk))
            .sum();
        assert_eq!(passed, 15, "pieces of {size}");
    }
}

fn hasty() -> Timing {
    Timing {
        head: Duration::from_millis(200),
        ..Timing::default()
    }
}

#[tokio::test]
async fn half_a_head_and_an_idle_connection_are_cut_after_the_limit() {
    let fake = FakeClient::new();
    let server = Server::start_with(fake.clone(), Arc::new(tokens()), hasty()).await;
    for bytes in [
        "",
        "GET /healthz HTTP/1.1\r\nHost: loc",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &format!("POST /v1/emergency-stop HTTP/1.1\r\n{HEAD}\r\n"),
    ] {
        fake.will(Ok(Outcome::EmergencyStop(samples::engine())));
        talk(&server, bytes).await;
    }
}

#[tokio::test]
async fn one_answer_without_a_token_ends_the_connection_and_a_token_keeps_it() {
    let fake = FakeClient::new();
    let server = Server::start_with(fake.clone(), Arc::new(tokens()), hasty()).await;
    let said = talk(
        &server,
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    )
    .await;
    assert_eq!(said.matches("HTTP/1.1 200").count(), 1, "{said}");
    fake.will(Ok(Outcome::EmergencyStop(samples::engine())));
    fake.will(Ok(Outcome::EmergencyStop(samples::engine())));
    let post = format!("POST /v1/emergency-stop HTTP/1.1\r\n{HEAD}\r\n");
    let said = talk(&server, &format!("{post}{post}")).await;
    assert_eq!(said.matches("HTTP/1.1 200").count(), 2, "{said}");
}
