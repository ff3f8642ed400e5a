//! kill -9 at moments nobody chose: what no named point covers.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::crash_points::drive::{End, Patience, Run};
use crate::crash_points::scenario::Scenario;
use crate::support::record;

/// Kills in all, where no time is given.
const KILLS: u32 = 10;
/// Kills in one world before it may finish: the third crash in a row also makes the engine start held.
const KILLS_EACH: usize = 3;
/// Latest kill after a start; a turn of ours is about over by then.
const LATEST: Duration = Duration::from_millis(700);

/// SplitMix64 (Steele, Lea and Flood 2014): small, seedable, and good enough to choose moments.
struct Moments(u64);

impl Moments {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// Most turns are short, so early moments come more often.
    fn next(&mut self) -> Duration {
        let widest = LATEST.as_millis() as u64;
        let limit = 1 + self.below(widest);
        Duration::from_millis(self.below(limit))
    }
}

/// The seed that was given, or one of this moment; printed, so that a failure can be played again.
fn seed() -> u64 {
    let seed = match std::env::var("LEVERFRAME_CRASH_SEED") {
        Ok(seed) => seed.parse().expect("LEVERFRAME_CRASH_SEED is a number"),
        Err(_) => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a clock after 1970")
            .as_nanos() as u64,
    };
    eprintln!("seed: LEVERFRAME_CRASH_SEED={seed}");
    seed
}

/// Kills in worlds whose scenario is chosen by `pick`, until `over`. Kills and worlds.
async fn kill_until(
    seed: u64,
    pick: impl Fn(&mut Moments, u32) -> Scenario,
    over: impl Fn(u32) -> bool,
) -> (u32, u32) {
    let mut moments = Moments(seed);
    let (mut kills, mut worlds) = (0, 0);
    while !over(kills) {
        let began = Instant::now();
        let scenario = pick(&mut moments, worlds);
        let mut run = Run::new(scenario, None, Patience::LONG);
        let mut story = Vec::new();
        while story.len() < KILLS_EACH && !over(kills) {
            let after = moments.next();
            let mut daemon = run.start(None).expect("it starts again");
            if run.work(&mut daemon, Some(after)).await == End::Quiet {
                // Killed all the same, but not counted: nothing was under way.
                daemon.kill();
                story.push("done".to_owned());
                break;
            }
            story.push(format!("{} ms", after.as_millis()));
            kills += 1;
        }
        run.finish().await;
        let verdict = run.verdict().await;
        worlds += 1;
        let story = format!("{}: killed after {}", scenario.name(), story.join(", "));
        eprintln!("{story}: {} ms", began.elapsed().as_millis());
        if let Some(what) = verdict {
            panic!("seed {seed}, world {worlds}, {story}:\n{what}");
        }
    }
    eprintln!("random kills: {kills} in {worlds} worlds, violations: 0");
    (kills, worlds)
}

#[tokio::test]
async fn kill_nine_at_random_moments_loses_nothing_and_repeats_nothing() {
    let seed = seed();
    let by_turns = |_: &mut Moments, worlds: u32| {
        if worlds.is_multiple_of(2) {
            Scenario::ApproveByButton
        } else {
            Scenario::Approve
        }
    };
    let (kills, worlds) = kill_until(seed, by_turns, |kills| kills >= KILLS).await;
    record::fact(
        "crash",
        "random",
        &json!({ "seed": seed.to_string(), "kills": kills, "worlds": worlds, "violations": 0 }),
    );
}

/// The same for as many minutes as `LEVERFRAME_SOAK_MINUTES` says, over all scenarios: `tests/soak.sh`.
#[tokio::test]
#[ignore = "takes as long as it is told to: tests/soak.sh --minutes N [--seed S]"]
async fn soak() {
    let minutes: u64 = std::env::var("LEVERFRAME_SOAK_MINUTES")
        .expect("LEVERFRAME_SOAK_MINUTES says for how long")
        .parse()
        .expect("LEVERFRAME_SOAK_MINUTES is a number");
    let seed = seed();
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    let any = |moments: &mut Moments, _: u32| {
        Scenario::ALL[moments.below(Scenario::ALL.len() as u64) as usize]
    };
    let (kills, worlds) = kill_until(seed, any, |kills| kills > 0 && Instant::now() >= end).await;
    record::fact(
        "crash",
        "soak",
        &json!({
            "minutes": minutes, "seed": seed.to_string(), "kills": kills, "worlds": worlds, "violations": 0,
        }),
    );
}
