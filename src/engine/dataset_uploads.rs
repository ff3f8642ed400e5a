//! Files on their way to become datasets, and how much work on datasets goes on at once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::clock::Timestamp;
use crate::engine::lock::lock;
use crate::protocol::ids::DatasetUploadId;
use crate::protocol::problem::Problem;

/// How many files are made or asked at once.
const AT_ONCE: usize = 2;

/// Files on their way here, and who may work.
pub struct Datasets {
    uploads: Mutex<HashMap<DatasetUploadId, Upload>>,
    work: Semaphore,
}

impl Default for Datasets {
    fn default() -> Self {
        Self {
            uploads: Mutex::default(),
            work: Semaphore::new(AT_ONCE),
        }
    }
}

/// A file on its way here.
#[derive(Debug, Clone)]
pub struct Upload {
    pub channel: String,
    /// Name that was asked for.
    pub name: Option<String>,
    /// Name of the file.
    pub source: String,
    /// Where its bytes are.
    pub path: PathBuf,
    /// Bytes that are here.
    pub received: u64,
    /// Who sends it.
    pub owner: String,
    /// When its last part came.
    pub at: Timestamp,
}

/// Files that may be on their way at once.
const MAX_UPLOADS: usize = 16;
/// The same of one sender, so that nobody takes the places of all.
const MAX_OF_ONE: usize = 4;
/// After so long without a part, an upload is given up: whoever goes on sends the next one at once.
const IDLE_SECONDS: i64 = 300;

impl Datasets {
    /// Waits until work on a file may begin, which it does until this is dropped.
    pub async fn work(&self) -> Option<SemaphorePermit<'_>> {
        // Nobody closes it.
        self.work.acquire().await.ok()
    }

    /// Takes a file in; those that nobody goes on with are given up, and their paths come back.
    pub fn begin(&self, id: DatasetUploadId, upload: Upload) -> Result<Vec<PathBuf>, Problem> {
        let mut uploads = lock(&self.uploads);
        let before = upload.at.plus_seconds(-IDLE_SECONDS);
        let idle: Vec<DatasetUploadId> = uploads
            .iter()
            .filter(|(_, upload)| upload.at < before)
            .map(|(id, _)| *id)
            .collect();
        let given_up = idle.iter().filter_map(|id| uploads.remove(id));
        let given_up = given_up.map(|upload| upload.path).collect();
        if uploads.len() >= MAX_UPLOADS {
            return Err(Problem::conflict(
                "too many uploads",
                format!("{MAX_UPLOADS} files are on their way"),
            )
            .hint("try again when one of them has come"));
        }
        let own = uploads.values().filter(|other| other.owner == upload.owner);
        if own.count() >= MAX_OF_ONE {
            return Err(Problem::conflict("too many uploads",
                format!("{MAX_OF_ONE} files of yours are on their way"),
            )
            .hint(format!(
                "try again when one of them has come; one that broke off counts for {IDLE_SECONDS} s"
            )));
        }
        uploads.insert(id, upload);
        Ok(given_up)
    }

    /// Takes an upload out, for as long as something is done with it.
    pub fn take(&self, id: DatasetUploadId, owner: &str) -> Result<Upload, Problem> {
        let mut uploads = lock(&self.uploads);
        match uploads.get(&id) {
            Some(upload) if upload.owner == owner => {}
            Some(_) | None => {
                return Err(Problem::not_found("upload of a dataset", id)
                    .hint("it ended, or the daemon was restarted: begin it again"));
            }
        }
        uploads
            .remove(&id)
            .ok_or_else(|| Problem::not_found("upload of a dataset", id))
    }

    pub fn put_back(&self, id: DatasetUploadId, upload: Upload) {
        lock(&self.uploads).insert(id, upload);
    }
}
