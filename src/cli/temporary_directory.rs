//! A private directory that goes away with its owner.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use anyhow::Context as _;

/// A private directory that goes away with its owner.
pub struct TemporaryDirectory {
    /// Absolute, without links.
    pub path: PathBuf,
}

impl TemporaryDirectory {
    /// Makes one; `what` is a word of its name.
    pub fn new(what: &str) -> anyhow::Result<Self> {
        let id = crate::protocol::ids::SessionId::generate();
        let path = std::env::temp_dir().join(format!("leverframe-{what}-{id}"));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("creating {}", path.display()))?;
        Ok(Self {
            path: path.canonicalize().unwrap_or(path),
        })
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::warn!(%error, "a temporary directory stays behind");
        }
    }
}
