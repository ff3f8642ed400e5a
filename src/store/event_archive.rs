//! Old events go from the database into the files of the archive.
//!
//! No row goes before the file that holds its event is durable. Events are filed in the order of their numbers, and the
//! newest number in the files says where to go on: no crash loses one or files it twice.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::OwnedRwLockWriteGuard;

use crate::clock::Timestamp;
use crate::protocol::event::{Event, EventBody};
use crate::store::archive_files::{DayFile, SealedDay, day_of, days, newest};
use crate::store::artifact_files::failed;
use crate::store::artifacts::blocking;
use crate::store::error::StoreError;
use crate::store::handle::Store;

/// Rows read in one transaction.
const PAGE: u32 = 500;
/// How often it is tried to put a file in its place while a backup reads them, and how long is waited in between.
const TRIES: usize = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// A line of the archive. What an approval asks for is as short as in a snapshot.
fn line_of(mut event: Event) -> Result<Vec<u8>, StoreError> {
    if let EventBody::ApprovalRequested { approval }
    | EventBody::ApprovalDecided { approval }
    | EventBody::ApprovalExpired { approval }
    | EventBody::ApprovalAssigned { approval }
    | EventBody::ApprovalReminded { approval }
    | EventBody::ApprovalFirstAllowed { approval }
    | EventBody::ApprovalEscalation { approval } = &mut event.body
    {
        approval.shorten();
    }
    Ok(serde_json::to_vec(&event)?)
}

impl Store {
    pub(super) fn data_dir(&self) -> PathBuf {
        let parent = self.inner.path.parent();
        parent.unwrap_or(Path::new(".")).to_owned()
    }

    /// The right to change files that have their names, until it is dropped. Makes nobody wait who holds a guard.
    async fn archive_alone(&self) -> Result<OwnedRwLockWriteGuard<()>, StoreError> {
        for _ in 0..TRIES {
            if let Ok(alone) = self.inner.artifacts.gate.clone().try_write_owned() {
                return Ok(alone);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(StoreError::conflict(
            "the files of the event archive are needed by a backup or a running tool",
        ))
    }

    /// Puts a file in its place.
    pub(super) async fn place_archived(&self, sealed: SealedDay) -> Result<(), StoreError> {
        let alone = self.archive_alone().await?;
        blocking(move || {
            let _alone = alone;
            sealed.place()
        })
        .await
    }

    /// Files every event from before a time that is not filed yet; their number. When this returns, the files are
    /// durable. Only one may do this at a time.
    pub async fn archive_events(&self, before: Timestamp) -> Result<u64, StoreError> {
        let dir = self.data_dir();
        let mut after = blocking(move || newest(&dir)).await?;
        let mut filed = 0;
        loop {
            let first = self
                .read(move |reader| {
                    let mut first = None;
                    reader.stored_events(after, 1, |event| {
                        first = Some(event.at);
                        Ok(false)
                    })?;
                    Ok(first)
                })
                .await?;
            let Some(first) = first.filter(|at| *at < before) else {
                return Ok(filed);
            };
            let (dir, day) = (self.data_dir(), day_of(first));
            let mut file = blocking(move || DayFile::of_day(&dir, day)).await?;
            loop {
                let (written, count, last) = self
                    .read(move |reader| {
                        let (mut count, mut last) = (0, after);
                        reader.stored_events(after, PAGE, |event| {
                            let ours = event.at < before && day_of(event.at) == day;
                            if ours {
                                last = event.seq.unwrap_or(last);
                                count += 1;
                                file.line(&line_of(event)?)?;
                            }
                            Ok(ours)
                        })?;
                        Ok((file, count, last))
                    })
                    .await?;
                (file, after) = (written, last);
                filed += u64::from(count);
                if count < PAGE {
                    break;
                }
            }
            let sealed = blocking(move || file.seal()).await?;
            self.place_archived(sealed).await?;
        }
    }

    /// Removes the files of days that were over before a time; their number.
    pub async fn sweep_event_archive(&self, before: Timestamp) -> Result<u64, StoreError> {
        let dir = self.data_dir();
        let old: Vec<PathBuf> = blocking(move || days(&dir))
            .await?
            .into_iter()
            .filter(|file| file.day < day_of(before))
            .map(|file| file.path)
            .collect();
        self.remove_archived(old).await
    }

    /// Removes files of the archive; their number.
    pub(super) async fn remove_archived(&self, files: Vec<PathBuf>) -> Result<u64, StoreError> {
        if files.is_empty() {
            return Ok(0);
        }
        let alone = self.archive_alone().await?;
        blocking(move || {
            let _alone = alone;
            for path in &files {
                std::fs::remove_file(path).map_err(|error| failed(path, &error))?;
            }
            Ok(files.len() as u64)
        })
        .await
    }
}
