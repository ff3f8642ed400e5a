//! The files of messages in the workspace: put where tools find them before the turn goes on, and removed with the turn.
//!
//! A file that is there stays as it is: a tool may have changed it, and a turn that is taken up again does not undo that.

use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use crate::engine::core::Engine;
use crate::protocol::ids::ContinuationId;
use crate::store::commands::ingest_turn::FOLDER;
use crate::store::queries::turn::TurnRows;
use crate::tools::atomic::{Replace, write_atomically};
use crate::tools::guard::{Guard, Kind};

/// Readable, and never executable.
const MODE: Mode = Mode::from_raw_mode(0o644);

/// Writes the files into the workspace. One that cannot be written is missing for the tool that reads it, which says
/// so to the model; the turn goes on.
pub async fn place(engine: &Engine, rows: &TurnRows) {
    let Ok(settings) = engine.channel(&rows.channel) else {
        return;
    };
    for attachment in &rows.attachments {
        let path = attachment.path.clone();
        let workspace = settings.workspace.clone();
        let hidden = engine.hidden_directories(&workspace);
        let placed = match engine
            .store
            .artifact_content(attachment.artifact.hash)
            .await
        {
            Ok(content) => {
                let write =
                    tokio::task::spawn_blocking(move || write(workspace, hidden, &path, &content));
                write.await.unwrap_or_else(|error| Err(error.to_string()))
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = placed {
            tracing::warn!(continuation = %rows.id, path = %attachment.path, %error, "cannot write an attached file to the workspace");
        }
    }
}

/// Removes the copies of turns that are gone for good. Errors are logged: the next run tries again.
pub async fn remove_copies(engine: &Engine) {
    for settings in engine.settings.channels.values() {
        let folder = settings.workspace.join(FOLDER);
        for (id, copies) in copies(&folder) {
            let is_gone = engine
                .store
                .read(move |reader| reader.is_gone(id))
                .await
                .unwrap_or(false);
            if is_gone && let Err(error) = std::fs::remove_dir_all(&copies) {
                tracing::warn!(continuation = %id, %error, "cannot remove the files of a removed message from the workspace");
            }
        }
    }
}

/// The directories with files of messages. A link in place of the folder leads nowhere.
fn copies(folder: &Path) -> Vec<(ContinuationId, PathBuf)> {
    let is_directory = std::fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    let entries = is_directory
        .then(|| std::fs::read_dir(folder).ok())
        .flatten();
    let copy = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let id = entry.file_name().to_str()?.parse().ok()?;
        Some((id, entry.path()))
    };
    entries.into_iter().flatten().filter_map(copy).collect()
}

fn write(
    workspace: PathBuf,
    hidden: Vec<PathBuf>,
    path: &str,
    content: &[u8],
) -> Result<(), String> {
    std::fs::create_dir_all(&workspace).map_err(|error| error.to_string())?;
    let guard = Guard::of(workspace, hidden);
    let path = guard.writable(path).map_err(|error| error.to_string())?;
    if path.kind != Kind::Missing {
        return Ok(());
    }
    let (parent, name) = guard
        .open_parent(&path)
        .map_err(|error| error.to_string())?;
    write_atomically(&parent, name, &[content], MODE, Replace::Never)
        .map_err(|failure| failure.error.to_string())
}
