//! Which workspaces tools may be given.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::tools::sandbox::profile::{EMPTY, SYSTEM};

/// A workspace that tools must not be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// It would give tools a directory of ours.
    #[error(
        "the workspace {} and the directory {} overlap: tools would reach our own data; choose a workspace beside it",
        workspace.display(), hidden.display()
    )]
    Overlaps {
        /// The workspace.
        workspace: PathBuf,
        /// The directory it overlaps.
        hidden: PathBuf,
    },
    /// It is, or holds, a directory of the system.
    #[error("{} belongs to the system: choose a workspace of its own, for example ~/bots/team", workspace.display())]
    System {
        /// The workspace.
        workspace: PathBuf,
    },
    /// It cannot be resolved.
    #[error("the workspace {} cannot be used: {problem}", workspace.display())]
    Unusable {
        /// The workspace.
        workspace: PathBuf,
        /// Why.
        problem: String,
    },
}

/// Refuses a workspace that would give tools a directory of ours or of the system. The workspace need not
/// exist yet; links in what exists of it are resolved.
pub fn check_workspace(workspace: &Path, hidden: &[PathBuf]) -> Result<(), WorkspaceError> {
    let resolved = resolve(workspace)?;
    let is_system = resolved.parent().is_none()
        || [
            "/proc",
            "/sys",
            "/dev",
            "/boot",
            "/etc",
            "/bin",
            "/sbin",
            "/lib",
            "/lib64",
            "/usr/bin",
            "/usr/lib",
            "/usr/sbin",
        ]
        .iter()
        .any(|place| resolved.starts_with(place))
        || SYSTEM
            .iter()
            .chain(&EMPTY)
            .chain(&["/tmp", "/mnt", "/srv"])
            .any(|place| resolved == Path::new(place));
    if is_system {
        return Err(WorkspaceError::System {
            workspace: workspace.to_owned(),
        });
    }
    for directory in hidden {
        let other = resolve(directory)?;
        if resolved.starts_with(&other) || other.starts_with(&resolved) {
            return Err(WorkspaceError::Overlaps {
                workspace: workspace.to_owned(),
                hidden: directory.clone(),
            });
        }
    }
    Ok(())
}

/// The canonical form of a path of which the end may be missing.
fn resolve(path: &Path) -> Result<PathBuf, WorkspaceError> {
    let unusable = |problem: String| WorkspaceError::Unusable {
        workspace: path.to_owned(),
        problem,
    };
    if !path.is_absolute() {
        return Err(unusable("the path is not absolute".to_owned()));
    }
    let mut existing = path;
    let mut missing: Vec<&OsStr> = Vec::new();
    loop {
        match existing.canonicalize() {
            Ok(mut resolved) => {
                resolved.extend(missing.iter().rev());
                return Ok(resolved);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if existing.symlink_metadata().is_ok() {
                    return Err(unusable(format!(
                        "{} is a link to nothing",
                        existing.display()
                    )));
                }
                let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
                    return Err(unusable(
                        "`..` below a directory that does not exist".to_owned(),
                    ));
                };
                missing.push(name);
                existing = parent;
            }
            Err(error) => return Err(unusable(error.to_string())),
        }
    }
}
