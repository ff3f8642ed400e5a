//! What a process that was watched had promised at each moment, and what an image must therefore hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::power_loss::examine::Found;
use crate::power_loss::journal::{Line, State};
use crate::power_loss::replay::{Expectation, Witness};
use crate::power_loss::trace::{Call, Record};

/// The journal of a store's process.
pub struct Promises {
    journal: PathBuf,
    /// What the database said after each commit, of the whole run.
    states: Arc<BTreeMap<u64, State>>,
    /// The newest durable commit that was answered.
    floor: Option<u64>,
    /// The newest commit that was answered.
    answered: Option<u64>,
    /// Commits of which only the last state is known.
    together: bool,
}

fn lines(call: &Call, journal: &Path) -> Vec<Line> {
    match call {
        Call::Write { path, data, .. } if path == journal => String::from_utf8_lossy(data)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
        _ => Vec::new(),
    }
}

/// The newest number that an answer carried.
pub fn commits(records: &[Record], journal: &Path) -> (u64, u64) {
    let (mut all, mut durable_ones) = (0, 0);
    for line in records
        .iter()
        .flat_map(|record| lines(&record.call, journal))
    {
        if let Line::Answered { n, durable, .. } = line {
            all = all.max(n + 1);
            durable_ones += u64::from(durable);
        }
    }
    (all, durable_ones)
}

impl Promises {
    pub fn new(records: &[Record], journal: &Path) -> Self {
        let mut states = BTreeMap::new();
        for line in records
            .iter()
            .flat_map(|record| lines(&record.call, journal))
        {
            if let Line::State(state) = line {
                states.insert(state.n, state);
            }
        }
        Self {
            journal: journal.to_owned(),
            states: Arc::new(states),
            floor: None,
            answered: None,
            together: false,
        }
    }
}

impl Witness for Promises {
    fn began(&mut self, call: &Call) -> bool {
        let mut promised = false;
        for line in lines(call, &self.journal) {
            match line {
                Line::Answered { n, durable, .. } => {
                    self.answered = Some(n);
                    if durable {
                        self.floor = Some(n);
                    }
                    promised = true;
                }
                Line::State(_) => self.together = false,
                Line::Together => self.together = true,
            }
        }
        promised
    }

    fn expects(&self) -> Expectation {
        let states = Arc::clone(&self.states);
        let (floor, answered, together) = (self.floor, self.answered, self.together);
        Arc::new(move |found| {
            let mut wrong = Vec::new();
            let from = floor.unwrap_or(0);
            // One more may have been under way.
            let to = answered.map_or(0, |n| n + 1);
            let known = states
                .range(from..=to)
                .any(|(_, state)| state.state == found.raw.state)
                || (floor.is_none() && found.raw.state == 0);
            // While commits are grouped, the state lies between two that are known; a commit in which the process
            // died was never told of.
            if !known && !together && states.contains_key(&to) {
                let newer = states
                    .iter()
                    .find(|(_, state)| state.state == found.raw.state);
                wrong.push(match newer {
                    Some((n, _)) => format!("the database is as it was after commit {n}, though commit {from} was durable"),
                    None => format!("the database is as it never was, between commits {from} and {to}"),
                });
            }
            if let Some(floor) = floor.and_then(|n| states.get(&n)) {
                wrong.extend(holds(floor, found));
            }
            let published = answered.map_or(0, |n| {
                states
                    .range(..=n)
                    .map(|(_, state)| state.epoch)
                    .max()
                    .unwrap_or(0)
            });
            if found.epoch <= published {
                wrong.push(format!(
                    "epoch {} begins, in which numbers of events were published before: {published} (I19)",
                    found.epoch
                ));
            }
            wrong
        })
    }
}

/// Everything that only grows is there up to what was promised.
fn holds(promised: &State, found: &Found) -> Vec<String> {
    let mut wrong = Vec::new();
    for (what, promised, found) in [
        ("event", promised.event, &found.raw.events),
        ("audit row", promised.audit, &found.raw.audit),
    ] {
        if let Some((seq, sum)) = promised
            && !found.contains(&(seq, sum))
        {
            wrong.push(format!(
                "{what} {seq} or one before it is lost or another (I1, I19, I21)"
            ));
        }
    }
    if found.raw.attempts < promised.attempts {
        wrong.push(format!(
            "{} of {} starts of tools are known (I8)",
            found.raw.attempts, promised.attempts
        ));
    }
    wrong
}
