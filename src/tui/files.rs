//! Files between the console's machine and a session. Never over a file that is there.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::client::attachment;
use crate::client::console_client::ConsoleClient;
use crate::client::dataset_upload::FileUpload;
use crate::console::labels::problem_text;
use crate::protocol::artifact::{ArtifactHash, NewAttachment};
use crate::protocol::command::Actor;
use crate::protocol::dataset::Dataset;
use crate::protocol::enums::Surface;
use crate::protocol::ids::SessionId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{GetArtifact, ListContinuations};
use crate::protocol::snapshot::PageRequest;

/// Most turns of a session that a file is looked for in, newest first.
const TURNS: u32 = 200;

/// Reads a file as it goes with a message; else why it cannot.
pub async fn read(path: PathBuf) -> Result<NewAttachment, String> {
    let read = tokio::task::spawn_blocking(move || {
        if path.exists() && !path.is_file() {
            return Err(format!("{} is not a file", path.display()));
        }
        attachment::read(&path)
    });
    let read = read.await.unwrap_or_else(|error| Err(error.to_string()));
    read.map_err(|why| format!("not attached: {why}"))
}

/// Writes the newest file of this name of a session into `directory`; says where it is, or why it is not.
pub async fn save(
    client: &dyn ConsoleClient,
    directory: &Path,
    session_id: SessionId,
    name: &str,
) -> Result<String, String> {
    let refused = |problem: Problem| format!("not saved: {}: {}", problem.title, problem.detail);
    let request = ListContinuations {
        state: None,
        session_id: Some(session_id),
        page: PageRequest {
            cursor: None,
            limit: Some(TURNS),
        },
    };
    let turns = client.call(request).await.map_err(refused)?;
    let mut known: Vec<(String, ArtifactHash)> = Vec::new();
    for turn in &turns.items {
        let sent = turn
            .files
            .iter()
            .map(|file| (file.name.clone(), file.artifact.hash));
        let received = turn.attachments.iter().map(|file| {
            let name = file.path.rsplit('/').next().unwrap_or(&file.path);
            (name.to_owned(), file.artifact.hash)
        });
        known.extend(sent.chain(received));
    }
    let Some((_, hash)) = known.iter().find(|(file, _)| file == name) else {
        let names: Vec<&str> = known
            .iter()
            .map(|(file, _)| file.as_str())
            .take(5)
            .collect();
        return Err(if names.is_empty() {
            "not saved: this session has no files".to_owned()
        } else {
            format!(
                "not saved: no file {name:?} here; there are: {}",
                names.join(", ")
            )
        });
    };
    let artifact = client
        .call(GetArtifact { hash: *hash })
        .await
        .map_err(refused)?;
    let content = match artifact.data {
        None => artifact.text.into_bytes(),
        Some(data) => BASE64
            .decode(data)
            .map_err(|error| format!("not saved: {error}"))?,
    };
    let directory = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    let path = directory.join(Path::new(name).file_name().unwrap_or_default());
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(&content)?;
        file.sync_all()
    };
    write().map_err(|error| format!("not saved: {}: {error}", path.display()))?;
    Ok(format!("saved as {}", path.display()))
}

/// Makes a dataset of a file; else why it is none.
pub async fn upload(
    client: &dyn ConsoleClient,
    actor: &Actor,
    channel: String,
    file: &Path,
    name: Option<String>,
) -> Result<Dataset, String> {
    let mut upload = FileUpload::open(file, channel, name)?;
    loop {
        let next = upload.next(client, actor, Surface::Console).await;
        if let Some(dataset) = next.map_err(|problem| problem_text(&problem))? {
            return Ok(dataset);
        }
    }
}
