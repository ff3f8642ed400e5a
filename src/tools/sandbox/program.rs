//! What is run in the sandbox.

use std::path::{Path, PathBuf};

use crate::tools::place::ExecutableDirectory;

/// Exit status of a program that was not started because a protected path changed meanwhile.
pub const REFUSED: i32 = 125;

/// What to run.
#[derive(Debug, Clone)]
pub struct Program<'a> {
    /// Workspace root, as the program sees it (absolute, canonical).
    pub workspace: &'a Path,
    /// Where the files of the workspace really are: the workspace itself, or a copy of it (absolute, canonical).
    pub files: &'a Path,
    /// Directories it must not see (absolute, canonical).
    pub hidden: &'a [PathBuf],
    /// Directories that it may read beside the workspace: where each is, and where it sees it (both absolute). See
    /// [`Sandbox::seen_at`](crate::tools::sandbox::Sandbox::seen_at).
    pub readable: &'a [(PathBuf, PathBuf)],
    /// The same of directories that it may write, too.
    pub writable: &'a [(PathBuf, PathBuf)],
    /// What in the workspace it must not change.
    pub protected: &'a [ExecutableDirectory],
    /// Working directory, inside the workspace.
    pub cwd: &'a Path,
    /// Absolute path of the executable.
    pub executable: &'a Path,
    /// Arguments after the program's name.
    pub arguments: &'a [String],
    /// The whole environment.
    pub environment: &'a [(String, String)],
    /// Most bytes of one file that it writes.
    pub max_file: u64,
    /// What it has beside as a program that serves others for long; none = it runs for one call.
    pub service: Option<Service<'a>>,
}

/// What a program has that serves others for long. It has no limit of address space, which some runtimes reserve by the
/// gigabyte, and may have more tasks.
#[derive(Debug, Clone, Copy)]
pub struct Service<'a> {
    /// Whether it has the network of the machine. Only bubblewrap gives it.
    pub network: bool,
    /// Its environment beside that of the program. Never an argument of a command, which everybody on the machine can
    /// read.
    pub environment: &'a [(String, String)],
}
