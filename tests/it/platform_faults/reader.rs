//! A reader of events that stops reading.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::daemon::{Daemon, Home};
use crate::support::record::fault;

/// Long answers, streamed: more bytes of deltas than the kernel holds for a connection.
const ANSWERS: usize = 3;
const ANSWER: usize = 120_000;
/// Short messages, each a handful of commits.
const MESSAGES: usize = 150;
/// The log is written again from its start once it was copied, whatever was written.
const WAL_LIMIT: u64 = 18_000_000;
const LONG: Duration = Duration::from_secs(240);

async fn open(daemon: &Daemon, path: &str) -> TcpStream {
    let address = daemon.base.strip_prefix("http://").unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n",
        daemon.token
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads until this many of something have gone by.
async fn count(stream: &mut TcpStream, what: &str, wanted: usize) -> usize {
    let mut seen = 0;
    let mut rest = String::new();
    let mut buffer = vec![0; 65_536];
    let deadline = Instant::now() + LONG;
    while seen < wanted && Instant::now() < deadline {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(read) = tokio::time::timeout(left, stream.read(&mut buffer)).await else {
            break;
        };
        let size = read.unwrap();
        if size == 0 {
            break;
        }
        rest.push_str(&String::from_utf8_lossy(&buffer[..size]));
        seen += rest.matches(what).count();
        // Keep what may be the beginning of the next one.
        let keep = rest
            .char_indices()
            .rev()
            .nth(what.len())
            .map_or(0, |(at, _)| at);
        rest = rest.split_off(keep);
        if rest.contains(what) {
            rest.clear();
        }
    }
    seen
}

/// Bytes the process has written so far, to anything.
fn written(daemon: &Daemon) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{}/io", daemon.pid())).unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|count| count.parse().ok()).expect("wchar")
}

/// Resident memory in kilobytes.
fn resident(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .expect("VmRSS")
}

#[tokio::test]
async fn a_reader_that_stops_costs_neither_disk_nor_memory_nor_the_others_their_time() {
    // The answers are long, and each turn is sent the ones before it.
    let home = Home::new("[budgets]\nmax_tokens = 100_000_000\n");
    let daemon = home.daemon();
    let session = daemon.session().await;
    // Subscribed to everything, with deltas, and never read from.
    let stuck = open(&daemon, &format!("/v1/events?after=0&deltas={session}")).await;
    let mut healthy = open(&daemon, "/v1/events?kind=continuation.completed").await;
    count(&mut healthy, ": open", 1).await;
    let before = resident(&daemon);
    let reading = tokio::spawn(async move {
        let all = ANSWERS + MESSAGES;
        count(&mut healthy, "event: continuation.completed", all).await
    });
    for n in 0..ANSWERS {
        let text = format!("SAY:{n} {}", "x".repeat(ANSWER));
        let path = format!("/v1/sessions/{session}/messages?wait=20");
        let (status, answer) = daemon
            .request("POST", &path, Some(json!({ "text": text })))
            .await;
        assert_eq!((status, &answer["state"]), (200, &json!("completed")));
    }
    let wal = home.data().join("leverframe.db-wal");
    let mut largest = 0;
    for n in 0..MESSAGES {
        let text = format!("SAY:{n}");
        let (status, answer) = daemon
            .request("POST", "/v1/ask?wait=20", Some(json!({ "text": text })))
            .await;
        assert_eq!((status, &answer["state"]), (200, &json!("completed")));
        largest = largest.max(std::fs::metadata(&wal).map_or(0, |found| found.len()));
    }
    assert_eq!(
        reading.await.unwrap(),
        ANSWERS + MESSAGES,
        "somebody else missed events"
    );
    assert!(
        written(&daemon) > WAL_LIMIT,
        "too little was written for the bound to mean anything"
    );
    assert!(largest < WAL_LIMIT, "the log grew to {largest} bytes");
    let grown = resident(&daemon).saturating_sub(before) / 1024;
    assert!(grown < 96, "memory grew by {grown} MiB");
    drop(stuck);
    fault(
        "stuck-reader",
        "a subscriber to all events and deltas that never reads, while long and short turns write more than the log may hold",
        "no other subscriber misses an event or waits; memory and write-ahead log stay bounded; the daemon cuts it after 20 s (api_http::streams)",
    );
}
