//! kill -9 at moments nobody chose: what no named point covers.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::crash_points::drive::{End, Run};
use crate::crash_points::operator::Approves;

/// Kills in all.
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

#[tokio::test]
async fn kill_nine_at_random_moments_loses_nothing_and_repeats_nothing() {
    let seed = match std::env::var("LEVERFRAME_CRASH_SEED") {
        Ok(seed) => seed.parse().expect("LEVERFRAME_CRASH_SEED is a number"),
        Err(_) => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a clock after 1970")
            .as_nanos() as u64,
    };
    eprintln!("seed: LEVERFRAME_CRASH_SEED={seed}");
    let mut moments = Moments(seed);
    let (mut kills, mut worlds) = (0, 0);
    while kills < KILLS {
        let began = Instant::now();
        let mut run = Run::new(if worlds % 2 == 0 {
            Approves::ByButton
        } else {
            Approves::OverHttp
        });
        let mut story = Vec::new();
        while story.len() < KILLS_EACH && kills < KILLS {
            let after = moments.next();
            let mut daemon = run.world.start(None).expect("it starts again");
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
        let story = story.join(", ");
        eprintln!("killed after {story}: {} ms", began.elapsed().as_millis());
        if let Some(what) = verdict {
            panic!("seed {seed}, world {worlds}, killed after {story}:\n{what}");
        }
    }
    eprintln!("random kills: {kills} in {worlds} worlds, violations: 0");
}
