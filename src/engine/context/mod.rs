//! What the model is sent: a stable prefix, what is remembered, the last exchanges and the current turn.
//!
//! Nothing here reads the clock, so equal inputs give equal bytes. A call is never sent without its result, and
//! everything that is left out is named.

pub mod block;
pub mod build;
pub mod estimate;
pub mod exchange;
pub mod prefix;
pub mod transfer;

/// Complete exchanges sent along: the configured number, more of them where the window is large.
pub fn exchanges(configured: u32, window: u64) -> u32 {
    match window {
        0..64_000 => configured,
        64_000..400_000 => configured.saturating_mul(2),
        400_000.. => configured.saturating_mul(4),
    }
}
