//! The first run: what is looked for on this machine, what `init` offers of it, and what it writes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub(crate) mod init;
mod probe;
