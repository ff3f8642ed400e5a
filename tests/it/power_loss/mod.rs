//! Loss of power. A process that is killed leaves everything it wrote to the kernel, so killing shows nothing about what
//! reached the disk. Here the calls of real processes are recorded under `strace`, and from them follows what a disk may
//! hold at any moment: only what was synced is certain, all else is dropped, reordered, torn. Each such image is opened
//! by the real store and must hold what had been promised when power went.
//!
//! Where `strace` cannot run, the tests say so and check nothing. A run is deterministic for the recorded trace and its
//! seed, which every failure names. `LEVERFRAME_POWER_SEED` sets another one; `LEVERFRAME_POWER_MINUTES=30 cargo test
//! --test it power_loss::store_run::soak -- --ignored --exact --nocapture` goes on with new traces and seeds for that
//! long.

mod child;
mod daemon_run;
mod disk;
mod disk_model;
mod examine;
mod image;
pub(crate) mod journal;
pub(crate) mod logical;
mod mutants;
mod promises;
mod replay;
mod store_run;
mod strace;
mod sync_errors;
mod trace;
mod trace_lines;

/// Where the choice of images starts.
fn seed() -> u64 {
    std::env::var("LEVERFRAME_POWER_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0x0070_6f77_6572)
}
