//! A stopwatch for benches: repeats, sorts, prints one line. No statistics beyond the quantiles it shows.

use std::time::{Duration, Instant};

/// Longest time spent on one measure, warm-up included.
const LIMIT: Duration = Duration::from_secs(2);
/// Least number of samples, whatever they take.
const LEAST: usize = 20;
/// Time that one sample should take at least, so that the clock's own cost does not count.
const SAMPLE: Duration = Duration::from_micros(200);

/// Runs `work` until there are enough samples, and prints the time of one run. Returns its median.
pub fn measure<T>(name: &str, mut work: impl FnMut() -> T) -> Duration {
    let began = Instant::now();
    std::hint::black_box(work());
    let once = began.elapsed().max(Duration::from_nanos(1));
    let runs = u32::try_from(SAMPLE.as_nanos() / once.as_nanos() + 1).unwrap_or(u32::MAX);
    let mut samples = Vec::new();
    while samples.len() < LEAST || (began.elapsed() < LIMIT && samples.len() < 2000) {
        let start = Instant::now();
        for _ in 0..runs {
            std::hint::black_box(work());
        }
        samples.push(start.elapsed() / runs);
    }
    report(name, samples)
}

/// Prints the quantiles of samples taken elsewhere. Returns their median.
pub fn report(name: &str, mut samples: Vec<Duration>) -> Duration {
    samples.sort_unstable();
    let at = |quantile: f64| {
        let last = samples.len().saturating_sub(1);
        let index = (quantile * samples.len() as f64) as usize;
        samples.get(index.min(last)).copied().unwrap_or_default()
    };
    println!(
        "{name:<44} median {:>11?}  p99 {:>11?}  min {:>11?}  ({} samples)",
        at(0.5),
        at(0.99),
        at(0.0),
        samples.len()
    );
    at(0.5)
}

/// Bytes a second, in MB.
#[allow(dead_code)] // one of the benches counts no bytes
pub fn throughput(name: &str, bytes: usize, time: Duration) {
    let rate = bytes as f64 / time.as_secs_f64() / 1e6;
    println!("{name:<44} {rate:.0} MB/s");
}
