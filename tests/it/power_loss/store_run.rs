//! A store through whole turns, a clean end, a death and a recovery; power is lost everywhere.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::power_loss::child::{BEFORE, DIRECTORY, JOURNAL, MUTANT, STEPS};
use crate::power_loss::examine::scratch;
use crate::power_loss::promises::{Promises, commits};
use crate::power_loss::replay::{Outcome, Plan, replay};
use crate::power_loss::trace::{Reader, Record, Scope};
use crate::power_loss::{seed, strace};
use crate::support::record::{fact, fault};

/// The data directory below the root: neither it nor its parent exist at first.
const BELOW: &str = "state/leverframe";

/// A run that was recorded.
pub struct Recorded {
    /// Kept for as long as somebody may want to look into it.
    _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub journal: PathBuf,
    pub trace: PathBuf,
    pub records: Vec<Record>,
}

/// The two lives of the child, one after the other.
pub fn record(steps: usize, mutant: Option<&str>) -> Recorded {
    let dir = scratch();
    let root = dir.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let journal = dir.path().join("journal");
    let mut reader = Reader::default();
    let scope = Scope {
        root: &root,
        journal: &journal,
    };
    let mut before = 0;
    for (life, ends) in [("lives_and_dies", false), ("recovers_and_ends", true)] {
        let trace = dir.path().join(life);
        let mut environment = vec![
            (DIRECTORY, root.join(BELOW).display().to_string()),
            (JOURNAL, journal.display().to_string()),
            (BEFORE, before.to_string()),
            (STEPS, steps.to_string()),
        ];
        if let Some(rule) = mutant {
            environment.push((MUTANT, rule.to_owned()));
        }
        let (status, said) = strace::run_child(
            &format!("power_loss::child::{life}"),
            &environment,
            &trace,
            &[],
        );
        assert_eq!(status.success(), ends, "{life}: {status}\n{said}");
        let text = std::fs::read_to_string(&trace).unwrap();
        reader.process(&text, &scope).unwrap();
        before = std::fs::read_to_string(&journal)
            .unwrap()
            .lines()
            .filter(|line| line.starts_with(r#"{"Answered""#))
            .count();
    }
    let records = reader.finish(&scope).unwrap();
    Recorded {
        trace: dir.path().to_owned(),
        _dir: dir,
        root,
        journal,
        records,
    }
}

/// Loses power all along a recorded run.
pub fn lose_power(recorded: &Recorded, images: u64, seed: u64) -> Outcome {
    let mut promises = Promises::new(&recorded.records, &recorded.journal);
    replay(
        &recorded.records,
        &recorded.root,
        Path::new(BELOW),
        &mut promises,
        Plan { seed, images },
    )
}

#[test]
fn what_was_promised_survives_the_loss_of_power() {
    if !strace::available() {
        return;
    }
    let recorded = record(60, None);
    let (commits, durable) = commits(&recorded.records, &recorded.journal);
    let outcome = lose_power(&recorded, 120, seed());
    eprintln!(
        "{} calls, {} points, {} images, {commits} commits",
        outcome.calls, outcome.points, outcome.images
    );
    outcome.assert_sound(&recorded.trace);
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
            "images": outcome.images,
            "violations": outcome.violations.len(),
            "durable_commands": durable,
        }),
    );
    fault(
        "power-loss",
        "power is lost at each sync, each answer and between them; what was not synced is dropped, torn, reordered",
        "every durable command is there, the database is sound, nothing is taken for a restored copy",
    );
}
