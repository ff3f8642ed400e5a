//! The path guard: which files a tool may touch, and how they are opened.
//!
//! No path leaves the workspace, not through `..`, not through a symlink, and not through a symlink
//! swapped in after the check: every component is opened by itself below the workspace's descriptor and
//! no component may be a link at that moment. Nothing below a hidden directory is ever named or opened,
//! and nothing but regular files and directories is.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::tools::place_names::{belongs_to_repository, runs_programs};
use crate::tools::tool::{PrepareError, ToolContext};

/// Longest path accepted, in bytes (`PATH_MAX` of Linux, with its NUL).
const MAX_PATH: usize = 4095;
/// Longest component, in bytes (`NAME_MAX`).
const MAX_NAME: usize = 255;
/// Links followed before a path counts as a loop (as the kernel does).
const MAX_LINKS: usize = 40;
/// Longest part of a refused path that a message quotes, in characters.
const QUOTED: usize = 200;

/// What a guarded path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Nothing yet; its parents may be missing too.
    Missing,
}

/// A path that passed the guard: inside the workspace, free of links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardedPath {
    /// Components below the workspace; empty for the workspace itself.
    components: Vec<OsString>,
    /// Workspace and components.
    pub absolute: PathBuf,
    /// What was there when it was checked.
    pub kind: Kind,
}

impl GuardedPath {
    /// The names below the workspace; none for the workspace itself.
    pub fn components(&self) -> &[OsString] {
        &self.components
    }

    /// The path relative to the workspace, `.` for the workspace itself.
    pub fn relative(&self) -> String {
        if self.components.is_empty() {
            return ".".to_owned();
        }
        self.components
            .iter()
            .collect::<PathBuf>()
            .to_string_lossy()
            .into_owned()
    }
}

/// Checks and opens paths for one call.
#[derive(Debug, Clone)]
pub struct Guard {
    workspace: PathBuf,
    hidden: Vec<PathBuf>,
}

fn invalid(message: String) -> PrepareError {
    PrepareError::Invalid(message)
}

fn guarded(message: String) -> PrepareError {
    PrepareError::Guarded(message)
}

fn shown(path: &str) -> String {
    if path.chars().nth(QUOTED).is_none() {
        return path.to_owned();
    }
    path.chars()
        .take(QUOTED)
        .chain(std::iter::once('…'))
        .collect()
}

impl Guard {
    /// The guard of a call.
    pub fn new(context: &ToolContext<'_>) -> Self {
        Self {
            workspace: context.workspace.clone(),
            hidden: context.hidden.clone(),
        }
    }

    /// The guard of a workspace (absolute, canonical).
    pub fn of(workspace: PathBuf, hidden: Vec<PathBuf>) -> Self {
        Self { workspace, hidden }
    }

