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

/// Pause before the directory is removed again, and how often. A process that was killed a moment ago still writes.
const AGAIN: (std::time::Duration, u32) = (std::time::Duration::from_millis(50), 20);

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        for _ in 0..AGAIN.1 {
            match std::fs::remove_dir_all(&self.path) {
                Ok(()) => return,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
                Err(error) => {
                    tracing::debug!(%error, "a temporary directory is not removed yet");
                    std::thread::sleep(AGAIN.0);
                }
            }
        }
        tracing::warn!(path = %self.path.display(), "a temporary directory stays behind");
    }
}
