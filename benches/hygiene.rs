//! Hygiene of 1 000 000 memories while 50 sessions run: what it adds to a turn, and what it adds to the daemon's memory.
//! First one run that puts all of them aside, then one that removes them for good and gives the space back.
//!
//! Run it alone on a quiet machine: `cargo bench --bench hygiene`. `LEVERFRAME_BENCH_MEMORIES` makes it shorter, and
//! `LEVERFRAME_BENCH_SECONDS` measures only so many seconds of each run. `LEVERFRAME_BENCH_DATA` is a data directory that
//! is filled where it is empty, and kept.
//!
//! Sessions take a turn every `LEVERFRAME_BENCH_PAUSE_MS` (250; 0 = the next one as soon as one has ended); a turn
//! that is late counts from the time it was due. They are measured for `LEVERFRAME_BENCH_ALONE` seconds (15) without
//! hygiene first.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    dead_code
)] // a bench is a test, and uses a part of the tests' world

#[path = "harness/daemon.rs"]
mod daemon;
mod harness;
// The paths in it count from a directory that is there.
#[path = "harness"]
mod support {
    #[path = "../../tests/it/support/world.rs"]
    pub mod world;
}
#[path = "../tests/it/hygiene/world.rs"]
mod memories;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use leverframe::clock::Clock;
use rusqlite::Connection;

use crate::daemon::{Daemon, load};
use crate::memories::Row;

/// Sessions that are used at the same time.
const AT_ONCE: usize = 50;
/// How long turns are taken before anything is measured, so that sessions have their history and were compacted.
const WARM_UP: Duration = Duration::from_secs(5);
/// Between the end of hygiene and the last look at the memory.
const AFTER: Duration = Duration::from_secs(10);
/// How long they are measured without hygiene.
const ALONE: Duration = Duration::from_secs(15);
/// Seconds of a part of the time for which the longest turn is told.
const PART: u64 = 10;
/// The most that hygiene may add to the time of a turn.
const LIMIT: Duration = Duration::from_millis(10);

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn open(dir: &Path) -> Connection {
    Connection::open(dir.join("leverframe.db")).unwrap()
}

fn fill(dir: &Path, memories: u64) {
    let conn = open(dir);
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

/// When a turn is taken.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    WarmUp,
    Alone,
    Hygiene,
    After,
    Over,
}

/// What was measured.
#[derive(Default)]
struct Times {
    alone: Vec<Duration>,
    during: Vec<Duration>,
    /// The longest turn of each part of the time, by the seconds since hygiene began.
    longest: BTreeMap<u64, Duration>,
    /// Answers of the daemon to `GET /readyz` while hygiene ran.
    health: Vec<Duration>,
}

