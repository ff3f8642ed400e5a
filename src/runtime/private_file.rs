//! Files that hold what nobody else may read.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;

/// Writes a new file that nobody else can read.
///
/// # Errors
/// Where it is there already, or cannot be written.
pub fn write_private(path: &Path, content: &str) -> anyhow::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("creating {}", path.display()))?;
    let written = file.write_all(content.as_bytes());
    written
        .inspect_err(|_| {
            // Half a secret is none, and the next attempt makes a new file.
            let _ = std::fs::remove_file(path);
        })
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(())
}
