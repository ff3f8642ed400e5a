//! What a program must not be able to do: a level is proved when each of these was tried from inside and failed.
//!
//! Nothing here tries anything.

use serde::{Deserialize, Serialize};

/// Something a confined program cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Attempt {
    /// Change the running kernel through `/proc` or `/sys`.
    Kernel,
    /// Write outside the workspace.
    Outside,
    /// Read our own data.
    Data,
    /// Reach the network, the loopback interface of the host included.
    Network,
    /// Connect to a unix socket of somebody else.
    Socket,
    /// Signal a process of somebody else.
    Signal,
    /// Make a user namespace, where it would have every capability.
    Namespace,
}

impl Attempt {
    /// In words: what cannot be done.
    pub fn words(self) -> &'static str {
        match self {
            Self::Kernel => "write /proc or /sys",
            Self::Outside => "write outside the workspace",
            Self::Data => "read our data",
            Self::Network => "reach the network",
            Self::Socket => "connect to a unix socket",
            Self::Signal => "signal other processes",
            Self::Namespace => "make a user namespace",
        }
    }
}

/// Every attempt, in the order in which they are told.
pub const ALL: [Attempt; 7] = [
    Attempt::Kernel,
    Attempt::Outside,
    Attempt::Data,
    Attempt::Network,
    Attempt::Socket,
    Attempt::Signal,
    Attempt::Namespace,
];
