//! Places in a workspace from which other people's programs run code: git, editors, agents and shells.
//!
//! One list serves the path guard, which refuses to write there, and the sandbox, which makes what exists
//! read-only. What a program puts where nothing was is set aside when it ends: it gets another name,
//! under which nobody runs it.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::protocol::leftovers::{BlockedRename, MOST_NAMED, NewPlaces, SetAside};
use crate::tools::guard::Guard;
use crate::tools::place::{ExecutableDirectory, Identity, PlaceIndex, PlacesBefore};
use crate::tools::place_scan::{
    MOST_PLACE_BYTES, MOST_PLACES, Purpose, Scan, ScanError, linked, set_aside,
};

/// The places of a workspace at one moment.
#[derive(Debug, Clone)]
pub struct ExecutablePlaces {
    list: Vec<ExecutableDirectory>,
    known: PlaceIndex,
    /// Bytes that the files of the workspace take on the disk.
    pub bytes: u64,
    /// How long it took to look.
    pub took: Duration,
}

/// What a run left behind in a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// In places that make programs run.
    pub new: NewPlaces,
    /// Files that lost a set-user-ID or set-group-ID bit.
    pub cleared: Vec<PathBuf>,
    /// Whether a file could not be looked at for these bits, or kept one.
    pub set_id_left: bool,
}

impl ExecutablePlaces {
    /// Looks through a workspace. Blocks.
    pub fn scan(guard: &Guard) -> Result<Self, ScanError> {
        let began = Instant::now();
        let mut scan = Scan::new(guard, Purpose::Before);
        scan.run()?;
        let mut list = scan.places;
        let targets: Vec<ExecutableDirectory> = list
            .iter()
            .filter_map(|place| linked(guard, place))
            .collect();
        list.extend(targets);
        list.sort_by(|a, b| a.components.cmp(&b.components));
        list.dedup_by(|a, b| a.components == b.components);
        let bytes: usize = list
            .iter()
            .map(|place| place.relative().as_os_str().len())
            .sum();
        let most = list.len().max(scan.repositories.len());
        if most > MOST_PLACES || bytes > MOST_PLACE_BYTES {
            return Err(ScanError::Places);
        }
        Ok(Self {
            known: PlaceIndex::Here {
                places: list.iter().map(|place| place.identity.clone()).collect(),
                repositories: scan.repositories,
            },
            list,
            bytes: scan.bytes,
            took: began.elapsed(),
        })
    }

    /// What there is, parents before what they hold.
    pub fn list(&self) -> &[ExecutableDirectory] {
        &self.list
    }

    /// In a form that outlives the process.
    pub fn to_store(&self, guard: &Guard) -> std::io::Result<PlacesBefore> {
        match &self.known {
            PlaceIndex::Here {
                places,
                repositories,
            } => Ok(PlacesBefore {
                root: std::fs::metadata(guard.workspace())?.ino(),
                places: places.iter().map(Identity::digest).collect(),
                repositories: repositories.iter().map(|(_, inode)| *inode).collect(),
            }),
            PlaceIndex::Stored(before) => Ok(before.clone()),
        }
    }

    /// What a process before this one stored. The error says why nothing can be told from it.
    pub fn restored(before: &PlacesBefore, guard: &Guard) -> Result<Self, String> {
        let root = std::fs::metadata(guard.workspace())
            .map_err(|error| format!("the workspace cannot be looked at: {error}"))?;
        if root.ino() != before.root {
            return Err("another directory is in the place of the workspace".to_owned());
        }
        Ok(Self {
            list: Vec::new(),
            known: PlaceIndex::Stored(before.clone()),
            bytes: 0,
            took: Duration::ZERO,
        })
    }

    /// Looks again after a run and gives what is new another name, which ends with `tag`. In the same walk, files lose
    /// their set-user-ID and set-group-ID bits: with them, what a program made would run for other users with the
    /// rights of the engine's. Blocks.
    ///
    /// With what was stored by another process, names that it gave already are told too: it may have died between a
    /// new name and the word about it.
    pub fn set_aside_new(&self, guard: &Guard, tag: &str) -> Leftovers {
        let mut scan = Scan::new(guard, Purpose::After(&self.known));
        if matches!(self.known, PlaceIndex::Stored(_)) {
            scan.look_for_names_of(tag);
        }
        let incomplete = scan.run().err();
        let mut new = NewPlaces {
            set_aside: scan.renamed,
            incomplete: incomplete.as_ref().map(ToString::to_string),
            ..NewPlaces::default()
        };
        let mut places = scan.places;
        // What is deepest first: its path holds until it is renamed itself.
        places.sort_by(|a, b| b.components.cmp(&a.components));
        for place in places {
            let path = place.relative().to_string_lossy().into_owned();
            match set_aside(guard, &place.components, tag) {
                Ok(name) => new.set_aside.push(SetAside { path, name }),
                // It went by itself.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => new.in_place.push(BlockedRename {
                    path,
                    problem: error.to_string(),
                }),
            }
        }
        new.set_aside.reverse();
        let mut cleared = scan.cleared;
        cleared.sort();
        let listed = new.set_aside.len().min(MOST_NAMED);
        new.more = (new.set_aside.len() - listed) as u64;
        new.set_aside.truncate(listed);
        new.in_place.truncate(MOST_NAMED);
        Leftovers {
            new,
            cleared,
            set_id_left: scan.set_id_left || incomplete.is_some(),
        }
    }
}

/// Bytes that the files of a workspace take on the disk. Changes nothing. Blocks. Where it is too large or too deep to be
/// measured, the error says so; a measurement that takes too long counts what it has seen.
pub fn disk_usage(guard: &Guard, cancel: &CancellationToken) -> Result<u64, ScanError> {
    let mut scan = Scan::new(guard, Purpose::Measure(cancel));
    match scan.run() {
        Err(problem @ (ScanError::Entries(_) | ScanError::Depth(_))) => Err(problem),
        Ok(()) | Err(ScanError::Time(_) | ScanError::Places | ScanError::Unreadable { .. }) => {
            Ok(scan.bytes)
        }
    }
}