/// Every session takes turns until hygiene is over.
fn beside_turns(daemon: &Daemon, pause: Duration) -> Times {
    let times = Mutex::new(Times::default());
    let phase = Mutex::new(Phase::WarmUp);
    let now = || *phase.lock().unwrap();
    let over = AtomicBool::new(false);
    let first = AtomicUsize::new(0);
    let began = Mutex::new(Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let mut connection = daemon.connect();
                let session = connection.post("/v1/sessions", "{}")["id"].clone();
                let path = format!(
                    "/v1/sessions/{}/messages?wait=30",
                    session.as_str().unwrap()
                );
                let (mut alone, mut during) = (Vec::new(), Vec::new());
                let mut longest = BTreeMap::<u64, Duration>::new();
                // They do not all begin at once.
                let at = first.fetch_add(1, Ordering::SeqCst) as u32;
                let mut due = Instant::now() + pause * at / AT_ONCE as u32;
                loop {
                    let phase = now();
                    if phase == Phase::Over {
                        break;
                    }
                    match due.checked_duration_since(Instant::now()) {
                        Some(early) => std::thread::sleep(early),
                        None if pause.is_zero() => due = Instant::now(),
                        None => {}
                    }
                    let done = connection.post(&path, r#"{"text":"SAY:an answer"}"#);
                    assert_eq!(done["state"], "completed", "{done}");
                    let took = due.elapsed();
                    match phase {
                        Phase::Alone => alone.push(took),
                        Phase::Hygiene => {
                            during.push(took);
                            let part = began.lock().unwrap().elapsed().as_secs() / PART * PART;
                            let most = longest.entry(part).or_default();
                            *most = took.max(*most);
                        }
                        Phase::WarmUp | Phase::After | Phase::Over => {}
                    }
                    due += pause;
                }
                let mut times = times.lock().unwrap();
                times.alone.extend(alone);
                times.during.extend(during);
                for (part, took) in longest {
                    let most = times.longest.entry(part).or_default();
                    *most = took.max(*most);
                }
            });
        }
        std::thread::sleep(WARM_UP);
        *phase.lock().unwrap() = Phase::Alone;
        std::thread::sleep(Duration::from_secs(setting(
            "LEVERFRAME_BENCH_ALONE",
            ALONE.as_secs(),
        )));
        let before = daemon.rss();
        println!(
            "resident before {} KiB, {} KiB of it anonymous; load {}",
            before.0,
            before.1,
            load()
        );
        *began.lock().unwrap() = Instant::now();
        *phase.lock().unwrap() = Phase::Hygiene;
        let began = *began.lock().unwrap();
        std::thread::scope(|inner| {
            inner.spawn(|| {
                let mut connection = daemon.connect();
                let (mut most, mut answers) = (before, Vec::new());
                while !over.load(Ordering::SeqCst) {
                    let asked = Instant::now();
                    assert!(connection.get("/readyz").is_object());
                    answers.push(asked.elapsed());
                    let now = daemon.rss();
                    most = (most.0.max(now.0), most.1.max(now.1));
                    std::thread::sleep(Duration::from_millis(50));
                }
                println!(
                    "resident at most {} KiB while it ran ({:+} KiB), {} KiB of it anonymous ({:+} KiB)",
                    most.0,
                    most.0.cast_signed() - before.0.cast_signed(),
                    most.1,
                    most.1.cast_signed() - before.1.cast_signed()
                );
                times.lock().unwrap().health = answers;
            });
            let mut looking = daemon.connect();
            let mut newest = || looking.get("/v1/memory/hygiene/runs?limit=1")["items"][0].clone();
            let earlier = newest()["id"].clone();
            let mut asking = daemon.connect();
            asking.send("POST", "/v1/memory/hygiene", r#"{"yes":true}"#);
            let most = Duration::from_secs(setting("LEVERFRAME_BENCH_SECONDS", 24 * 3600));
            let run = loop {
                std::thread::sleep(Duration::from_millis(20));
                let run = newest();
                let ended = run["id"] != earlier && run["state"] != "running";
                if ended || began.elapsed() > most {
                    break run;
                }
            };
            let took = began.elapsed();
            over.store(true, Ordering::SeqCst);
            // The turns go on for a while, so that what is left is of hygiene alone.
            *phase.lock().unwrap() = Phase::After;
            std::thread::sleep(AFTER);
            let left = daemon.rss();
            println!(
                "resident {} s after it {:+} KiB, {:+} KiB of it anonymous",
                AFTER.as_secs(),
                left.0.cast_signed() - before.0.cast_signed(),
                left.1.cast_signed() - before.1.cast_signed()
            );
            *phase.lock().unwrap() = Phase::Over;
            println!(
                "{}: {} memories archived, {} removed, {} bytes given back in {:.1} s; load {}",
                run["state"].as_str().unwrap(),
                run["report"]["archived"],
                run["report"]["removed"],
                run["freed_bytes"],
                took.as_secs_f64(),
                load()
            );
        });
    });
    times.into_inner().unwrap()
}

fn p99(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// Runs hygiene beside turns; whether the limit was held.
fn measure(dir: &Path, what: &str, pause: Duration) -> bool {
    println!("--- {what}");
    let daemon = Daemon::start(dir);
    let (preview, took) = daemon.command(&["memory", "hygiene", "--preview"]);
    println!(
        "`memory hygiene --preview` takes {:.2} s: {}",
        took.as_secs_f64(),
        preview.lines().last().unwrap_or_default()
    );
    let mut times = beside_turns(&daemon, pause);
    let added = p99(&mut times.during).saturating_sub(p99(&mut times.alone));
    harness::report("a turn, 50 sessions", times.alone);
    harness::report("a turn, 50 sessions, during hygiene", times.during);
    for (part, took) in &times.longest {
        println!("longest turn after {part:>4} s: {took:?}");
    }
    harness::report("GET /readyz during hygiene", times.health);
    let held = added <= LIMIT;
    println!(
        "added at p99: {added:?} (limit {LIMIT:?}): {}",
        if held { "held" } else { "MISSED" }
    );
    held
}

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let memories = setting("LEVERFRAME_BENCH_MEMORIES", 1_000_000);
    let pause = Duration::from_millis(setting("LEVERFRAME_BENCH_PAUSE_MS", 250));
    let temporary = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("LEVERFRAME_BENCH_DATA");
    let dir = kept.map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    if !dir.join("leverframe.db").exists() {
        drop(Daemon::start(&dir));
        fill(&dir, memories);
    }
    println!("{memories} memories; each session takes a turn every {pause:?}");
    let aside = measure(&dir, "all of them are archived", pause);
    // As if the time were over in which the run can be taken back.
    open(&dir)
        .execute("UPDATE hygiene_runs SET undo_until = 0", [])
        .unwrap();
    let removed = measure(&dir, "all of them are removed, a week has passed", pause);
    assert!(aside && removed);
}
