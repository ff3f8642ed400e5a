//! A store through whole turns, a clean end, a death and a recovery; power is lost everywhere.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::power_loss::child::{BEFORE, DIRECTORY, JOURNAL, MUTANT, STEPS};
use crate::power_loss::examine::scratch;
use crate::power_loss::promises::{Promises, commits};
use crate::power_loss::replay::{Outcome, Plan, replay};
use crate::power_loss::trace::{Reader, Record, Scope};
use crate::power_loss::{seed, strace};
use crate::support::record::{fact, fault};

/// The data directory below the root: neither it nor its parent exist at first.
pub const BELOW: &str = "state/leverframe";

/// One life of the child.
pub struct Life {
    /// Name of its entry point.
    pub name: &'static str,
    /// What the tracer does to its calls.
    pub faults: Vec<String>,
}

/// A run that was recorded.
pub struct Recorded {
    pub dir: tempfile::TempDir,
    pub root: PathBuf,
    pub journal: PathBuf,
    pub records: Vec<Record>,
    /// The trace, how the process ended and what it said, of each life.
    pub lives: Vec<(String, std::process::ExitStatus, String)>,
}

impl Recorded {
    /// Where the trace lies; it stays there.
    pub fn keep(self) -> PathBuf {
        self.dir.keep()
    }
}

/// Lives of the child, one after the other in the same directory.
pub fn record(lives: &[Life], steps: usize, mutant: Option<&str>) -> Recorded {
    let dir = scratch();
    let root = dir.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let journal = dir.path().join("journal");
    let mut reader = Reader::default();
    let inside = root.join("state");
    let scope = Scope {
        root: &root,
        inside: &inside,
        journal: &journal,
    };
    let mut told = Vec::new();
    for life in lives {
        let trace = dir.path().join(life.name);
        let before = std::fs::read_to_string(&journal)
            .unwrap_or_default()
            .lines()
            .filter(|line| line.starts_with(r#"{"Answered""#))
            .count();
        let mut environment = vec![
            (DIRECTORY, root.join(BELOW).display().to_string()),
            (JOURNAL, journal.display().to_string()),
            (BEFORE, before.to_string()),
            (STEPS, steps.to_string()),
        ];
        if let Some(rule) = mutant {
            environment.push((MUTANT, rule.to_owned()));
        }
        let test = format!("power_loss::child::{}", life.name);
        let (status, said) = strace::run_child(&test, &environment, &trace, &life.faults);
        let text = std::fs::read_to_string(&trace).unwrap();
        reader.process(&text, &scope).unwrap();
        told.push((text, status, said));
    }
    let records = reader.finish(&scope).unwrap();
    Recorded {
        dir,
        root,
        journal,
        records,
        lives: told,
    }
}

/// One that ends well.
pub fn shortly() -> [Life; 1] {
    [Life {
        name: "lives_shortly",
        faults: Vec::new(),
    }]
}

/// Loses power all along a recorded run.
pub fn lose_power(recorded: &Recorded, plan: Plan) -> Outcome {
    let mut promises = Promises::new(&recorded.records, &recorded.journal);
    replay(
        &recorded.records,
        &recorded.root,
        Path::new(BELOW),
        &mut promises,
        plan,
    )
}

/// A long life that is cut off, and one that recovers from it.
fn long_lives(steps: usize) -> Recorded {
    let lives = ["lives_and_dies", "recovers_and_ends"].map(|name| Life {
        name,
        faults: Vec::new(),
    });
    let recorded = record(&lives, steps, None);
    for ((_, status, said), ends) in recorded.lives.iter().zip([false, true]) {
        assert_eq!(status.success(), ends, "{status}\n{said}");
    }
    recorded
}

#[test]
fn what_was_promised_survives_the_loss_of_power() {
    if !strace::available() {
        return;
    }
    let recorded = long_lives(16);
    let (_, durable) = commits(&recorded.records, &recorded.journal);
    let plan = Plan {
        seed: seed(),
        images: 90,
        one_is_enough: false,
    };
    let outcome = lose_power(&recorded, plan);
    outcome.assert_sound(recorded);
    assert!(
        durable > 100,
        "only {durable} durable commands were answered"
    );
    fact(
        "power-loss",
        "store",
        &json!({
            "trace_calls": outcome.calls,
            "crash_points": outcome.points,
            "images": outcome.opened,
            "violations": outcome.violations.len(),
            "durable_commands": durable,
        }),
    );
    fault(
        "power-loss",
        "power is lost at each answer, each sync and between them; unsynced writes are dropped, torn, reordered",
        "every durable command is there, the database is sound, and does not look like a restored copy",
    );
}

/// New traces and new seeds for as long as was asked for.
#[test]
#[ignore = "as long as LEVERFRAME_POWER_MINUTES says"]
fn soak() {
    if !strace::available() {
        return;
    }
    let minutes = std::env::var("LEVERFRAME_POWER_MINUTES")
        .ok()
        .and_then(|text| text.parse::<u64>().ok())
        .expect("LEVERFRAME_POWER_MINUTES is a number of minutes");
    let until = Instant::now() + Duration::from_secs(60 * minutes);
    let mut seed = seed();
    let (mut images, mut durable_commands) = (0, 0);
    while Instant::now() < until {
        let recorded = long_lives(80);
        let plan = Plan {
            seed,
            images: 2000,
            one_is_enough: false,
        };
        durable_commands += commits(&recorded.records, &recorded.journal).1;
        let outcome = lose_power(&recorded, plan);
        images += outcome.opened;
        println!(
            "seed {seed:#x}: {} images, {} wrong",
            outcome.opened,
            outcome.violations.len()
        );
        outcome.assert_sound(recorded);
        seed = seed.wrapping_add(1);
    }
    fact(
        "power-loss",
        "soak",
        &json!({"minutes": minutes, "images": images, "violations": 0, "durable_commands": durable_commands}),
    );
}
