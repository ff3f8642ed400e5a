//! The load, the faults, and the table at the end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;

use crate::channel_soak::ledger::{answers, compare};
use crate::channel_soak::platforms::{Name, Platforms};
use crate::channel_soak::process::{Idle, Sample, idle, mib, sample};
use crate::matrix::synapse::synapse;
use crate::support::daemon::{Daemon, Home};
use crate::take_overs::daemon::cli;

/// How long an idle daemon is watched, after it has settled for as long.
const WINDOW: Duration = Duration::from_secs(20);
/// Messages one after the other, before the load.
const QUIET: u64 = 100;
/// Time between two of those.
const QUIET_PACE: Duration = Duration::from_millis(200);
/// Time between two looks at the process, and between two faults.
const LOOK: Duration = Duration::from_secs(5);
/// How long the rest may take after the last message.
const REST: Duration = Duration::from_mins(5);
/// Runs shorter than this say nothing of growth: caches still fill.
const FLAT_FROM: u64 = 5;
/// Runs of at least so many minutes go into the report of reliability.
const REPORTED_FROM: u64 = 60;

/// What the last long run found.
pub fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/channel_soak/results.json")
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number"))
    })
}

fn now() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_secs_f64() * 1000.0
}

/// Whether all messages came in, and nothing waits or runs any more. A connection that fell silent is given up after the
/// better part of a minute: until then its messages are at the platform.
async fn is_done(daemon: &Daemon, database: &Path, count: u64) -> bool {
    if (answers(database).len() as u64) < count {
        return false;
    }
    for state in ["pending", "running"] {
        let turns = daemon
            .get(&format!("/v1/continuations?state={state}&limit=1"))
            .await;
        if !turns["items"].as_array().unwrap().is_empty() {
            return false;
        }
    }
    let channels = daemon.get("/v1/channels").await;
    let channels = channels["items"].as_array().unwrap();
    channels.iter().all(|channel| channel["backlog"] == 0)
}

/// Waits until nothing is left, or the time is over: then what is left counts as lost.
async fn finish(daemon: &Daemon, database: &Path, count: u64) -> Duration {
    let began = Instant::now();
    while began.elapsed() < REST && !is_done(daemon, database, count).await {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    began.elapsed()
}

/// Writes messages at an even pace. `act` is called between, about every [`LOOK`].
async fn write(
    platforms: &Platforms,
    numbers: std::ops::Range<u64>,
    pace: Duration,
    said: &mut BTreeMap<u64, f64>,
    mut act: impl FnMut(),
) {
    let mut ticks = tokio::time::interval(pace);
    let mut looked = Instant::now();
    for number in numbers {
        ticks.tick().await;
        said.insert(number, now());
        platforms.say(number);
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            act();
        }
    }
}

/// The value below which this part of all lies.
fn percentile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * part) as usize;
    values
        .get(at.min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(f64::NAN)
}

