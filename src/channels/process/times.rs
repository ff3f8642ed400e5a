//! How long a program may take for what.

use std::time::Duration;

/// Times of one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessTimes {
    /// Longest wait for its hello.
    pub hello: Duration,
    /// Between two pings.
    pub ping: Duration,
    /// A program that said nothing for so long, pings in between, is ended.
    pub silence: Duration,
    /// How long it may take to end by itself once it was told to.
    pub shutdown: Duration,
}

impl Default for ProcessTimes {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(30),
            ping: Duration::from_secs(30),
            silence: Duration::from_secs(75),
            shutdown: Duration::from_secs(3),
        }
    }
}
