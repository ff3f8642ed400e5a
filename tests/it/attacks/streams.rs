//! Many streams of events on which nothing happens: what each costs, and that a revoked token ends its own.

use std::time::Instant;

use tokio::io::AsyncWriteExt as _;

use crate::attacks::site::{Site, Wire, until};
use crate::people::token;
use crate::support::daemon::DEADLINE;

/// Memory that one idle stream may cost, in bytes.
const EACH: u64 = 24 * 1024;

fn raise_own_limit() {
    let own = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit {
        current: own.maximum,
        maximum: own.maximum,
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).expect("a higher limit");
}

async fn open(site: &Site, token: &str) -> Box<dyn Wire> {
    let mut stream = site.connect(site.doors[0]).await;
    let request = format!(
        "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    until(&mut stream, ": open").await;
    stream
}

/// Opens so many streams of two tokens; what each costs, in bytes.
async fn cost(site: &Site, many: usize) -> u64 {
    raise_own_limit();
    let tokens = ["one", "two"].map(|name| token(&site.home, name, &["--scope", "read"]));
    // What the first ones make the daemon allocate stays for the others.
    let mut streams = Vec::new();
    for number in 0..200 {
        streams.push(open(site, &tokens[number % 2]).await);
    }
    let before = site.memory("VmRSS:");
    for number in 0..many {
        streams.push(open(site, &tokens[number % 2]).await);
    }
    let each = (site.memory("VmRSS:").saturating_sub(before)) / many as u64;
    site.owner().await;
    let open = site.metric("leverframe_event_streams").await;
    assert!(open >= (many + 200) as f64, "{open} streams are open");
    // One of the tokens goes: its streams end within moments, and the others stay.
    let begun = Instant::now();
    let (status, _) = site.daemon.request("DELETE", "/v1/tokens/one", None).await;
    assert_eq!(status, 200);
    let half = (many + 200) as f64 / 2.0;
    site.wait_metric("leverframe_event_streams", |open| open <= half)
        .await;
    assert!(begun.elapsed() < DEADLINE / 2, "{:?}", begun.elapsed());
    // The last chunk.
    until(&mut streams[0], "0\r\n\r\n").await;
    let stay = site.metric("leverframe_event_streams").await;
    assert!((stay - half).abs() < 0.5, "{stay} stay");
    each
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_stream_costs_little_memory() {
    let site = Site::plain("");
    let each = cost(&site, 2000).await;
    assert!(each <= EACH, "{each} bytes each");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_stream_under_tls_costs_little_memory() {
    let site = Site::tls("");
    let each = cost(&site, 1000).await;
    assert!(each <= EACH, "{each} bytes each under TLS");
}
