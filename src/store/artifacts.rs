//! Content in files named by their SHA-256: `<data dir>/artifacts/<first two digits>/<64 digits>`.
//!
//! A file is durable before a row names it, and it is unlinked only when no row has named it for a day: a row goes in
//! a durable commit of its own, so no crash leaves a row without its file. Nothing is unlinked while somebody holds
//! [`Store::artifact_guard`].

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::protocol::artifact::{Artifact, ArtifactHash, ArtifactRef};
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
pub use crate::store::artifact_files::{ArtifactGuard, FOLDER};
use crate::store::artifact_files::{UNFINISHED, failed, path_of, write_file};
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::handle::Store;
use crate::store::reader::Reader;
use crate::store::schema::remove_if_there;
use crate::store::sql::{Statements, columns, params};

/// Media type of a text.
pub const TEXT: &str = "text/plain; charset=utf-8";
/// A file without a row is left alone for this long: it may be about to get one.
const ORPHAN_AGE_MS: i64 = 24 * 3600 * 1000;

/// A file that is durable and stays until this is dropped: hold it until the row that names it is committed.
pub struct StoredArtifact {
    /// What to name in the row.
    pub artifact: ArtifactRef,
    _guard: ArtifactGuard,
}

/// Runs file work away from the threads that serve everything else.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(StoreError::Corrupt(format!(
            "work on a file did not finish: {error}"
        ))),
    }
}

impl Store {
    /// Keeps every file of an artifact where it is until the guard is dropped. A copy of the database and its files
    /// holds one from before the database is read until the last file is copied; any number may be held at once, for
    /// as long as it takes.
    pub async fn artifact_guard(&self) -> ArtifactGuard {
        self.inner.artifacts.guard().await
    }

    /// Stores content that is redacted already. When this returns, the file is durable; no row names it yet.
    pub async fn put_artifact(
        &self,
        content: Vec<u8>,
        media_type: &str,
        now: Timestamp,
    ) -> Result<StoredArtifact, StoreError> {
        let guard = self.artifact_guard().await;
        let root = self.inner.artifacts.root.clone();
        let media_type = media_type.to_owned();
        let artifact = blocking(move || {
            let hash = ArtifactHash::from_bytes(Sha256::digest(&content).into());
            write_file(&root, hash, &content, now).map_err(|error| failed(&root, &error))?;
            Ok(ArtifactRef {
                hash,
                size: content.len() as u64,
                media_type,
            })
        })
        .await?;
        Ok(StoredArtifact {
            artifact,
            _guard: guard,
        })
    }

    /// An artifact with its content.
    pub async fn artifact(&self, hash: ArtifactHash) -> Result<Artifact, StoreError> {
        let row = self
            .read_here(move |reader| reader.artifact_row(hash))
            .await?;
        self.load_artifact(row).await
    }

    /// An artifact that a turn of this session refers to; any other does not exist for it.
    pub async fn artifact_of_session(
        &self,
        session: SessionId,
        hash: ArtifactHash,
    ) -> Result<Artifact, StoreError> {
        let row = self
            .read_here(move |reader| {
                if reader.session_refers_to(session, hash)? {
                    reader.artifact_row(hash)
                } else {
                    Err(StoreError::not_found("artifact", hash))
                }
            })
            .await?;
        self.load_artifact(row).await
    }

    /// The bytes of an artifact's file.
    pub async fn artifact_content(&self, hash: ArtifactHash) -> Result<Vec<u8>, StoreError> {
        let root = self.inner.artifacts.root.clone();
        blocking(move || read_file(&root, hash)).await
    }

    /// Where the file of an artifact is.
    pub fn artifact_file(&self, hash: ArtifactHash) -> PathBuf {
        path_of(&self.inner.artifacts.root, hash)
    }

    async fn load_artifact(&self, row: ArtifactRow) -> Result<Artifact, StoreError> {
        let root = self.inner.artifacts.root.clone();
        blocking(move || {
            let content = read_file(&root, row.artifact.hash)?;
            let (text, data) = match String::from_utf8(content) {
                Ok(text) => (text, None),
                Err(other) => (String::new(), Some(BASE64.encode(other.as_bytes()))),
            };
            Ok(Artifact {
                hash: row.artifact.hash,
                size: row.artifact.size,
                media_type: row.artifact.media_type,
                created_at: row.created_at,
                text,
                data,
            })
        })
        .await
    }

    /// Removes every file that no row names, however new; none = somebody holds a guard and nothing was removed. While
    /// nobody holds one, nobody is about to name a file.
    pub async fn remove_unnamed_files(&self) -> Result<Option<SweptFiles>, StoreError> {
        let Ok(_exclusive) = self.inner.artifacts.gate.clone().try_write_owned() else {
            return Ok(None);
        };
        let root = self.inner.artifacts.root.clone();
        let listed = blocking(move || {
            orphan_candidates(&root, Timestamp(i64::MAX)).map_err(|error| failed(&root, &error))
        })
        .await?;
        let mut removed = SweptFiles::default();
        for folder in listed {
            let orphans = self.unnamed(folder).await?;
            removed.files += orphans.len() as u64;
            removed.bytes += orphans.iter().map(|file| file.size).sum::<u64>();
            unlink(orphans).await?;
        }
        Ok(Some(removed))
    }

    /// Those of the files that no row names.
    async fn unnamed(&self, files: Vec<Candidate>) -> Result<Vec<Candidate>, StoreError> {
        self.read(move |reader| {
            let mut orphans = Vec::new();
            for file in files {
                let named = match file.hash {
                    Some(hash) => reader.artifact_known(hash)?,
                    None => false,
                };
                if !named {
                    orphans.push(file);
                }
            }
            Ok(orphans)
        })
        .await
    }

