//! Where things are, and whether the directories can be trusted. Nothing here follows a symbolic link
//! to the data directory or uses one that belongs to somebody else.

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use crate::config::environment::{Directories, Environment};
use crate::config::error::{ConfigError, ConfigLocation, Fault};
use crate::config::settings::Paths;
use crate::protocol::backup::RESTORING;

/// Name of our directories.
const NAME: &str = "leverframe";

/// Whether the configuration file was named by somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChoice {
    /// By flag or variable: it must exist.
    Named,
    /// The platform's place: it may be missing.
    Platform,
}

/// Finds the directories: flags, then `LEVERFRAME_CONFIG` and `LEVERFRAME_DATA_DIR`, then the platform's
/// (XDG base directories on Linux, `Library/Application Support` on macOS). Creates nothing.
pub fn locate(
    config: Option<&Path>,
    data_dir: Option<&Path>,
    environment: &Environment,
) -> Result<(Paths, FileChoice), ConfigError> {
    let here = std::env::current_dir().map_err(|error| {
        let problem = format!("the working directory cannot be found: {error}");
        Fault::new(ConfigLocation::Default, problem).next_step("Change to a directory that exists")
    })?;
    let absolute = |path: PathBuf| expand(&path.to_string_lossy(), environment, &here);
    let named = config
        .map(Path::to_owned)
        .or_else(|| environment.path("LEVERFRAME_CONFIG"));
    let (config_file, choice) = match named {
        Some(path) => (absolute(path), FileChoice::Named),
        None => {
            let platform = directories(environment, "LEVERFRAME_CONFIG", "--config")?;
            let file = platform.config.join(NAME).join("config.toml");
            (file, FileChoice::Platform)
        }
    };
    let named = data_dir
        .map(Path::to_owned)
        .or_else(|| environment.path("LEVERFRAME_DATA_DIR"));
    let data_dir = match named {
        Some(path) => absolute(path),
        None => directories(environment, "LEVERFRAME_DATA_DIR", "--data-dir")?
            .data
            .join(NAME),
    };
    let config_dir = config_file.parent().unwrap_or(&here).to_owned();
    let paths = Paths {
        config_file,
        config_dir,
        data_dir,
        runtime_dir: environment
            .directories()
            .and_then(|platform| platform.runtime.clone()),
    };
    Ok((paths, choice))
}

/// Where the platform keeps the files of this user; `variable` and `flag` are two ways around.
fn directories<'a>(
    environment: &'a Environment,
    variable: &str,
    flag: &'static str,
) -> Result<&'a Directories, ConfigError> {
    environment.directories().ok_or_else(|| {
        let home = ConfigLocation::Environment("HOME".to_owned());
        let step = format!("Set HOME, or {variable}, or use {flag}");
        let fault = Fault::new(home, "is not an absolute path");
        fault.next_step(step).into()
    })
}

/// An absolute path: `~/` is the home directory, relative paths start at `base`; `.` and `..` are resolved
/// by name.
pub fn expand(path: &str, environment: &Environment, base: &Path) -> PathBuf {
    let home = || environment.home().unwrap_or_else(|| base.to_owned());
    let path = match path.strip_prefix('~') {
        Some("") => home(),
        Some(rest) if rest.starts_with('/') => home().join(rest.trim_start_matches('/')),
        Some(_) | None => base.join(path),
    };
    normal(&path)
}

fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(component),
        }
    }
    out
}

/// The path with the links of its existing part resolved.
pub fn resolved(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(real) = existing.canonicalize() {
            return missing
                .iter()
                .rev()
                .fold(real, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
            return path.to_owned();
        };
        missing.push(name);
        existing = parent;
    }
}

/// What a workspace may not overlap, and why.
pub fn overlap(workspace: &Path, paths: &Paths, choice: FileChoice) -> Option<String> {
    let workspace = resolved(workspace);
    let meets = |path: &Path| {
        let path = resolved(path);
        workspace.starts_with(&path) || path.starts_with(&workspace)
    };
    if meets(&paths.data_dir) {
        return Some(format!("the data directory {}", paths.data_dir.display()));
    }
    // A directory somebody named a file in may hold other things; the platform's is ours alone.
    let config = match choice {
        FileChoice::Platform => meets(&paths.config_dir),
        FileChoice::Named => {
            let ours = ["themes", "keymaps"].map(|name| paths.config_dir.join(name));
            meets(&paths.config_file) || ours.iter().any(|dir| meets(dir))
        }
    };
    config.then(|| format!("the configuration in {}", paths.config_dir.display()))
}

