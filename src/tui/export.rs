//! Writing a session to a file of its own, beside whatever the console is doing. Never over a file that is there.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::client::console_client::ConsoleClient;
use crate::client::export::{Export, ExportFormat};
use crate::clock::Timestamp;
use crate::protocol::ids::SessionId;

/// Names tried at most.
const NAMES: u32 = 100;

/// Writes the session into `directory`; says what was written, or why nothing was.
pub async fn export(
    client: &dyn ConsoleClient,
    directory: &Path,
    session_id: SessionId,
    format: ExportFormat,
    at: Timestamp,
) -> Result<String, String> {
    let (path, file) = create(directory, session_id, format)?;
    let mut export = Export::new(session_id, format, at);
    match fill(&mut export, client, file).await {
        Ok(()) => Ok(format!(
            "{} entries written to {}",
            export.entries(),
            path.display()
        )),
        Err(why) => {
            // Half a session looks like a whole one. It is ours: it was made a moment ago.
            let left = match std::fs::remove_file(&path) {
                Ok(()) => String::new(),
                Err(_) => format!("; {} is not whole", path.display()),
            };
            Err(format!("not exported: {why}{left}"))
        }
    }
}

/// A new file with a name that is free.
fn create(
    directory: &Path,
    session_id: SessionId,
    format: ExportFormat,
) -> Result<(PathBuf, File), String> {
    let shown = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    for n in 1..=NAMES {
        let number = if n == 1 {
            String::new()
        } else {
            format!("-{n}")
        };
        let name = format!("leverframe-{session_id}{number}.{}", format.extension());
        let path = shown.join(name);
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        match made {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("not exported: {}: {error}", path.display())),
        }
    }
    Err(format!(
        "not exported: {NAMES} exports of this session lie in {} already",
        shown.display()
    ))
}

async fn fill(export: &mut Export, client: &dyn ConsoleClient, file: File) -> Result<(), String> {
    let mut to = BufWriter::new(file);
    loop {
        let part = export
            .next(client)
            .await
            .map_err(|problem| format!("{}: {}", problem.title, problem.detail))?;
        let Some(part) = part else { break };
        to.write_all(part.as_bytes())
            .map_err(|error| error.to_string())?;
    }
    let file = to.into_inner().map_err(|error| error.to_string())?;
    file.sync_all().map_err(|error| error.to_string())
}
