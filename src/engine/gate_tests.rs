//! What the tests of a gate showed: one file of the data directory, which `gate test` writes. Nothing here writes it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::engine::core::Engine;
use crate::protocol::gate_test::GateTest;
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::Page;

/// The file of a data directory.
pub fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("gate-tests.json")
}

/// The newest test of each agent, by agent; none where no test ran.
///
/// # Errors
/// Where the file cannot be read, or is none of ours.
pub fn load(data_dir: &Path) -> anyhow::Result<Vec<GateTest>> {
    let file = file(data_dir);
    match std::fs::read(&file) {
        Ok(text) => serde_json::from_slice(&text)
            .with_context(|| format!("{}: delete it and test again", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
    }
}

/// The tests that the data directory of this engine knows.
pub async fn list(engine: &Engine) -> Result<Page<GateTest>, Problem> {
    let data_dir = engine.settings.paths.data_dir.clone();
    let read = tokio::task::spawn_blocking(move || load(&data_dir)).await;
    match read {
        Ok(Ok(tests)) => Ok(Page::from(tests)),
        Ok(Err(error)) => Err(Problem::internal(format!("{error:#}"))),
        Err(error) => Err(Problem::internal(format!("the tests of gates: {error}"))),
    }
}
