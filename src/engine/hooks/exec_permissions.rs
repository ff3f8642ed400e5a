//! Whether a program may be run as a hook: only its owner could have put it there.
//!
//! Nobody but root and us may be able to change the program, a file that is handed to it by absolute path, or a
//! directory on the way to either, and no tool may: nothing of it lies in a workspace.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// `S_ISVTX`: in such a directory only owners move their own files.
const STICKY: u32 = 0o1000;

/// Why the command must not be run now.
pub fn check(command: &[String], workspaces: &[PathBuf]) -> Result<(), String> {
    let Some(program) = command.first() else {
        return Err("no program is named".to_owned());
    };
    let program = Path::new(program);
    if !program.is_absolute() {
        return Err(format!("{} is not an absolute path", program.display()));
    }
    let real = resolved(program)?;
    file(program, &real, workspaces)?;
    if rustix::fs::access(&real, rustix::fs::Access::EXEC_OK).is_err() {
        return Err(format!("{} is not executable", program.display()));
    }
    for argument in command.iter().skip(1) {
        let given = Path::new(argument);
        // An argument that names no file yet is no program either.
        if given.is_absolute()
            && let Ok(real) = given.canonicalize()
            && real.is_file()
        {
            file(given, &real, workspaces)?;
        }
    }
    Ok(())
}

fn resolved(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize()
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn file(given: &Path, real: &Path, workspaces: &[PathBuf]) -> Result<(), String> {
    let about = std::fs::metadata(real).map_err(|error| format!("{}: {error}", real.display()))?;
    if !about.is_file() {
        return Err(format!("{} is not a regular file", given.display()));
    }
    only_ours(real, about.uid(), about.mode())?;
    if let Some(workspace) = workspaces
        .iter()
        .find(|workspace| real.starts_with(workspace) || given.starts_with(workspace))
    {
        return Err(format!(
            "{} lies in the workspace {}, where tools write",
            given.display(),
            workspace.display()
        ));
    }
    // The way as it is written and the way it really goes: a link on it could be turned elsewhere.
    for dir in given.ancestors().skip(1).chain(real.ancestors().skip(1)) {
        let about =
            std::fs::metadata(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        if about.mode() & STICKY != 0 && trusted(about.uid()) {
            continue;
        }
        only_ours(dir, about.uid(), about.mode())?;
    }
    Ok(())
}

fn trusted(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

fn only_ours(path: &Path, owner: u32, mode: u32) -> Result<(), String> {
    if !trusted(owner) {
        return Err(format!(
            "{} belongs to user id {owner}, not to root or to the user that runs leverframe",
            path.display()
        ));
    }
    if mode & 0o022 != 0 {
        return Err(format!(
            "{} can be written by others (mode {:04o}): chmod go-w",
            path.display(),
            mode & 0o7777
        ));
    }
    Ok(())
}
