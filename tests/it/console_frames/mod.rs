//! Styled frames of every screen, at three sizes and at any size.

// Helpers of tests count as tests here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod deciding;
pub mod driver;
pub mod fixture;
pub mod look;
pub mod styled;

pub mod any_size;
pub mod assigning;
mod diffs;
pub mod fleet;
mod graphics;
mod held;
pub mod hosts;
mod links;
pub mod memory;
pub mod models_dialog;
pub mod money;
mod pairing;
mod pictures;
mod pixels;
mod python;
pub(crate) mod screens;
mod scrolling;
pub mod stats;
