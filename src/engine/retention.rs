//! What a sweep, memory hygiene and the erasure of a user have in common: much is found in batches and removed in
//! pieces. Whoever waits for the writer comes between two pieces, and a stop ends the work there.

use crate::engine::core::Engine;
use crate::protocol::problem::Problem;
use crate::store::command::WriteCommand;
use crate::store::commands::reclaim_space::ReclaimSpace;
use crate::store::commands::remove::{CHUNK, Removal, Remove, RemovedCount};
use crate::store::error::StoreError;
use crate::store::queries::page::Batch;
use crate::store::reader::Reader;

/// Pages given back in one step (4 KiB each).
const VACUUM_PAGES: u32 = 256;
/// Free pages are left in the file up to this share of it: they are filled again before long.
const FREE_SHARE: u64 = 10;

/// What removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Counts what another job would remove.
    Preview,
    /// What is old.
    Sweep,
    /// What memory holds too long, or too much of.
    Hygiene,
    /// Everything of a person.
    Erase,
}

/// Refuses a job on a restored copy.
pub async fn refuse_quarantined(engine: &Engine) -> Result<(), Problem> {
    let flags = engine.read_here(|reader| reader.flags()).await?;
    if !flags.quarantine && !engine.emergency.is_quarantined() {
        return Ok(());
    }
    Err(Problem::not_offered(
        "quarantined",
        "the database is a restored copy: nothing is removed or brought back before it is released",
    )
    .hint("look at what is uncertain, then `leverframe release`"))
}

/// A job under way.
#[derive(Clone, Copy)]
pub struct Retention<'a> {
    /// Where it works.
    pub engine: &'a Engine,
    /// What removes.
    pub job: Job,
}

impl Retention<'_> {
    /// One piece of work.
    pub async fn piece<C: WriteCommand>(&self, command: C) -> Result<C::Output, StoreError> {
        if self.engine.shutdown.is_cancelled() {
            return Err(StoreError::Closed);
        }
        let output = self.engine.store.write(command).await?;
        match self.job {
            Job::Preview => {}
            Job::Sweep => {
                crate::crash_point!("sweep.mid");
            }
            Job::Hygiene => {
                crate::crash_point!("hygiene.mid");
            }
            Job::Erase => {
                crate::crash_point!("erase.mid");
            }
        }
        tokio::task::yield_now().await;
        Ok(output)
    }

    /// Pieces of the same kind until one removes nothing; how many things went.
    pub async fn repeat<C>(&self, command: C) -> Result<u64, StoreError>
    where
        C: WriteCommand<Output = RemovedCount> + Clone,
    {
        let mut removed = 0;
        loop {
            let count = self.piece(command.clone()).await?;
            removed += count.removed;
            if count.rows == 0 {
                return Ok(removed);
            }
        }
    }

    /// Removes what has these keys, each piece as many as fit; how many went. A preview counts the keys.
    pub async fn remove<R: Removal>(&self, what: R, keys: &[R::Key]) -> Result<u64, StoreError> {
        if self.job == Job::Preview {
            return Ok(keys.len() as u64);
        }
        let (mut removed, mut rest) = (0, keys);
        while !rest.is_empty() {
            let some = rest.get(..CHUNK as usize).unwrap_or(rest);
            let (what, keys) = (what.clone(), some.to_vec());
            let count = self.piece(Remove { what, keys }).await?;
            removed += count.removed;
            // A piece takes at least one; this keeps a faulty one from going on for ever.
            rest = rest.get(count.taken.max(1)..).unwrap_or_default();
        }
        Ok(removed)
    }

    /// Gives free pages of the file back, unless they are less than a tenth of it; bytes by which it became shorter.
    pub async fn reclaim(&self) -> Result<u64, StoreError> {
        self.reclaim_to(|pages| pages / FREE_SHARE).await
    }

    /// Gives every free page of the file back.
    pub async fn reclaim_all(&self) -> Result<(), StoreError> {
        self.reclaim_to(|_| 0).await.map(|_| ())
    }

    async fn reclaim_to(&self, spare: fn(u64) -> u64) -> Result<u64, StoreError> {
        let store = &self.engine.store;
        let (before, mut free) = store.read(|reader| reader.pages()).await?;
        let mut pages = before;
        while free > spare(pages) {
            let step = ReclaimSpace {
                pages: VACUUM_PAGES,
            };
            let left = self.piece(step).await?;
            if left >= free {
                break;
            }
            pages = pages.saturating_sub(free - left);
            free = left;
        }
        Ok((before - pages) * 4096)
    }
}

/// Reads batch after batch, each after the last key of the one before.
pub struct Batches<'a, K> {
    engine: &'a Engine,
    /// The last key of the one before; none = there is none before.
    after: Option<K>,
    ended: bool,
}

impl<'a, K: Send + 'static> Batches<'a, K> {
    /// From the first key.
    pub fn of(engine: &'a Engine) -> Self {
        Self {
            engine,
            after: None,
            ended: false,
        }
    }

    /// The next one, with what `read` chose of its rows; none = there is no more.
    pub async fn next<T: Send + 'static>(
        &mut self,
        read: impl FnOnce(&Reader<'_>, Option<K>) -> Result<Batch<T, K>, StoreError> + Send + 'static,
    ) -> Result<Option<Vec<T>>, StoreError> {
        if self.ended {
            return Ok(None);
        }
        let after = self.after.take();
        let store = &self.engine.store;
        let batch = store.read(move |reader| read(reader, after)).await?;
        self.ended = batch.next.is_none();
        self.after = batch.next;
        Ok(Some(batch.items))
    }
}