fn mean(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> f64 {
    samples.iter().map(value).sum::<f64>() / samples.len().max(1) as f64
}

fn print_idle(what: &str, idle: &Idle) {
    println!(
        "| {what} | {:.1} | {:.2} | {:.1} | {} | {} |",
        idle.wake_ups_a_second, idle.processor, idle.resident_mib, idle.threads, idle.descriptors
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes as long as it is told to: tests/soak.sh --channels [--minutes N] [--rate N]"]
async fn soak() {
    let minutes = setting("LEVERFRAME_SOAK_MINUTES", 10);
    let rate = setting("LEVERFRAME_SOAK_RATE", 50);
    let Some(homeserver) = synapse("four platforms under load") else {
        return;
    };
    let none = {
        let home = Home::new("[model]\ndefault = \"scripted/demo\"\n");
        let daemon = home.daemon();
        idle(daemon.pid(), WINDOW).await
    };
    let mut platforms = Platforms::start(homeserver).await;
    let home = platforms.home();
    let mut daemon = platforms.daemon(&home).await;
    let pid = daemon.pid();
    let four = idle(pid, WINDOW).await;

    let database = home.data().join("leverframe.db");
    let mut said = BTreeMap::new();
    write(&platforms, 0..QUIET, QUIET_PACE, &mut said, || {}).await;
    finish(&daemon, &database, QUIET).await;
    let began = Instant::now();
    let count = QUIET + rate * minutes * 60;
    let mut samples = vec![sample(pid)];
    let mut faults: BTreeMap<&str, u32> = BTreeMap::new();
    let mut step = 0;
    let pace = Duration::from_secs(1) / u32::try_from(rate).unwrap();
    write(&platforms, QUIET..count, pace, &mut said, || {
        samples.push(sample(pid));
        *faults.entry(platforms.misbehave(step)).or_default() += 1;
        step += 1;
    })
    .await;
    let wrote = began.elapsed().as_secs_f64();
    let rest = finish(&daemon, &database, count).await;
    tokio::time::sleep(WINDOW).await;
    let end = sample(pid);
    let shown = platforms.answers().await;
    assert!(daemon.terminate().success());
    let stored = answers(&database);
    let verdict = compare(count, &stored, &shown);
    let (_, doctor) = cli(&home, &["doctor", "--check"]).await;

    println!(
        "\n{count} messages, {:.1}/s for {minutes} min; the rest took {:.1} s",
        (count - QUIET) as f64 / wrote,
        rest.as_secs_f64()
    );
    println!(
        "answered {}, unknown and said so {}, lost {}, doubled {}",
        verdict.answered,
        verdict.unknown,
        verdict.lost.len(),
        verdict.doubled.len()
    );
    println!(
        "\n| idle | wake-ups/s | processor % | resident MiB | threads | descriptors |\n|---|---|---|---|---|---|"
    );
    print_idle("no channel", &none);
    print_idle("four channels", &four);
    println!(
        "\n| message → inbox row | p50 ms, quiet | p99 ms, quiet | p50 ms, load | p99 ms, load |\n|---|---|---|---|---|"
    );
    for name in Name::ALL {
        let times = |numbers: std::ops::Range<u64>| -> Vec<f64> {
            let ours = numbers.filter(|number| Name::of(*number) == name);
            ours.filter_map(|number| {
                let answer = stored.get(&number)?.first()?;
                Some((answer.received_at as f64 - said.get(&number)?).max(0.0))
            })
            .collect()
        };
        let (mut quiet, mut load) = (times(0..QUIET), times(QUIET..count));
        println!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} |",
            name.channel(),
            percentile(&mut quiet, 0.5),
            percentile(&mut quiet, 0.99),
            percentile(&mut load, 0.5),
            percentile(&mut load, 0.99)
        );
    }
    let quarter = (samples.len() / 4).max(1);
    let early = &samples[quarter.min(samples.len() - 1)..(2 * quarter).min(samples.len())];
    let late = &samples[samples.len() - quarter..];
    let resident = |one: &Sample| mib(one.resident_kib);
    let (before, after) = (mean(early, resident), mean(late, resident));
    println!("\n| under load | second quarter | last quarter | at the end |\n|---|---|---|---|");
    println!(
        "| resident MiB | {before:.1} | {after:.1} | {:.1} |",
        resident(&end)
    );
    let open = |one: &Sample| one.descriptors as f64;
    let (open_before, open_after) = (mean(early, open), mean(late, open));
    println!(
        "| descriptors | {open_before:.1} | {open_after:.1} | {} |",
        end.descriptors
    );
    if let [first, .., last] = samples.as_slice() {
        let seconds = last.at.duration_since(first.at).as_secs_f64();
        println!(
            "| processor % | | {:.1} | |",
            (last.ticks - first.ticks) as f64 / seconds
        );
    }
    println!("\nfaults: {faults:?}\n");

    assert_eq!(verdict.lost, Vec::<u64>::new(), "lost");
    assert_eq!(verdict.doubled, Vec::<u64>::new(), "doubled");
    assert!(doctor.contains(" 0 violations"), "{doctor}");
    if minutes >= FLAT_FROM {
        assert!(
            after <= before * 1.1 + 8.0,
            "memory grows: {before:.1} to {after:.1} MiB"
        );
        assert!(
            open_after <= open_before + 8.0,
            "descriptors leak: {open_before} to {open_after}"
        );
    }
    if minutes >= REPORTED_FROM {
        let result = json!({
            "tried": jiff::Zoned::now().date().to_string(),
            "minutes": minutes,
            "messages a second": rate,
            "messages": count,
            "faults": faults.values().sum::<u32>(),
            "kinds of faults": faults.len(),
            "answered": verdict.answered,
            "unknown, and said so": verdict.unknown,
            "lost": verdict.lost.len(),
            "doubled": verdict.doubled.len(),
            "MiB in the second and in the last quarter": format!("{before:.1}, {after:.1}"),
            "descriptors in the second and in the last quarter": format!("{open_before:.1}, {open_after:.1}"),
        });
        let text = serde_json::to_string_pretty(&result).unwrap();
        std::fs::write(results(), text + "\n").unwrap();
    }
}