    /// The workspace root.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Whether a path lies in (or is) a hidden directory.
    pub fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    /// Whether a hidden directory lies below a path.
    pub fn hides_below(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| hidden.starts_with(path))
    }

    /// Resolves a path as a tool was given it: relative to the workspace, or absolute inside it. Links
    /// are followed as long as they stay inside.
    pub fn resolve(&self, path: &str) -> Result<GuardedPath, PrepareError> {
        if path.is_empty() {
            return Err(invalid(
                "the path is empty: give a path relative to the workspace".to_owned(),
            ));
        }
        if path.contains('\0') {
            return Err(invalid("the path contains a NUL character".to_owned()));
        }
        if path.len() > MAX_PATH {
            return Err(invalid(format!(
                "the path has {} bytes: at most {MAX_PATH} are possible",
                path.len()
            )));
        }
        let outside = || {
            guarded(format!(
                "`{}` is outside the workspace: only paths inside it can be used, give one relative to it",
                shown(path)
            ))
        };
        let mut todo: VecDeque<OsString> = VecDeque::new();
        queue(&mut todo, self.below(Path::new(path)).ok_or_else(outside)?);
        let mut done: Vec<OsString> = Vec::new();
        let mut absolute = self.workspace.clone();
        let mut kind = Kind::Directory;
        let mut links = 0_usize;
        while let Some(name) = todo.pop_front() {
            if name == ".." {
                if kind != Kind::Directory {
                    return Err(invalid(format!(
                        "`{}`: `..` after something that is no directory",
                        shown(path)
                    )));
                }
                done.pop().ok_or_else(|| {
                    if links > 0 {
                        leads_out(path)
                    } else {
                        outside()
                    }
                })?;
                absolute.pop();
                continue;
            }
            if name.len() > MAX_NAME {
                return Err(invalid(format!(
                    "a name in the path has {} bytes: at most {MAX_NAME} are possible",
                    name.len()
                )));
            }
            if kind == Kind::File {
                return Err(invalid(format!(
                    "`{}`: a part of the path is a file, not a directory",
                    shown(path)
                )));
            }
            absolute.push(&name);
            if self.is_hidden(&absolute) {
                return Err(guarded(format!(
                    "`{}` is not available to tools",
                    shown(path)
                )));
            }
            if kind == Kind::Missing {
                done.push(name);
                continue;
            }
            match std::fs::symlink_metadata(&absolute) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    kind = Kind::Missing;
                    done.push(name);
                }
                Err(error) => {
                    return Err(invalid(format!(
                        "`{}` cannot be looked at: {error}",
                        shown(path)
                    )));
                }
                Ok(found) if found.is_symlink() => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(guarded(format!("`{}` is a loop of links", shown(path))));
                    }
                    let target = std::fs::read_link(&absolute).map_err(|error| {
                        invalid(format!("`{}` cannot be looked at: {error}", shown(path)))
                    })?;
                    absolute.pop();
                    let leaves = || leads_out(path);
                    if target.is_absolute() {
                        let inside = self.below(&target).ok_or_else(leaves)?.to_path_buf();
                        done.clear();
                        absolute.clone_from(&self.workspace);
                        requeue(&mut todo, &inside);
                    } else {
                        requeue(&mut todo, &target);
                    }
                }
                Ok(found) if found.is_dir() => {
                    done.push(name);
                }
                Ok(found) if found.is_file() => {
                    kind = Kind::File;
                    done.push(name);
                }
                Ok(found) => {
                    return Err(guarded(format!(
                        "`{}` is a {}: only regular files and directories can be used",
                        shown(path),
                        special(found.file_type())
                    )));
                }
            }
        }
        if path.ends_with('/') && kind == Kind::File {
            return Err(invalid(format!(
                "`{}` is a file, not a directory",
                shown(path)
            )));
        }
        Ok(GuardedPath {
            components: done,
            absolute,
            kind,
        })
    }

    /// A regular file that exists.
    pub fn file(&self, path: &str) -> Result<GuardedPath, PrepareError> {
        let found = self.resolve(path)?;
        match found.kind {
            Kind::File => Ok(found),
            Kind::Directory => Err(invalid(format!(
                "`{}` is a directory: give the path of a file, or use list_files",
                shown(path)
            ))),
            Kind::Missing => Err(missing(path)),
        }
    }

    /// A directory that exists.
    pub fn directory(&self, path: &str) -> Result<GuardedPath, PrepareError> {
        let found = self.resolve(path)?;
        match found.kind {
            Kind::Directory => Ok(found),
            Kind::File => Err(invalid(format!(
                "`{}` is a file: give the path of a directory",
                shown(path)
            ))),
            Kind::Missing => Err(missing(path)),
        }
    }

    /// A file that may be written: a regular file or nothing yet, and not one of those that make
    /// somebody's program run code.
    pub fn writable(&self, path: &str) -> Result<GuardedPath, PrepareError> {
        let found = self.resolve(path)?;
        if path.ends_with('/') || found.kind == Kind::Directory {
            return Err(invalid(format!(
                "`{}` is a directory: give the path of a file",
                shown(path)
            )));
        }
        if runs_programs(&found.components)
            || belongs_to_repository(&self.workspace, &found.components)
        {
            return Err(guarded(format!(
                "`{}` makes git, an editor, a shell or an agent run programs: tools never write there, \
                 ask a person to do it",
                shown(path)
            )));
        }
        Ok(found)
    }

    /// The part of a path below the workspace; `None` for an absolute path outside of it.
    fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        if path.is_absolute() {
            path.strip_prefix(&self.workspace).ok()
        } else {
            Some(path)
        }
    }

    /// Opens a checked file for reading. Fails if any component became a link or something other than a
    /// regular file in the meantime; never blocks on a FIFO.
    pub fn open_file(&self, path: &GuardedPath) -> std::io::Result<File> {
        let Some((name, parents)) = path.components.split_last() else {
            return Err(Errno::ISDIR.into());
        };
        let parent = self.open_components(parents, Create::No)?;
        open_regular(&parent, name)
    }

    /// Opens a checked directory, as [`Guard::open_file`] does files.
    pub fn open_directory(&self, path: &GuardedPath) -> std::io::Result<OwnedFd> {
        self.open_components(&path.components, Create::No)
    }

    /// Opens the directory that holds a file to be written, making missing directories, and returns it
    /// with the file's name.
    pub fn open_parent<'p>(&self, path: &'p GuardedPath) -> std::io::Result<(OwnedFd, &'p OsStr)> {
        let Some((name, parents)) = path.components.split_last() else {
            return Err(Errno::ISDIR.into());
        };
        Ok((self.open_components(parents, Create::Missing)?, name))
    }

    /// Opens a directory below the workspace, no component of which may be a link.
    pub fn open_below(&self, components: &[OsString]) -> std::io::Result<OwnedFd> {
        self.open_components(components, Create::No)
    }

    fn open_components(&self, components: &[OsString], create: Create) -> std::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut directory = rustix::fs::open(&self.workspace, flags, Mode::empty())?;
        for name in components {
            directory = match rustix::fs::openat(&directory, name, flags, Mode::empty()) {
                Err(Errno::NOENT) if create == Create::Missing => {
                    match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    rustix::fs::openat(&directory, name, flags, Mode::empty())?
                }
                other => other?,
            };
        }
        Ok(directory)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Create {
    No,
    Missing,
}

fn queue(todo: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components() {
        match component {
            Component::Normal(name) => todo.push_back(name.to_owned()),
            Component::ParentDir => todo.push_back("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
}

/// Puts the components of a link's target before what is still to be walked.
fn requeue(todo: &mut VecDeque<OsString>, target: &Path) {
    let mut front = VecDeque::new();
    queue(&mut front, target);
    front.append(todo);
    *todo = front;
}

fn leads_out(path: &str) -> PrepareError {
    guarded(format!(
        "`{}` leads out of the workspace through a link: only files inside it can be used",
        shown(path)
    ))
}

fn missing(path: &str) -> PrepareError {
    invalid(format!(
        "`{}` does not exist: list_files shows what does",
        shown(path)
    ))
}

fn special(kind: std::fs::FileType) -> &'static str {
    if kind.is_fifo() {
        "named pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}

/// Opens a regular file in an open directory; refuses links and everything else.
pub fn open_regular(parent: &OwnedFd, name: &OsStr) -> std::io::Result<File> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    Ok(File::from(file))
}
