//! How long to wait before another try, and what keeps many from trying in the same moment.

use std::time::Duration;

/// The wait after so many failures in a row (from 1): `first`, doubled for each further one, at most `longest`.
pub fn doubled(first: Duration, failures: u32, longest: Duration) -> Duration {
    let doublings = failures.saturating_sub(1).min(31);
    first.saturating_mul(1 << doublings).min(longest)
}

/// A random number in 0..1; 0.5 without a source of randomness.
pub fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |random| {
        f64::from(random) / (f64::from(u32::MAX) + 1.0)
    })
}

/// A number of milliseconds below `most` that stays the same for as long as this process lives, and is another one in
/// most others.
pub fn own_share(most: u32) -> u32 {
    std::process::id()
        .wrapping_mul(7919)
        .checked_rem(most)
        .unwrap_or(0)
}
