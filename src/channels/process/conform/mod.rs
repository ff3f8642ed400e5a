//! The conformance cases of the bridge protocol: what every program must do, tried on a program without a daemon.
//!
//! No platform is reached: a program that is told `conform` acts as if one person repeated everything that it sends.

mod cases;
mod lab;
mod peer;
mod table;
mod trial;

pub use table::names;
pub use trial::{CaseOutcome, CaseResult, run};
