//! Linux: bubblewrap, else Landlock with seccomp, each proved by attempts from inside.

pub(crate) mod attempts;
pub(crate) mod landlock;
pub(crate) mod probe;
mod system_calls;
