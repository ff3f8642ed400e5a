//! What the model is sent: a stable prefix, what is remembered, the last exchanges and the current turn.
//!
//! Nothing here reads the clock, so equal inputs give equal bytes. A call is never sent without its result, and
//! everything that is left out is named.

pub mod block;
pub mod build;
pub mod estimate;
pub mod exchange;
pub mod prefix;
pub mod speaker;
pub mod transfer;

/// Most exchanges beyond the least that are sent along, however short they are: they have to be read for each step.
pub const MOST_BEYOND: u32 = 200;

/// Tokens that exchanges may fill of a window.
pub fn history_tokens(percent: u32, window: u64) -> u64 {
    window * u64::from(percent) / 100
}

/// Complete exchanges sent along at least: the configured number, more of them where the window is large.
pub fn exchanges(configured: u32, window: u64) -> u32 {
    match window {
        0..64_000 => configured,
        64_000..400_000 => configured.saturating_mul(2),
        400_000.. => configured.saturating_mul(4),
    }
}
