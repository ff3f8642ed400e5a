//! Heads that are too large, and too many requests on one connection.

use tokio::io::AsyncWriteExt as _;

use crate::attacks::site::{Door, PATHS, Site, Wire, rest, status, until};
use crate::support::daemon::DEADLINE;

/// Sends as much as is taken, and reads the answer meanwhile.
pub async fn exchange(mut stream: Box<dyn Wire>, bytes: &[u8]) -> String {
    let (mut reader, mut writer) = tokio::io::split(&mut stream);
    let send = async {
        // Whoever refuses early may close before everything was sent.
        let _ = writer.write_all(bytes).await;
        let _ = writer.flush().await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        said = rest(&mut reader, DEADLINE) => said,
        () = send => unreachable!("it never ends"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_is_too_large_is_refused() {
    const MIB: usize = 1024 * 1024;
    for site in Site::both("") {
        for door in site.doors {
            for (method, path, _) in PATHS {
                let head = site.head(method, path);
                let line = format!(
                    "{method} {path}{}x=",
                    if path.contains('?') { '&' } else { '?' }
                );
                let cases = [
                    (
                        "one header",
                        format!("{head}X: {}\r\n\r\n", "x".repeat(MIB)),
                        431,
                    ),
                    (
                        "10 000 headers",
                        format!("{head}{}\r\n", "X: y\r\n".repeat(10_000)),
                        431,
                    ),
                    (
                        "an address",
                        format!("{line}{} HTTP/1.1\r\n\r\n", "x".repeat(MIB)),
                        414,
                    ),
                ];
                for (what, bytes, expected) in cases {
                    let said = exchange(site.connect(door).await, bytes.as_bytes()).await;
                    // A cut connection may lose the answer.
                    let status = status(&said).map(|status| status.as_u16());
                    assert!(
                        status.is_none() || [Some(expected), Some(431)].contains(&status),
                        "{door:?} {path} {what}: {said}"
                    );
                }
            }
            site.owner().await;
        }
        site.works().await;
        assert!(site.peak() < 150 * 1024 * 1024, "{}", site.peak());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_behind_one_another_are_answered_in_order_and_strangers_get_one() {
    const MANY: usize = 300;
    for site in Site::both("") {
        for door in site.doors {
            let one = format!("{}\r\n", site.head("GET", "/v1/channels"));
            let last = format!("{}Connection: close\r\n\r\n", site.head("GET", "/nothing"));
            let all = one.repeat(MANY) + &last;
            let said = exchange(site.connect(door).await, all.as_bytes()).await;
            assert_eq!(said.matches("HTTP/1.1 200").count(), MANY, "{door:?}");
            assert_eq!(said.matches("HTTP/1.1 404").count(), 1, "{door:?}");
            if door != Door::Socket {
                let open = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(MANY);
                let said = exchange(site.connect(door).await, open.as_bytes()).await;
                assert_eq!(said.matches("HTTP/1.1 200").count(), 1, "{door:?}: {said}");
            }
        }
        site.works().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_half_closed_ends_with_its_stream() {
    for site in Site::both("") {
        for door in site.doors {
            let mut stream = site.connect(door).await;
            let request = format!("{}\r\n", site.head("GET", "/v1/events"));
            stream.write_all(request.as_bytes()).await.unwrap();
            until(&mut stream, ": open").await;
            site.wait_metric("leverframe_event_streams", |open| open >= 1.0)
                .await;
            stream.shutdown().await.unwrap();
            site.wait_metric("leverframe_event_streams", |open| open < 1.0)
                .await;
            rest(&mut stream, DEADLINE).await;
        }
        site.works().await;
    }
}
