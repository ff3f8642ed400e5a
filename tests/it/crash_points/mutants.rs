//! Each rule of the protocol is switched off in turn; the schedules, with the judges they always have, must notice.
//!
//! A rule whose absence nobody notices is a rule that the suite proves nothing about. The schedules are tried in an
//! order that finds the damage soon, and all of them are tried before a rule counts as not caught.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::json;

use crate::crash_points::drive::Patience;
use crate::crash_points::points;
use crate::crash_points::scenario::Scenario;
use crate::crash_points::schedules::{Schedule, blocking, listed, play, possible, work_through};
use crate::support::record;

/// A rule, and where its absence is looked for first.
struct Mutant {
    /// Its name in `mutant!`.
    name: &'static str,
    /// The rule.
    rule: &'static str,
    /// Where to look.
    look: Look,
}

/// Where the absence of a rule shows.
enum Look {
    /// In schedules of this scenario that begin with a death at this point, before all others.
    Schedules(Scenario, &'static str),
    /// In a test of the store: one process never meets a writer of another epoch, because of the lock.
    StoreTest(&'static str),
}

/// Every rule that can be switched off, except those of `fsync`, which no death of a process can show.
const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "ack_after_commit",
        rule: "an update is confirmed to the platform only after it is durable",
        look: Look::Schedules(Scenario::Queue, "ingest.pre_commit:1"),
    },
    Mutant {
        name: "dedupe_key",
        rule: "a message that was taken in before is not taken in again",
        look: Look::Schedules(Scenario::Queue, "ingest.post_commit:1"),
    },
    Mutant {
        name: "approval_before_ask",
        rule: "a call waits in the same transaction as its approval",
        look: Look::Schedules(Scenario::Deny, "propose.post:1"),
    },
    Mutant {
        name: "approval_consumed_with_start",
        rule: "a start uses its approval up in the same transaction",
        look: Look::Schedules(Scenario::Unknown, "tool.started:1"),
    },
    Mutant {
        name: "digest_checked",
        rule: "only what was shown may run: the plan's digest is compared at the start",
        look: Look::Schedules(Scenario::Changed, "decide.post:1"),
    },
    Mutant {
        name: "attempt_before_effect",
        rule: "the intent of a call is durable before its effect",
        look: Look::Schedules(Scenario::Unknown, "tool.effect_done:1"),
    },
    Mutant {
        name: "blind_rerun",
        rule: "a call that must not be repeated is not run again by recovery",
        look: Look::Schedules(Scenario::Unknown, "tool.effect_done:1"),
    },
    Mutant {
        name: "result_for_every_call",
        rule: "every call has a result before the model is asked again",
        look: Look::Schedules(Scenario::Deny, "decide.post:1"),
    },
    Mutant {
        name: "final_with_outbox",
        rule: "a turn completes in the same transaction as its reply is queued",
        look: Look::Schedules(Scenario::Reply, "final.post:1"),
    },
    Mutant {
        name: "sending_before_io",
        rule: "a send is marked durably before the platform sees it",
        look: Look::Schedules(Scenario::Reply, "send.effect_done:1"),
    },
    Mutant {
        name: "blind_resend",
        rule: "a send of unknown outcome is not repeated by recovery where the platform knows no keys",
        look: Look::Schedules(Scenario::Reply, "send.effect_done:1"),
    },
    Mutant {
        name: "epoch_check",
        rule: "a writer of an earlier epoch changes nothing",
        look: Look::StoreTest("store::recovery::a_caller_of_an_earlier_epoch_takes_nothing"),
    },
];

/// Rules that belong to the suite of power loss.
const OF_POWER_LOSS: &[&str] = &["fsync_before_effect", "sidecar_fsync", "artifact_fsync"];

/// How a rule's absence was noticed.
struct Caught {
    by: String,
    after: usize,
    of: usize,
    damage: String,
}

/// The whole suite, with schedules of one scenario and first death in front.
fn in_order(scenario: Scenario, first: &str) -> Vec<Schedule> {
    let mut all = listed();
    all.extend(possible());
    let rank = |schedule: &Schedule| {
        let same = schedule.scenario == scenario;
        let dies_there = schedule.deaths.first().is_some_and(|death| death == first);
        (
            !(same && dies_there),
            !same,
            !dies_there,
            schedule.deaths.len(),
        )
    };
    all.sort_by_key(rank);
    all
}

