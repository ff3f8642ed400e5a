//! Hygiene of 1 000 000 memories while 50 sessions run: what it adds to a turn, and what it adds to the daemon's memory.
//! And the size of a database over ten days of traffic under retention.
//!
//! Run it alone on a quiet machine: `cargo bench --bench hygiene`. `LEVERFRAME_BENCH_MEMORIES` makes it shorter.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    dead_code
)] // a bench is a test, and uses a part of the tests' world

mod harness;
// The paths in it count from a directory that is there.
#[path = "harness"]
mod store {
    #[path = "../../tests/it/store/world.rs"]
    pub mod world;
}
#[path = "../tests/it/hygiene/world.rs"]
mod memories;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leverframe::clock::Clock;
use rusqlite::Connection;

use crate::memories::{DAY_MS, Row, engine, tidy_anyway};
use crate::store::world::World;

/// Sessions that are used at the same time.
const AT_ONCE: usize = 50;
/// Turns that each of them takes before hygiene begins.
const BEFORE: usize = 20;
/// Days of traffic.
const DAYS: i64 = 10;
/// Memories written on each of them.
const A_DAY: i64 = 5_000;

struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Daemon {
    fn start(dir: &Path) -> Daemon {
        let child = Command::new(env!("CARGO_BIN_EXE_leverframe"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", dir)
            .arg("--data-dir")
            .arg(dir.join("data"))
            .arg("--daemon")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let daemon = Daemon(child);
        let deadline = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(dir.join("data/leverframe.sock")).is_err() {
            assert!(Instant::now() < deadline, "the daemon does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        daemon
    }

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

fn connect(socket: &Path) -> BufReader<UnixStream> {
    BufReader::new(UnixStream::connect(socket).unwrap())
}

/// One request on a connection that stays open; the body of the answer.
fn post(stream: &mut BufReader<UnixStream>, path: &str, body: &str) -> serde_json::Value {
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
    serde_json::from_slice(&body).unwrap()
}

fn fill(dir: &Path, memories: i64) {
    let conn = Connection::open(dir.join("data/leverframe.db")).unwrap();
    let now = Clock::System.now().as_millis();
    conn.execute_batch("PRAGMA synchronous = OFF; BEGIN")
        .unwrap();
    for n in 0..memories {
        let row = Row {
            text: format!(
                "person {n} likes the colour {} and lives in town {}",
                n % 97,
                n % 9973
            ),
            ..Row::old(now, 60)
        };
        row.insert(&conn);
    }
    conn.execute_batch("COMMIT").unwrap();
    // Nothing runs by itself.
    let ran = "INSERT OR REPLACE INTO meta (key, value) VALUES ('last_hygiene', ?1)";
    conn.execute(ran, [now.to_string()]).unwrap();
}

/// Every session takes turns one after the other until hygiene is over; (before, during).
fn latencies(daemon: &Daemon, socket: &Path) -> (Vec<Duration>, Vec<Duration>) {
    let (before, during) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let (over, ready) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let mut stream = connect(socket);
                let session = post(&mut stream, "/v1/sessions", "{}")["id"].clone();
                let path = format!(
                    "/v1/sessions/{}/messages?wait=30",
                    session.as_str().unwrap()
                );
                let mut turn = || {
                    let began = Instant::now();
                    let done = post(&mut stream, &path, r#"{"text":"SAY:an answer"}"#);
                    assert_eq!(done["state"], "completed", "{done}");
                    began.elapsed()
                };
                let taken: Vec<Duration> = (0..BEFORE).map(|_| turn()).collect();
                before.lock().unwrap().extend(&taken[BEFORE / 4..]);
                ready.fetch_add(1, Ordering::SeqCst);
                let mut taken = Vec::new();
                while !over.load(Ordering::SeqCst) {
                    taken.push(turn());
                }
                during.lock().unwrap().extend(taken);
            });
        }
        while ready.load(Ordering::SeqCst) < AT_ONCE as u64 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let rss = daemon.rss();
        let most = AtomicU64::new(rss);
        let began = Instant::now();
        std::thread::scope(|inner| {
            inner.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    most.fetch_max(daemon.rss(), Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            let run = post(
                &mut connect(socket),
                "/v1/memory/hygiene",
                r#"{"yes":true}"#,
            );
            over.store(true, Ordering::SeqCst);
            println!(
                "{} memories put aside in {:?}",
                run["report"]["archived"],
                began.elapsed()
            );
        });
        let most = most.load(Ordering::SeqCst);
        println!("resident before {rss} KiB, at most {most} KiB while it ran");
    });
    (before.into_inner().unwrap(), during.into_inner().unwrap())
}

fn beside_turns() {
    let memories = std::env::var("LEVERFRAME_BENCH_MEMORIES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000);
    let dir = tempfile::tempdir().unwrap();
    drop(Daemon::start(dir.path()));
    fill(dir.path(), memories);
    let daemon = Daemon::start(dir.path());
    let socket = dir.path().join("data/leverframe.sock");
    let (before, during) = latencies(&daemon, &socket);
    harness::report("a turn, 50 sessions", before);
    harness::report("a turn, 50 sessions, during hygiene", during);
}

async fn ten_days() {
    let world = World::new().await;
    let engine = engine(
        &world,
        "retention_days = 2\nundo_days = 1\nmax_memories = 1000000\n",
    );
    let mut sizes = Vec::new();
    for day in 0..DAYS {
        let now = world.clock.now().as_millis();
        world
            .store
            .with_writer(move |conn| {
                conn.execute_batch("BEGIN").unwrap();
                for n in 0..A_DAY {
                    let row = Row {
                        text: format!("day {day}: person {n} likes the colour {}", n % 97),
                        ..Row::old(now, 0)
                    };
                    row.insert(conn);
                }
                conn.execute_batch("COMMIT").unwrap();
            })
            .await
            .unwrap();
        world.clock.advance_millis(DAY_MS / 2);
        tidy_anyway(&engine).await;
        world.clock.advance_millis(DAY_MS / 2);
        let run = tidy_anyway(&engine).await;
        let pages = memories::count(&world, "SELECT * FROM pragma_page_count").await;
        sizes.push(pages * 4096);
        println!(
            "day {:>2}: {:>9} bytes, {} put aside, {} removed in {} ms",
            day + 1,
            pages * 4096,
            run.report.archived,
            run.report.removed,
            run.duration_ms.unwrap_or(0)
        );
    }
    let (full, last) = (sizes[4], sizes[sizes.len() - 1]);
    println!("from day 5 to day {DAYS}: {full} to {last} bytes");
    assert!(last <= full + full / 5, "it goes on growing");
}

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(ten_days());
    beside_turns();
}