    /// Files that no row names and nobody is about to name: their number and bytes, removed unless it is only a
    /// preview. Removes nothing while a guard is held.
    pub async fn sweep_artifact_files(
        &self,
        now: Timestamp,
        preview: bool,
    ) -> Result<SweptFiles, StoreError> {
        let root = self.inner.artifacts.root.clone();
        let listed =
            blocking(move || orphan_candidates(&root, now).map_err(|error| failed(&root, &error)))
                .await?;
        let mut swept = SweptFiles::default();
        for folder in listed {
            let exclusive = if preview {
                None
            } else {
                match self.inner.artifacts.gate.clone().try_write_owned() {
                    Ok(exclusive) => Some(exclusive),
                    // Whoever holds it needs the files as they are; the next sweep looks again.
                    Err(_) => break,
                }
            };
            let orphans = self.unnamed(folder).await?;
            swept.files += orphans.len() as u64;
            swept.bytes += orphans.iter().map(|file| file.size).sum::<u64>();
            if exclusive.is_some() {
                unlink(orphans).await?;
            }
            drop(exclusive);
        }
        Ok(swept)
    }
}

/// The content of a file, which must be what it is named by.
fn read_file(root: &Path, hash: ArtifactHash) -> Result<Vec<u8>, StoreError> {
    let content = std::fs::read(path_of(root, hash))
        .map_err(|error| StoreError::Corrupt(format!("the file of artifact {hash}: {error}")))?;
    if Sha256::digest(&content).as_slice() != hash.to_bytes() {
        return Err(StoreError::Corrupt(format!(
            "the file of artifact {hash} does not have the content it is named by"
        )));
    }
    Ok(content)
}

async fn unlink(files: Vec<Candidate>) -> Result<(), StoreError> {
    blocking(move || {
        for file in &files {
            remove_if_there(&file.path).map_err(|error| failed(&file.path, &error))?;
        }
        Ok(())
    })
    .await
}

/// Files that went, or would go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweptFiles {
    /// Number.
    pub files: u64,
    pub bytes: u64,
}

/// A file that may be an orphan.
struct Candidate {
    path: PathBuf,
    size: u64,
    /// None = left behind while it was being written.
    hash: Option<ArtifactHash>,
}

/// Files that are old enough, a folder at a time. Names that are not ours are left alone.
fn orphan_candidates(root: &Path, now: Timestamp) -> io::Result<Vec<Vec<Candidate>>> {
    let folders = match std::fs::read_dir(root) {
        Ok(folders) => folders,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let before = now.plus_millis(-ORPHAN_AGE_MS).as_millis();
    let mut all = Vec::new();
    for folder in folders {
        let folder = folder?;
        if !folder.file_type()?.is_dir() {
            continue;
        }
        let mut files = Vec::new();
        for file in std::fs::read_dir(folder.path())? {
            let file = file?;
            let name = file.file_name();
            let name = name.to_string_lossy();
            let hash = name.parse().ok();
            let meta = file.metadata()?;
            let changed = meta.mtime() * 1000 + meta.mtime_nsec() / 1_000_000;
            if meta.is_file() && (hash.is_some() || name.ends_with(UNFINISHED)) && changed < before
            {
                files.push(Candidate {
                    path: file.path(),
                    size: meta.len(),
                    hash,
                });
            }
        }
        if !files.is_empty() {
            all.push(files);
        }
    }
    Ok(all)
}

/// A row.
pub(crate) struct ArtifactRow {
    artifact: ArtifactRef,
    created_at: Timestamp,
}

impl Reader<'_> {
    fn artifact_row(&self, hash: ArtifactHash) -> Result<ArtifactRow, StoreError> {
        self.conn
            .row_opt(
                "SELECT size, media_type, created_at FROM artifacts WHERE hash = ?1",
                [hash],
                |row| {
                    Ok(ArtifactRow {
                        artifact: columns!(row => ArtifactRef {
                            size, media_type;
                            hash,
                        }),
                        created_at: row.get("created_at")?,
                    })
                },
            )?
            .ok_or_else(|| StoreError::not_found("artifact", hash))
    }

    fn artifact_known(&self, hash: ArtifactHash) -> Result<bool, StoreError> {
        self.conn.value(
            "SELECT EXISTS (SELECT 1 FROM artifacts WHERE hash = ?1)",
            [hash],
        )
    }

    fn session_refers_to(
        &self,
        session: SessionId,
        hash: ArtifactHash,
    ) -> Result<bool, StoreError> {
        self.conn.value(
            "SELECT EXISTS (SELECT 1 FROM artifact_references r JOIN continuations c ON c.id = r.continuation_id
             WHERE r.hash = ?1 AND c.session_id = ?2)",
            params![hash, session],
        )
    }
}

impl WriteTx<'_> {
    /// Names a file that is durable, and who needs it.
    pub(crate) fn refer_to_artifact(
        &mut self,
        continuation: ContinuationId,
        call: Option<ToolCallId>,
        artifact: &ArtifactRef,
    ) -> Result<(), StoreError> {
        self.conn.run(
            "INSERT INTO artifacts (hash, size, media_type, created_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (hash) DO NOTHING",
            params![artifact.hash, artifact.size, artifact.media_type, self.now],
        )?;
        self.conn.run(
            "INSERT INTO artifact_references (continuation_id, hash, tool_call_id) VALUES (?1, ?2, ?3)
             ON CONFLICT (continuation_id, hash) DO NOTHING",
            params![continuation, artifact.hash, call],
        )?;
        Ok(())
    }
}
