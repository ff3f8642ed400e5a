//! Large changes to the database in small pieces: whoever waits for the writer comes between two of them, and a stop ends
//! the work there.

use crate::engine::core::Engine;
use crate::store::command::WriteCommand;
use crate::store::commands::reclaim_space::ReclaimSpace;
use crate::store::error::StoreError;

/// Pages given back in one step (4 KiB each).
const VACUUM_PAGES: u32 = 256;
/// Free pages are left in the file up to this share of it: they are filled again before long.
const FREE_SHARE: u64 = 10;

pub async fn piece<C: WriteCommand>(engine: &Engine, command: C) -> Result<C::Output, StoreError> {
    if engine.shutdown.is_cancelled() {
        return Err(StoreError::Closed);
    }
    let output = engine.store.write(command).await?;
    tokio::task::yield_now().await;
    Ok(output)
}

/// Gives free pages of the file back, unless there are few; bytes by which it became shorter.
pub async fn reclaim(engine: &Engine) -> Result<u64, StoreError> {
    let (before, mut free) = engine.store.read(|reader| reader.pages()).await?;
    let mut pages = before;
    while free > pages / FREE_SHARE {
        let step = ReclaimSpace {
            pages: VACUUM_PAGES,
        };
        let left = piece(engine, step).await?;
        if left >= free {
            break;
        }
        pages = pages.saturating_sub(free - left);
        free = left;
    }
    Ok((before - pages) * 4096)
}
