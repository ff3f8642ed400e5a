//! The Parquet files of datasets: `<data dir>/datasets/<channel>/<name>.parquet`.
//!
//! A file is durable before a row names it, and unlinked only after its row went in a durable commit: no crash leaves a
//! row without its file. A file that no row names is removed by the next sweep. Whoever makes, removes or sweeps files
//! holds [`DatasetLock`]; nothing is unlinked while somebody holds [`Store::artifact_guard`].

use std::fs::File;
use std::path::PathBuf;

use rustix::fs::RenameFlags;
use tokio::sync::OwnedMutexGuard;

use crate::protocol::dataset::Dataset;
use crate::protocol::ids::DatasetId;
use crate::store::artifact_files::{failed, make_directory};
use crate::store::artifacts::{SweptFiles, blocking};
use crate::store::dataset_files::{ENDING, UPLOADS, files};
use crate::store::error::StoreError;
use crate::store::handle::Store;
use crate::store::schema::remove_if_there;

/// Held while files get their names or lose them.
pub struct DatasetLock {
    _only: OwnedMutexGuard<()>,
}

impl Store {
    /// Waits until nobody else names or removes files of datasets.
    pub async fn dataset_lock(&self) -> DatasetLock {
        DatasetLock {
            _only: self.inner.datasets.lock.clone().lock_owned().await,
        }
    }

    /// Where the file of a dataset is.
    pub fn dataset_path(&self, dataset: &Dataset) -> PathBuf {
        let folder = self.inner.datasets.root.join(&dataset.channel);
        folder.join(format!("{}{ENDING}", dataset.name))
    }

    /// A path for a file that is to become the file of a dataset of a channel; there is none yet.
    pub async fn new_dataset_file(&self, channel: &str) -> Result<PathBuf, StoreError> {
        let root = self.inner.datasets.root.clone();
        let folder = root.join(channel);
        blocking(move || {
            make_directory(&root).map_err(|error| failed(&root, &error))?;
            make_directory(&folder).map_err(|error| failed(&folder, &error))?;
            Ok(folder.join(format!(".{}.new", ulid::Ulid::generate())))
        })
        .await
    }

    /// A path for a file that is on its way here; there is none yet.
    pub async fn new_upload_file(&self) -> Result<PathBuf, StoreError> {
        let root = self.inner.datasets.root.clone();
        let folder = root.join(UPLOADS);
        blocking(move || {
            make_directory(&root).map_err(|error| failed(&root, &error))?;
            make_directory(&folder).map_err(|error| failed(&folder, &error))?;
            Ok(folder.join(ulid::Ulid::generate().to_string()))
        })
        .await
    }

    /// Whether a name has a file, also where no row names it any more.
    pub fn is_dataset_file(&self, channel: &str, name: &str) -> bool {
        let folder = self.inner.datasets.root.join(channel);
        std::fs::symlink_metadata(folder.join(format!("{name}{ENDING}"))).is_ok()
    }

    /// Gives a durable file its name. It never takes the place of another one.
    pub async fn name_dataset_file(
        &self,
        _lock: &DatasetLock,
        file: PathBuf,
        dataset: &Dataset,
    ) -> Result<(), StoreError> {
        let path = self.dataset_path(dataset);
        blocking(move || {
            crate::crash_point!("dataset.pre_rename");
            let named = rustix::fs::renameat_with(
                rustix::fs::CWD,
                &file,
                rustix::fs::CWD,
                &path,
                RenameFlags::NOREPLACE,
            );
            named.map_err(|error| failed(&path, &error.into()))?;
            let folder = path.parent().unwrap_or(&path);
            File::open(folder)
                .and_then(|folder| folder.sync_all())
                .map_err(|error| failed(folder, &error))
        })
        .await
    }

    /// Removes the files that no row names, of datasets and of uploads that ended with a process: what went. A preview
    /// only counts. Removes nothing while a guard is held.
    pub async fn sweep_dataset_files(
        &self,
        _lock: &DatasetLock,
        preview: bool,
    ) -> Result<SweptFiles, StoreError> {
        let mut swept = SweptFiles::default();
        let exclusive = match self.inner.artifacts.gate.clone().try_write_owned() {
            Ok(exclusive) => Some(exclusive),
            Err(_) if preview => None,
            // Whoever holds it needs the files as they are; the next sweep looks again.
            Err(_) => return Ok(swept),
        };
        let root = self.inner.datasets.root.clone();
        let found = blocking(move || files(&root).map_err(|error| failed(&root, &error))).await?;
        for (channel, name, path, bytes) in found {
            let of = name
                .strip_suffix(ENDING)
                .map(|name| (channel.clone(), name.to_owned()));
            let is_named = match of {
                Some((channel, name)) => {
                    self.read_here(move |reader| reader.dataset_known(&channel, &name))
                        .await?
                }
                // Being made: whoever makes it removes it, and what a crash leaves goes at the start.
                None => true,
            };
            if is_named {
                continue;
            }
            swept.files += 1;
            swept.bytes += bytes;
            if !preview {
                remove_if_there(&path).map_err(|error| failed(&path, &error))?;
            }
        }
        drop(exclusive);
        Ok(swept)
    }

    /// Removes what an earlier process left half made. Only at the start, when nobody makes any.
    pub async fn remove_unfinished_datasets(&self) -> Result<(), StoreError> {
        let root = self.inner.datasets.root.clone();
        blocking(move || {
            let found = files(&root).map_err(|error| failed(&root, &error))?;
            let unfinished = found.iter().filter(|(_, name, ..)| !name.ends_with(ENDING));
            for (.., path, _) in unfinished {
                remove_if_there(path).map_err(|error| failed(path, &error))?;
            }
            Ok(())
        })
        .await
    }

    /// Removes the file of a dataset whose row is gone for good, unless somebody needs it as it is: then a sweep does.
    pub async fn remove_dataset_file(
        &self,
        _lock: &DatasetLock,
        dataset: &Dataset,
    ) -> Result<(), StoreError> {
        let Ok(_exclusive) = self.inner.artifacts.gate.clone().try_write_owned() else {
            return Ok(());
        };
        let path = self.dataset_path(dataset);
        blocking(move || remove_if_there(&path).map_err(|error| failed(&path, &error))).await
    }

    /// A dataset by its id.
    pub async fn dataset(&self, id: DatasetId) -> Result<Dataset, StoreError> {
        self.read_here(move |reader| reader.dataset(id)).await
    }
}