/// Everything of ours that no tool may see from `workspace`: data, configuration, runtime directory.
///
/// Where the workspace lies below the directory of the configuration file, that directory cannot be
/// hidden as a whole; then the file and its companions are named one by one.
pub fn hidden_from_tools(paths: &Paths, workspace: &Path) -> Vec<PathBuf> {
    let mut hidden = vec![resolved(&paths.data_dir)];
    if resolved(workspace).starts_with(resolved(&paths.config_dir)) {
        hidden.push(resolved(&paths.config_file));
        hidden.push(resolved(&paths.config_dir.join("themes")));
        hidden.push(resolved(&paths.config_dir.join("keymaps")));
    } else {
        hidden.push(resolved(&paths.config_dir));
    }
    hidden.extend(paths.runtime_dir.as_deref().map(resolved));
    hidden
}

/// What a killed restore left beside the data directory, where there is any.
pub fn unfinished_restore(dir: &Path) -> Option<PathBuf> {
    let mut path = dir.as_os_str().to_owned();
    path.push(RESTORING);
    Some(PathBuf::from(path)).filter(|path| path.is_dir())
}

/// Refuses to begin anew where a restore was killed between taking the former directory away and putting its own in
/// its place: all that was there would seem lost.
fn after_a_whole_restore(dir: &Path) -> Result<(), ConfigError> {
    let Some(unfinished) = unfinished_restore(dir) else {
        return Ok(());
    };
    let problem = format!(
        "is missing, and a restore into it was not finished ({} is beside it)",
        unfinished.display()
    );
    let step = format!(
        "Run `leverframe restore FILE` again; or, to go back to what was there before, rename {}.before-restore-… \
         to {} if there is one; then, to begin without either, remove the unfinished directory",
        dir.display(),
        dir.display()
    );
    Err(Fault::new(ConfigLocation::path(dir), problem)
        .next_step(step)
        .into())
}

/// Where the workspaces of channels are that name none: beside the data directory.
pub fn default_workspaces(data_dir: &Path) -> PathBuf {
    let mut beside = data_dir.as_os_str().to_owned();
    beside.push("-workspaces");
    PathBuf::from(beside)
}

/// Makes a workspace that is not there, with mode 0700. A default one, and the directory of all of them, is
/// closed to others when it was open: what programs leave in it is nobody else's to read or run.
pub fn prepare_workspace(workspace: &Path, data_dir: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(workspace)?;
    let ours = default_workspaces(data_dir);
    if workspace.parent() != Some(ours.as_path()) {
        return Ok(());
    }
    for place in [ours.as_path(), workspace] {
        let about = std::fs::symlink_metadata(place)?;
        let mine = about.is_dir() && about.uid() == rustix::process::geteuid().as_raw();
        if mine && about.mode() & 0o077 != 0 {
            std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// Makes the data directory (mode 0700), or checks the one that is there: a directory, no symbolic link,
/// ours, closed to others. An empty one with wider permissions is closed.
pub fn prepare_data_dir(dir: &Path) -> Result<(), ConfigError> {
    let fault = |problem: String| Fault::new(ConfigLocation::path(dir), problem);
    let about = match std::fs::symlink_metadata(dir) {
        Ok(about) => about,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            after_a_whole_restore(dir)?;
            let parent = dir.parent().unwrap_or(dir);
            let made = std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::DirBuilder::new().mode(0o700).create(dir))
                .and_then(|()| std::fs::symlink_metadata(dir));
            made.map_err(|error| {
                let step = "Name another one with --data-dir or LEVERFRAME_DATA_DIR";
                fault(format!("cannot be created: {error}")).next_step(step)
            })?
        }
        Err(error) => return Err(fault(format!("cannot be examined: {error}")).into()),
    };
    if about.is_symlink() {
        let fault = fault("is a symbolic link".to_owned()).expected("the directory itself");
        return Err(fault.next_step("Name its target with --data-dir").into());
    }
    if !about.is_dir() {
        return Err(fault("is not a directory".to_owned()).into());
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        let step = "Run leverframe as its owner, or name another one with --data-dir";
        let fault = fault(format!("belongs to user id {}", about.uid()));
        return Err(fault.expected("your own directory").next_step(step).into());
    }
    let mode = about.mode() & 0o777;
    let others = mode & 0o077;
    if others == 0 {
        return Ok(());
    }
    let empty = std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    let closed = std::fs::Permissions::from_mode(0o700);
    if empty && std::fs::set_permissions(dir, closed).is_ok() {
        return Ok(());
    }
    let step = format!("Run: chmod 700 {}", dir.display());
    let fault = fault(format!("can be opened by others (mode {mode:04o})"));
    Err(fault.expected("mode 0700").next_step(step).into())
}
