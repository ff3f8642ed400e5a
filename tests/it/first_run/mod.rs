//! The first run: what is looked for on this machine, what `init` offers of it, and what it writes. And what a shell
//! completes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod completions;
pub(crate) mod init;
mod probe;
