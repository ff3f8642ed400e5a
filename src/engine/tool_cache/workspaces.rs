//! How often each workspace was changed by calls of ours, and whether one changes it now.
//!
//! A result may be kept or given only while nothing of ours changes its workspace, and only under the count it was made
//! under, which rises with every change that begins.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::engine::lock::lock;

#[derive(Debug)]
struct Space {
    path: PathBuf,
    changes: u64,
    under_way: u32,
}

/// The workspaces of all channels.
#[derive(Debug, Clone)]
pub struct Workspaces {
    spaces: Arc<Mutex<Vec<Space>>>,
}

/// A change under way. One that is dropped without [`Change::end`] goes on for as long as the process lives: nobody
/// knows when its last write happens.
#[must_use]
#[derive(Debug)]
pub struct Change {
    spaces: Arc<Mutex<Vec<Space>>>,
    /// Positions of the workspaces it may reach.
    reach: Vec<usize>,
}

impl Workspaces {
    /// These directories, canonical; the same one may be named more than once.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut paths: Vec<PathBuf> = paths.into_iter().collect();
        paths.sort_unstable();
        paths.dedup();
        let spaces = paths.into_iter().map(|path| Space {
            path,
            changes: 0,
            under_way: 0,
        });
        Self {
            spaces: Arc::new(Mutex::new(spaces.collect())),
        }
    }

    /// How often a workspace was changed; none while it is being changed, and for a directory that is none.
    pub fn settled(&self, workspace: &Path) -> Option<u64> {
        lock(&self.spaces)
            .iter()
            .find(|space| space.path == workspace)
            .filter(|space| space.under_way == 0)
            .map(|space| space.changes)
    }

    /// Begins a change of a workspace, and of every other one inside it or around it; `everywhere` says that what runs
    /// is not confined to it.
    pub fn begin(&self, workspace: &Path, everywhere: bool) -> Change {
        let mut reach = Vec::new();
        for (at, space) in lock(&self.spaces).iter_mut().enumerate() {
            let reached = everywhere
                || space.path.starts_with(workspace)
                || workspace.starts_with(&space.path);
            if reached {
                space.changes += 1;
                space.under_way += 1;
                reach.push(at);
            }
        }
        Change {
            spaces: Arc::clone(&self.spaces),
            reach,
        }
    }
}

impl Change {
    /// It is over: nothing is written any more.
    pub fn end(self) {
        let mut spaces = lock(&self.spaces);
        for at in &self.reach {
            if let Some(space) = spaces.get_mut(*at) {
                space.under_way = space.under_way.saturating_sub(1);
            }
        }
    }
}
