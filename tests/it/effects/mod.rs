//! What becomes of a tool's effect when nobody saw its end: by effect class, on the real binary, judged by the ledger
//! of the service that the effect reaches.

mod crash;
mod faults;
mod files;
mod key_life;
mod questions;
mod waits;
mod world;
