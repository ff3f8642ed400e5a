//! What one address and one principal get, and that nobody takes the share of another.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leverframe::api::accounts::{Accounts, Payer};
use leverframe::api::report::NoReport;
use leverframe::api::seats::{Seat, SeatLimits, Seats};
use leverframe::config::server::ListenerLimits;
use leverframe::protocol::listener::ListenerRefusal;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::attacks::site::{Door, Site, rest, status, until};
use crate::people::token;
use crate::support::daemon::DEADLINE;

/// A stream of events of a token, as far as its first bytes.
async fn stream(site: &Site, token: &str) -> Result<TcpStream, String> {
    let mut stream = site.bare().await;
    let request = format!(
        "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = until(&mut stream, "\r\n\r\n").await;
    if head.starts_with("HTTP/1.1 200") {
        Ok(stream)
    } else {
        Err(head)
    }
}

/// The rows of the doctor about the listener.
async fn doctor(site: &Site) -> String {
    let said = site.ask(Door::Socket, "GET /v1/doctor").await;
    let (_, body) = said.split_once("\r\n\r\n").unwrap();
    let doctor: Value = serde_json::from_str(body).unwrap();
    let rows = doctor["findings"].as_array().unwrap().iter();
    let about = rows.filter(|row| row["about"] == "listener");
    about.map(|row| row["detail"].to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_principal_gets_so_many_connections_and_the_others_keep_theirs() {
    let site = Site::plain("[server]\nmax_connections_per_principal = 8\n");
    let one = token(&site.home, "one", &["--scope", "read"]);
    let other = token(&site.home, "other", &["--scope", "read"]);
    let mut open = Vec::new();
    for _ in 0..8 {
        open.push(stream(&site, &one).await.expect("a stream"));
    }
    let refused = stream(&site, &one).await.expect_err("one too many");
    assert_eq!(status(&refused).unwrap(), 429);
    let refused = refused.to_ascii_lowercase();
    for header in [
        "retry-after: 10",
        "connection: close",
        "application/problem+json",
    ] {
        assert!(refused.contains(header), "{header}: {refused}");
    }
    let theirs = stream(&site, &other).await;
    assert!(theirs.is_ok(), "{theirs:?}");
    site.owner().await;
    let name = "leverframe_listener_refusals_total{reason=\"principal_connections\"}";
    assert!(site.metric(name).await >= 1.0);
    let said = doctor(&site).await;
    assert!(said.contains("max_connections_per_principal"), "{said}");
    // The place of a stream that ended is free again.
    drop(open.pop());
    let deadline = Instant::now() + DEADLINE;
    while let Err(refused) = stream(&site, &one).await {
        assert!(Instant::now() < deadline, "{refused}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    site.works().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_one_principal_however_many_tokens_they_have() {
    let people = "[people.cleo]\nids = [\"telegram:100\"]\nrole = \"user\"\n\n";
    let site = Site::plain(&format!(
        "{people}[server]\nmax_connections_per_principal = 8\n"
    ));
    let mut open = Vec::new();
    for name in ["a", "b"] {
        let value = token(&site.home, name, &["--scope", "read", "--person", "cleo"]);
        for _ in 0..4 {
            open.push(stream(&site, &value).await.expect("a stream"));
        }
    }
    let value = token(&site.home, "c", &["--scope", "read", "--person", "cleo"]);
    let refused = stream(&site, &value).await.expect_err("one too many");
    assert_eq!(status(&refused).unwrap(), 429);
    assert!(stream(&site, &site.daemon.token).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_principal_never_has_all_places_and_whoever_finds_none_is_told() {
    let site =
        Site::plain("[server]\nmax_connections = 16\nmax_connections_per_principal = 1000\n");
    let one = token(&site.home, "one", &["--scope", "read"]);
    let other = token(&site.home, "other", &["--scope", "read"]);
    let mut open = Vec::new();
    loop {
        match stream(&site, &one).await {
            Ok(stream) => open.push(stream),
            Err(refused) => {
                assert_eq!(status(&refused).unwrap(), 429, "{refused}");
                break;
            }
        }
    }
    assert_eq!(open.len(), 14, "all but an eighth");
    // The others still get in, until there is nobody left to make room.
    for _ in 0..2 {
        open.push(stream(&site, &other).await.expect("a stream"));
    }
    let mut late = site.bare().await;
    let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    late.write_all(request.as_bytes()).await.unwrap();
    let said = rest(&mut late, DEADLINE).await;
    assert_eq!(status(&said).unwrap(), 503, "{said}");
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("Retry-After: 10"), "{head}");
    let problem: Value = serde_json::from_str(body).unwrap();
    assert_eq!(problem["kind"], "unavailable", "{problem}");
    assert!(
        problem["hint"]
            .as_str()
            .unwrap()
            .contains("max_connections")
    );
    site.owner().await;
    let name = "leverframe_listener_refusals_total{reason=\"connections\"}";
    assert!(site.metric(name).await >= 1.0);
    assert!(site.metric("leverframe_listener_connections").await >= 16.0);
    drop(open);
    site.wait_metric("leverframe_listener_connections", |open| open < 4.0)
        .await;
    site.works().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_proves_nothing_makes_room_for_whoever_does() {
    let site = Site::plain("[server]\nmax_connections = 32\n");
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(site.bare().await);
        let begun = Instant::now();
        if silent.len().is_multiple_of(10) {
            // Long before a silent connection is cut for its silence.
            let said = site.ask(Door::Plain, "GET /v1/channels").await;
            assert!(said.starts_with("HTTP/1.1 200"), "{said}");
            assert!(
                begun.elapsed() < Duration::from_secs(8),
                "{:?}",
                begun.elapsed()
            );
        }
    }
    let name = "leverframe_listener_refusals_total{reason=\"displaced\"}";
    assert!(site.metric(name).await >= 1.0);
    site.works().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_principal_that_asks_too_often_waits_and_nobody_else_does() {
    let site = Site::plain("[server]\nrequests_per_minute = 60\n");
    let one = token(&site.home, "one", &["--scope", "read"]);
    let other = token(&site.home, "other", &["--scope", "read"]);
    let http = crate::support::daemon::client();
    let ask = |token: &str| {
        let request = http.get(format!("{}/v1/channels", site.daemon.base));
        request.bearer_auth(token).send()
    };
    let mut refused = None;
    for _ in 0..200 {
        let answer = ask(&one).await.unwrap();
        if answer.status() != 200 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("it is refused after a minute's worth");
    assert_eq!(refused.status(), 429);
    let seconds = refused.headers()["retry-after"].to_str().unwrap();
    let seconds: u64 = seconds.parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["title"], "too many requests", "{problem}");
    assert!(
        problem["hint"]
            .as_str()
            .unwrap()
            .contains("requests_per_minute")
    );
    assert_eq!(ask(&other).await.unwrap().status(), 200);
    for _ in 0..100 {
        site.owner().await;
    }
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    assert_eq!(ask(&one).await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_strangers_fill_no_memory_of_others() {
    const ALMOST: usize = 4 * 1024 * 1024 - 1;
    let site = Site::plain("");
    let body = "x".repeat(ALMOST);
    let request = format!(
        "POST /webhooks/shop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        ALMOST + 1
    );
    let mut waiting = Vec::new();
    for _ in 0..4 {
        let mut stream = site.bare().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    // The next finds no room once the others are read. On a slow machine some of them are cut by then: others follow.
    let mut said = String::new();
    let deadline = Instant::now() + DEADLINE;
    while status(&said).is_none_or(|status| status != 429) {
        assert!(Instant::now() < deadline, "{said}");
        let mut stream = site.bare().await;
        if stream.write_all(request.as_bytes()).await.is_ok() {
            waiting.push(stream);
        }
        let stream = site.connect(Door::Plain).await;
        let sent = request.clone() + "x";
        said = crate::attacks::heads::exchange(stream, sent.as_bytes()).await;
    }
    assert!(
        said.to_ascii_lowercase().contains("retry-after: 1"),
        "{said}"
    );
    let name = "leverframe_listener_refusals_total{reason=\"bodies\"}";
    assert!(site.metric(name).await >= 1.0);
    // Whoever has a credential has room of their own.
    site.works().await;
    drop(waiting);
    assert!(site.peak() < 200 * 1024 * 1024, "{}", site.peak());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_descriptors_the_owner_the_database_and_tools_go_on() {
    let site = Site::narrow("", 256);
    let tokens: Vec<String> = (0..10)
        .map(|number| token(&site.home, &format!("t{number}"), &["--scope", "read"]))
        .collect();
    let mut open = Vec::new();
    for value in &tokens {
        for _ in 0..20 {
            if let Ok(Ok(stream)) =
                tokio::time::timeout(Duration::from_secs(3), attempt(&site, value)).await
            {
                open.push(stream);
            }
        }
    }
    assert!(open.len() >= 100, "{} streams", open.len());
    let mut silent = Vec::new();
    for _ in 0..300 {
        let connecting = TcpStream::connect(site.address());
        if let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_millis(50), connecting).await {
            silent.push(stream);
        }
    }
    let [used, most] = ["process_open_fds", "process_max_fds"].map(|name| site.metric(name));
    let (used, most) = (used.await, most.await);
    assert!(used < most * 0.8, "{used} of {most}");
    for _ in 0..20 {
        site.owner().await;
    }
    site.runs(Door::Socket).await;
    drop(silent);
    drop(open);
    site.wait_metric("leverframe_listener_connections", |open| open < 4.0)
        .await;
    site.works().await;
}

/// The same as `stream`, for a listener that may cut it.
async fn attempt(site: &Site, token: &str) -> std::io::Result<TcpStream> {
    use tokio::io::AsyncReadExt as _;
    let mut stream = TcpStream::connect(site.address()).await?;
    let request = format!(
        "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await?;
    if head.ends_with(b"200") {
        Ok(stream)
    } else {
        Err(std::io::Error::other("refused"))
    }
}

#[test]
fn the_seats_follow_from_the_descriptors_and_the_settings() {
    let usual = ListenerLimits::default();
    let limits = SeatLimits::among(16_384, &usual);
    let expected = SeatLimits {
        all: 12_288,
        strangers: 1024,
        strangers_of_address: 512,
        of_address: 10_752,
        of_principal: 1536,
    };
    assert_eq!(limits, expected);
    // Ten thousand streams and more, of eight principals or of as many as one may have.
    assert!(8 * limits.of_principal > 10_000 && limits.of_address > 10_000);
    // With few descriptors half of them stay for everything else.
    let narrow = SeatLimits::among(256, &usual);
    assert_eq!(
        (narrow.all, narrow.strangers, narrow.of_principal),
        (128, 64, 16)
    );
    assert_eq!(SeatLimits::among(u64::MAX, &usual).all, 12_288);
    let wishes = ListenerLimits {
        connections: Some(50_000),
        connections_per_principal: Some(50_000),
        ..usual
    };
    let wide = SeatLimits::among(60_000, &wishes);
    assert_eq!((wide.all, wide.of_principal), (50_000, 43_750));
    assert_eq!(SeatLimits::among(16_384, &wishes).all, 12_288);
}

fn seats(all: usize) -> Seats {
    let wishes = ListenerLimits {
        connections: u32::try_from(all).ok(),
        ..ListenerLimits::default()
    };
    Seats::new(SeatLimits::among(16_384, &wishes), Arc::new(NoReport))
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[tokio::test]
async fn an_address_has_its_share_of_strangers_and_a_network_is_one_address() {
    let seats = seats(32);
    let mut held: Vec<Seat> = Vec::new();
    // Of sixteen seats of strangers, eight.
    for number in 0..8 {
        let one = address(&format!("2001:db8::{number}"));
        held.push(seats.take(one).await.unwrap());
    }
    let ninth = seats.take(address("2001:db8::ffff")).await;
    assert_eq!(ninth.unwrap_err(), ListenerRefusal::AddressConnections);
    for other in [
        "2001:db8:0:1::1",
        "192.0.2.1",
        "::ffff:192.0.2.2",
        "127.0.0.1",
    ] {
        held.push(seats.take(address(other)).await.unwrap());
    }
    // After its time the oldest of its own makes room, and nobody else does.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    held.push(seats.take(address("2001:db8::ffff")).await.unwrap());
    tokio::time::timeout(Duration::from_secs(1), held[0].displaced())
        .await
        .expect("the first made room");
    let others = held[1..].iter().map(|seat| Box::pin(seat.displaced()));
    let other = futures_util::future::select_all(others);
    let other = tokio::time::timeout(Duration::from_millis(50), other);
    assert!(other.await.is_err(), "somebody else was displaced");
}

#[tokio::test]
async fn a_stranger_has_its_moment_and_an_answered_one_is_displaced_last() {
    let seats = seats(8);
    let local = address("127.0.0.1");
    let mut held: Vec<Seat> = Vec::new();
    for _ in 0..4 {
        held.push(seats.take(local).await.unwrap());
    }
    held[0].await_answer();
    let begun = Instant::now();
    let fifth = seats.take(local).await.unwrap();
    assert!(
        begun.elapsed() > Duration::from_millis(800),
        "{:?}",
        begun.elapsed()
    );
    tokio::time::timeout(Duration::from_secs(1), held[1].displaced())
        .await
        .expect("the oldest idle one made room");
    assert!(held[0].is_stranger());
    // Whoever shows a credential is no stranger: the next one finds room at once.
    fifth.admit(&Arc::from("one")).unwrap();
    assert!(!fifth.is_stranger());
    let begun = Instant::now();
    let sixth = seats.take(local).await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(500));
    drop((held, sixth));
}

#[tokio::test]
async fn a_seat_counts_for_one_principal_at_a_time_and_once() {
    let seats = seats(8);
    let local = address("127.0.0.1");
    let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
    let (first, second) = (
        seats.take(local).await.unwrap(),
        seats.take(local).await.unwrap(),
    );
    // An eighth of eight.
    first.admit(&one).unwrap();
    first.admit(&one).unwrap();
    assert_eq!(second.admit(&one), Err(1));
    first.admit(&other).unwrap();
    second.admit(&one).unwrap();
    assert_eq!(first.admit(&one), Err(1));
    drop(second);
    first.admit(&one).unwrap();
}

#[test]
fn bytes_under_way_count_until_their_request_ends() {
    const MIB: usize = 1024 * 1024;
    let accounts = Arc::new(Accounts::new(None, Arc::new(NoReport)));
    let of = |name: &str| accounts.body(Payer::Principal(name.into()));
    let (one, two) = (of("one"), of("one"));
    one.add(40 * MIB).unwrap();
    two.add(20 * MIB).unwrap();
    assert!(two.add(5 * MIB).is_err());
    of("other").add(60 * MIB).unwrap();
    drop(one);
    two.add(40 * MIB).unwrap();
    // All together.
    let mut held = vec![two];
    for name in ["a", "b", "c"] {
        let account = of(name);
        account.add(60 * MIB).unwrap();
        held.push(account);
    }
    assert!(of("d").add(60 * MIB).is_err());
    // Addresses without a credential share one part of it.
    drop(held);
    let of = |text: &str| accounts.body(Payer::stranger(text.parse().unwrap()));
    let (here, there) = (of("192.0.2.1"), of("192.0.2.2"));
    here.add(16 * MIB).unwrap();
    assert!(of("192.0.2.1").add(1).is_err());
    there.add(16 * MIB).unwrap();
    assert!(of("192.0.2.3").add(1).is_err());
    drop(here);
    of("192.0.2.3").add(1).unwrap();
}
