//! Something in a workspace that makes programs run, and how it is known again.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::protocol::hex::hex;

/// Where a link leads, and device and inode of what is there.
type Target = (Vec<u8>, Option<(u64, u64)>);

/// What something is, so that it is known again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    /// Its name; the whole path of a link, as it leads elsewhere from another place.
    pub(super) name: PathBuf,
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) kind: u32,
    /// Of a link.
    pub(super) target: Option<Target>,
}

impl Identity {
    /// The same in every process, also after the machine was started again: a device has another number then.
    pub(super) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        add(self.name.as_os_str().as_bytes());
        add(&self.inode.to_be_bytes());
        add(&self.kind.to_be_bytes());
        if let Some((leads, there)) = &self.target {
            add(leads);
            add(&there.map_or([0; 8], |(_, inode)| inode.to_be_bytes()));
        }
        hex(&hash.finalize())
    }
}

/// How the sandbox treats a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// It cannot be moved away; what is in it can be written.
    Pinned,
    /// Nothing in it can be written.
    ReadOnly,
    /// A link or a special file: nothing can be mounted there. Another one in its place is set aside.
    Watched,
}

/// Something that exists and makes programs run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutableDirectory {
    pub(super) components: Vec<OsString>,
    pub(super) identity: Identity,
    /// How it is protected.
    pub protection: Protection,
}

impl ExecutableDirectory {
    /// Its path below the workspace.
    pub fn relative(&self) -> PathBuf {
        self.components.iter().collect()
    }

    /// Device and inode, as `stat -c %d:%i` says them.
    pub fn number(&self) -> String {
        format!("{}:{}", self.identity.device, self.identity.inode)
    }
}

/// What is known of the places of a workspace.
#[derive(Debug, Clone)]
pub(super) enum PlaceIndex {
    /// By this process.
    Here {
        places: HashSet<Identity>,
        /// Device and inode of every git directory, whatever its name is.
        repositories: HashSet<(u64, u64)>,
    },
    /// By one before it.
    Stored(PlacesBefore),
}

/// The places of a workspace in a form that outlives the process. Each is a digest: no name of a file stands there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacesBefore {
    /// Inode of the workspace itself.
    pub(super) root: u64,
    pub(super) places: BTreeSet<String>,
    /// Inodes of git directories.
    pub(super) repositories: BTreeSet<u64>,
}

impl PlaceIndex {
    pub(super) fn knows(&self, identity: &Identity) -> bool {
        match self {
            Self::Here { places, .. } => places.contains(identity),
            Self::Stored(before) => before.places.contains(&identity.digest()),
        }
    }

    pub(super) fn knows_repository(&self, device: u64, inode: u64) -> bool {
        match self {
            Self::Here { repositories, .. } => repositories.contains(&(device, inode)),
            Self::Stored(before) => before.repositories.contains(&inode),
        }
    }
}
