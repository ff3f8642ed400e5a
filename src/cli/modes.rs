//! The modes that need the engine or the screen. Nothing here reads arguments.

use crate::client::remote::connection::RemoteClient;
use crate::config::layers::Flags;

/// How the console opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Everything.
    Full,
    /// `--read-only`: looks, never acts.
    ReadOnly,
}

/// The console with the engine inside, or attached when another process holds the data directory.
pub async fn run_console(_flags: Flags, _rights: Rights) -> anyhow::Result<()> {
    anyhow::bail!("not wired")
}

/// Headless.
pub async fn run_daemon(_flags: Flags) -> anyhow::Result<()> {
    anyhow::bail!("not wired")
}

/// The demo: scripted model and channels in a temporary directory.
pub async fn run_demo(_flags: Flags, _rights: Rights) -> anyhow::Result<()> {
    anyhow::bail!("not wired")
}

/// The console attached to a daemon.
pub async fn run_attach(
    _client: RemoteClient,
    _flags: Flags,
    _rights: Rights,
) -> anyhow::Result<()> {
    anyhow::bail!("not wired")
}
