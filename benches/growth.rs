//! What a long life costs: memory of the daemon before and after many turns through the engine.
//!
//! Run it alone on a quiet machine: `cargo bench --bench growth`. `LEVERFRAME_BENCH_TURNS` makes it shorter.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)] // a bench is a test

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Turns before the first measurement: caches and pools are full by then.
const WARM_UP: usize = 5_000;
/// Turns of one session; then the next begins.
const PER_SESSION: usize = 100;
/// Sessions that are used at the same time.
const AT_ONCE: usize = 8;

struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Daemon {
    /// Resident memory, in KiB.
    fn rss(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

fn setting(name: &str, otherwise: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// One request on a connection that stays open; the body of the answer.
fn post(stream: &mut BufReader<UnixStream>, path: &str, body: &str) -> String {
    write!(
        stream.get_mut(),
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut length = 0;
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    assert!(line.contains(" 20"), "{line}");
    loop {
        line.clear();
        stream.read_line(&mut line).unwrap();
        if line == "\r\n" {
            break;
        }
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

/// Runs turns one after the other, in new sessions now and then.
fn turns(socket: &Path, count: usize) {
    let mut stream = BufReader::new(UnixStream::connect(socket).unwrap());
    let mut session = String::new();
    for n in 0..count {
        if n % PER_SESSION == 0 {
            let made: serde_json::Value =
                serde_json::from_str(&post(&mut stream, "/v1/sessions", "{}")).unwrap();
            made["id"].as_str().unwrap().clone_into(&mut session);
        }
        let answer = post(
            &mut stream,
            &format!("/v1/sessions/{session}/messages?wait=30"),
            r#"{"text":"SAY:an answer of a usual length, which nobody will ever read again"}"#,
        );
        assert!(answer.contains(r#""state":"completed""#), "{answer}");
    }
}

fn all(socket: &Path, count: usize) {
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| turns(socket, count / AT_ONCE));
        }
    });
}

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let count = setting("LEVERFRAME_BENCH_TURNS", 100_000);
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    std::fs::write(&config, "[model]\ndefault = \"scripted/demo\"\n").unwrap();
    let data = home.path().join("data");
    let child = Command::new(env!("CARGO_BIN_EXE_leverframe"))
        .arg("--daemon")
        .env("LEVERFRAME_CONFIG", &config)
        .env("LEVERFRAME_DATA_DIR", &data)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let daemon = Daemon(child);
    let socket = data.join("leverframe.sock");
    let deadline = Instant::now() + Duration::from_secs(10);
    while UnixStream::connect(&socket).is_err() {
        assert!(Instant::now() < deadline, "the daemon does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    let idle = daemon.rss();
    all(&socket, WARM_UP);
    let before = daemon.rss();
    let began = Instant::now();
    all(&socket, count);
    let took = began.elapsed().as_secs_f64();
    let after = daemon.rss();
    println!(
        "turns                 {count} in {took:.0} s, {:.0} a second",
        count as f64 / took
    );
    println!("memory at the start   {idle} KiB");
    println!("after {WARM_UP} turns      {before} KiB");
    println!(
        "after all             {after} KiB, {:+} KiB (at most +10 240)",
        i64::try_from(after).unwrap() - i64::try_from(before).unwrap()
    );
}
