//! The files of datasets on the disk: where each is, and what stands beside them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;

/// Folder of the files in the data directory.
pub const FOLDER: &str = "datasets";
/// End of the name of a file.
pub const ENDING: &str = ".parquet";
/// Folder of files that are still on their way here, in [`FOLDER`]. No channel has such a name.
pub(super) const UPLOADS: &str = ".uploads";

/// Where the file of a dataset lies below the data directory, which is also its place in a backup.
pub fn member(channel: &str, name: &str) -> String {
    format!("{FOLDER}/{channel}/{name}{ENDING}")
}

/// Whether a path of a backup is one of a dataset.
pub(crate) fn is_member(channel: &str, file: &str) -> bool {
    let plain = |text: &str, more: &[u8]| {
        (1..=64).contains(&text.len())
            && text.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || more.contains(&byte)
            })
    };
    plain(channel, b"_-")
        && file
            .strip_suffix(ENDING)
            .is_some_and(|name| plain(name, b"_"))
}

/// The folder of the files.
pub(crate) struct DatasetFiles {
    pub(super) root: PathBuf,
    pub(super) lock: Arc<Mutex<()>>,
}

impl DatasetFiles {
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self {
            root: data_dir.join(FOLDER),
            lock: Arc::default(),
        }
    }
}

/// Folder, name, path and bytes of each file.
pub(super) fn files(root: &Path) -> io::Result<Vec<(String, String, PathBuf, u64)>> {
    let folders = match std::fs::read_dir(root) {
        Ok(folders) => folders,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for folder in folders {
        let folder = folder?;
        if !folder.file_type()?.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(folder.path())? {
            let file = file?;
            let meta = file.metadata()?;
            if meta.is_file() {
                found.push((
                    folder.file_name().to_string_lossy().into_owned(),
                    file.file_name().to_string_lossy().into_owned(),
                    file.path(),
                    meta.len(),
                ));
            }
        }
    }
    Ok(found)
}
