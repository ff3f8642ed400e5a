//! Size of a database over simulated days of traffic under retention: turns, facts, compactions, sweeps and hygiene of
//! a real engine over a real store, whose clock stands still until it is moved.
//!
//! `cargo bench --bench days`. Everything is kept for a day, turns for 8: less cannot be configured, because a platform
//! may deliver a message again for a week. So it is full after 12 days, and must not grow by more than a tenth in the
//! ten days after them. `LEVERFRAME_BENCH_TURNS` is how many turns there are on a day.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::redundant_closure,
    missing_docs,
    dead_code
)] // a bench is a test, and uses a part of the tests' world

mod harness;
#[path = "../tests/it/support/world.rs"]
mod world;

use std::time::{Duration, Instant};

use leverframe::config::environment::Environment;
use leverframe::config::flags::Flags;
use leverframe::config::layers::load;
use leverframe::engine::core::{Engine, Parts};
use leverframe::engine::log_lines::LogLines;
use leverframe::engine::start;
use leverframe::model::registry::Models;
use leverframe::protocol::command::{Actor, BudgetRequest};
use leverframe::protocol::enums::{ContinuationState, HygieneState, Surface};
use leverframe::protocol::hygiene::HygieneRun;
use leverframe::protocol::ids::SessionId;
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{
    Command, Envelope, Outcome, RunHygiene, SendMessage, StartSession, Sweep,
};
use leverframe::protocol::snapshot::SweepReport;
use leverframe::text::redact::Redactor;
use leverframe::tools::registry::Registry;
use leverframe::tools::sandbox::Sandbox;

use crate::world::World;

/// A quarter of a day: the engine sweeps that often, and tidies every other time.
const QUARTER_MS: i64 = 6 * 3600 * 1000;
/// Conversations that go on for all days; as many others begin and end on each.
const CONVERSATIONS: usize = 10;
/// Turns under way at the same time.
const AT_ONCE: usize = 8;

const CONFIG: &str = "
[engine]
history_exchanges = 20
[channels.api]
autonomy = \"full\"
[memory]
compaction_exchanges = 20
[memory.hygiene]
retention_days = 1
undo_days = 1
[retention]
events_days = 1
history_days = 8
session_idle_days = 1
";

fn engine(world: &World) -> Engine {
    let file = world.dir.join("config.toml");
    std::fs::write(&file, CONFIG).unwrap();
    let flags = Flags {
        config: Some(file),
        data_dir: Some(world.dir.clone()),
        ..Flags::default()
    };
    let home = ("HOME".to_owned(), world.dir.to_str().unwrap().to_owned());
    let environment: Environment = [home].into_iter().collect();
    let settings = load(&flags, &environment, &[]).unwrap();
    let sandbox = Sandbox::none("test");
    Engine::new(
        Parts {
            store: world.store.clone(),
            models: Models::new(&settings).unwrap(),
            settings,
            tools: Registry::builtin(&sandbox).unwrap(),
            sandbox,
            clock: world.clock.clone(),
            redactor: Redactor::new(),
            log: LogLines::default(),
        },
        None,
    )
}

async fn submit(engine: &Engine, command: Command) -> Result<Outcome, Problem> {
    let envelope = Envelope {
        command,
        actor: Actor::Operator {
            uid: 0,
            name: "anna".to_owned(),
            person: None,
        },
        surface: Surface::Http,
        idempotency_key: None,
        trace: None,
    };
    engine.handle(envelope).await
}

