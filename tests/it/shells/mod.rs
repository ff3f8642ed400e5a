//! Shells of sessions in the real daemon: their policy, their ends, and people at them.

#![allow(clippy::unwrap_used)]

#[cfg(target_os = "linux")]
mod daemon;