/// The line that says most: what somebody outside of the database saw, if there is one.
fn damage(violation: &str) -> String {
    let lines: Vec<&str> = violation
        .lines()
        .take_while(|line| !line.starts_with("--- "))
        .filter_map(|line| line.strip_prefix("- "))
        .collect();
    let of_the_store = |line: &str| {
        line.strip_prefix('I')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let line = lines
        .iter()
        .find(|line| !of_the_store(line))
        .or(lines.first())
        .copied()
        .unwrap_or_default();
    line.chars().take(160).collect()
}

fn by_schedules(mutant: &Mutant, scenario: Scenario, first: &str) -> Option<Caught> {
    let all = in_order(scenario, first);
    for (tried, schedule) in all.iter().enumerate() {
        let ended = blocking(play(schedule, Some(mutant.name), Patience::SHORT));
        if let Some(violation) = ended.violation {
            // Stuck because of the rule, or only slow? With the rule on, the same patience must be enough.
            if violation.contains("never done")
                && blocking(play(schedule, None, Patience::SHORT))
                    .violation
                    .is_some()
            {
                continue;
            }
            return Some(Caught {
                by: schedule.name(),
                after: tried + 1,
                of: all.len(),
                damage: damage(&violation),
            });
        }
    }
    None
}

/// Runs one test of this binary in a process of its own, with the rule off; it must fail there, and pass without.
fn by_store_test(mutant: &Mutant, test: &'static str) -> Option<Caught> {
    let run = |off: bool| {
        let mut command = Command::new(std::env::current_exe().expect("our own path"));
        command.args([test, "--exact", "--nocapture"]);
        if off {
            command.env("LEVERFRAME_MUTANT", mutant.name);
        }
        command.output().expect("our own binary starts")
    };
    let sound = run(false);
    let text = String::from_utf8_lossy(&sound.stdout).into_owned();
    assert!(
        sound.status.success() && text.contains("1 passed"),
        "{test} does not pass as it is: {text}"
    );
    let broken = run(true);
    let said = String::from_utf8_lossy(&broken.stderr).into_owned()
        + &String::from_utf8_lossy(&broken.stdout);
    let damage = said
        .lines()
        .skip_while(|line| !line.contains("panicked at"))
        .nth(1)
        .unwrap_or_default();
    (!broken.status.success()).then(|| Caught {
        by: format!("test {test}"),
        after: 1,
        of: 1,
        damage: damage.trim().chars().take(160).collect(),
    })
}

#[test]
fn every_rule_that_is_switched_off_is_caught() {
    let began = Instant::now();
    let listed: BTreeSet<String> = MUTANTS
        .iter()
        .map(|mutant| mutant.name)
        .chain(OF_POWER_LOSS.iter().copied())
        .map(str::to_owned)
        .collect();
    for rule in points::rules_in_source() {
        assert!(
            listed.contains(&rule),
            "`{rule}` is in the source and not tried"
        );
    }
    let only = std::env::var("LEVERFRAME_MUTANT_ONLY").ok();
    let unnoticed: Mutex<Vec<&str>> = Mutex::default();
    let chosen: Vec<&Mutant> = MUTANTS
        .iter()
        .filter(|mutant| only.as_deref().is_none_or(|only| only == mutant.name))
        .collect();
    assert!(!chosen.is_empty(), "there is no rule {only:?}");
    work_through(chosen, |mutant| {
        let began = Instant::now();
        let caught = match mutant.look {
            Look::Schedules(scenario, first) => by_schedules(mutant, scenario, first),
            Look::StoreTest(test) => by_store_test(mutant, test),
        };
        let took = began.elapsed().as_millis();
        match caught {
            Some(caught) => {
                eprintln!(
                    "{} caught by `{}` after {} of {} ({took} ms): {}",
                    mutant.name, caught.by, caught.after, caught.of, caught.damage
                );
                record::fact(
                    "mutants",
                    mutant.name,
                    &json!({
                        "rule": mutant.rule, "caught": true, "by": caught.by, "after": caught.after,
                        "of": caught.of, "damage": caught.damage,
                    }),
                );
            }
            None => {
                eprintln!("{} was not caught ({took} ms)", mutant.name);
                unnoticed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(mutant.name);
            }
        }
    });
    let unnoticed = unnoticed
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    eprintln!("mutants: {} s", began.elapsed().as_secs());
    assert!(unnoticed.is_empty(), "nothing caught {unnoticed:?}");
}