/// Carries a command out, after what the engine does by itself.
async fn alone(engine: &Engine, command: Command) -> Outcome {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match submit(engine, command.clone()).await {
            Ok(outcome) => return outcome,
            Err(problem) if problem.kind == ProblemKind::Conflict => {
                assert!(Instant::now() < deadline, "{problem}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(problem) => panic!("{problem}"),
        }
    }
}

async fn session(engine: &Engine, conversation: String) -> SessionId {
    let start = Command::StartSession(StartSession {
        channel: Some("api".to_owned()),
        conversation: Some(conversation),
        title: None,
        model: None,
    });
    match submit(engine, start).await.unwrap() {
        Outcome::StartSession(session) => session.id,
        other => panic!("{other:?}"),
    }
}

/// One turn, from the message to its end.
async fn turn(engine: &Engine, session_id: SessionId, text: String) {
    let send = Command::SendMessage(SendMessage {
        attachments: Vec::new(),
        session_id,
        text,
        model: None,
        budgets: BudgetRequest::default(),
        fresh: false,
        options: leverframe::protocol::options::TurnOptions::default(),
    });
    let id = match submit(engine, send).await.unwrap() {
        Outcome::SendMessage(accepted) => accepted.continuation_id,
        other => panic!("{other:?}"),
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let read = engine
            .store
            .read_here(move |reader| reader.continuation(id));
        let turn = read.await.unwrap();
        if turn.state == ContinuationState::Completed {
            return;
        }
        assert!(Instant::now() < deadline, "{id} is {}", turn.state);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// What people say: every fifth message is kept as a fact, and every tenth is one that a compaction finds.
fn message(n: usize) -> String {
    match n % 10 {
        0 | 5 => format!(
            "remember that customer {n} wants invoice {n} on day {}",
            n % 28
        ),
        1 => format!("note that delivery {n} stands at gate {}", n % 13),
        _ => format!(
            "SAY:message {n} is answered {}",
            "at some length ".repeat(20)
        ),
    }
}

/// The turns of a quarter of a day.
async fn traffic(engine: &Engine, day: i64, first: usize, count: usize) {
    let mut sessions = Vec::new();
    for n in 0..CONVERSATIONS {
        sessions.push(session(engine, format!("always-{n}")).await);
        sessions.push(session(engine, format!("day-{day}-{n}")).await);
    }
    let mut workers = Vec::new();
    for worker in 0..AT_ONCE {
        let (engine, sessions) = (engine.clone(), sessions.clone());
        workers.push(tokio::spawn(async move {
            // A session has one worker, so that its turns follow each other.
            for n in (0..count).filter(|n| n % sessions.len() % AT_ONCE == worker) {
                turn(&engine, sessions[n % sessions.len()], message(first + n)).await;
            }
        }));
    }
    for worker in workers {
        worker.await.unwrap();
    }
}

async fn sweep(engine: &Engine) -> SweepReport {
    match alone(engine, Command::Sweep(Sweep { preview: false })).await {
        Outcome::Sweep(report) => report,
        other => panic!("{other:?}"),
    }
}

async fn tidy(engine: &Engine) -> HygieneRun {
    let run = Command::RunHygiene(RunHygiene { yes: false });
    match alone(engine, run).await {
        Outcome::RunHygiene(run) => {
            assert_eq!(run.state, HygieneState::Done, "{run:?}");
            run
        }
        other => panic!("{other:?}"),
    }
}

async fn number(world: &World, query: &'static str) -> u64 {
    world
        .store
        .with_writer(move |conn| conn.query_row(query, [], |row| row.get(0)).unwrap())
        .await
        .unwrap()
}

/// Rows by table, of those that have any.
async fn rows(world: &World) -> Vec<(String, u64)> {
    world
        .store
        .with_writer(|conn| {
            let mut tables = conn
                .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
                .unwrap();
            let names: Vec<String> = tables
                .query_map([], |row| row.get(0))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            let count = |name: &String| {
                let query = format!("SELECT count(*) FROM \"{name}\"");
                conn.query_row(&query, [], |row| row.get(0)).unwrap()
            };
            names
                .into_iter()
                .map(|name| (name.clone(), count(&name)))
                .collect()
        })
        .await
        .unwrap()
}

fn bytes_of(world: &World, name: &str) -> u64 {
    std::fs::metadata(world.dir.join(name)).map_or(0, |data| data.len())
}

/// Traffic until the end of day `to`; whether the file held its size since the end of day `from`.
async fn days(from: i64, to: i64, turns: usize) -> bool {
    println!("{turns} turns a day");
    let world = World::new().await;
    let engine = engine(&world);
    start::begin(&engine, &world.recovery).await.unwrap();
    let (mut sizes, mut first, mut before) = (Vec::new(), 0, Vec::new());
    for day in 1..=to {
        let began = Instant::now();
        let (mut aside, mut removed, mut swept) = (0, 0, 0);
        for quarter in 0..4 {
            traffic(&engine, day, first, turns / 4).await;
            first += turns / 4;
            world.clock.advance_millis(QUARTER_MS);
            swept += sweep(&engine).await.continuations;
            if quarter % 2 == 1 {
                let run = tidy(&engine).await;
                aside += run.report.archived;
                removed += run.report.removed;
            }
        }
        engine.store.checkpoint().await.unwrap();
        let pages = number(&world, "SELECT * FROM pragma_page_count").await;
        let free = number(&world, "SELECT * FROM pragma_freelist_count").await;
        let memories = number(&world, "SELECT count(*) FROM memories").await;
        let size = bytes_of(&world, "leverframe.db");
        assert_eq!(size, pages * 4096, "the log is not copied");
        println!(
            "day {day:>2}: {size:>9} bytes ({free} of {pages} pages free), log {}; {memories} memories, {aside} archived, \
             {removed} removed; {swept} turns swept; {:.1} s",
            bytes_of(&world, "leverframe.db-wal"),
            began.elapsed().as_secs_f64()
        );
        sizes.push(size);
        if day == from {
            before = rows(&world).await;
        }
    }
    for ((name, then), (_, now)) in before.iter().zip(rows(&world).await) {
        if now > then + then / 10 {
            println!("  {name}: {then} to {now} rows");
        }
    }
    let compactions = number(&world, "SELECT count(*) FROM compactions").await;
    assert!(compactions > 0, "nothing was compacted");
    engine.stop().await;
    world.sound().await;
    let (then, now) = (sizes[from as usize - 1], sizes[to as usize - 1]);
    let change = (now as f64 / then as f64 - 1.0) * 100.0;
    let held = now <= then + then / 10;
    println!(
        "from day {from} to day {to}: {then} to {now} bytes, {change:+.1} % (limit +10 %): {}",
        if held { "held" } else { "MISSED" }
    );
    held
}

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let turns = std::env::var("LEVERFRAME_BENCH_TURNS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2_000);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let held = runtime.block_on(days(12, 22, turns));
    assert!(held, "it goes on growing");
}
