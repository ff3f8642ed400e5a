//! The sandbox of programs: what a tool's process can see, write and reach.
//!
//! A confined program cannot see the data, configuration or runtime directories, the home directories or
//! other processes, has no network and no capability, and can write in the workspace and in a `/tmp` of
//! its own only. Which level this machine gives is measured, never assumed.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::text::quote::quote;
use crate::tools::executable_places::{Place, Protection};

/// Where bubblewrap is looked for; never through `PATH`, which others may have set.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];
/// Longest probe, all tries together.
const PROBE: Duration = Duration::from_secs(5);
/// System directories a confined program sees, read-only.
const SYSTEM: [&str; 9] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt",
];
/// Directories that are empty inside, so that programs find them but not what is in them.
const EMPTY: [&str; 4] = ["/root", "/home", "/run", "/var"];
/// Size of the `/tmp` and of the `/dev/shm` of a program, in bytes.
const TMP_SIZE: &str = "268435456";
/// Deepest level of `/etc` looked at for files that are not for everybody.
const ETC_DEPTH: usize = 8;
/// Exit status of a program that was not started because a protected path changed meanwhile.
pub const REFUSED: i32 = 125;

/// How programs are confined on this machine. Clones share what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// Empty while it is being found out; whoever needs it waits.
    found: Arc<OnceLock<Level>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Level {
    Bubblewrap {
        program: PathBuf,
        /// Whether it knows `--size` (0.7 and later).
        sized: bool,
    },
    None {
        why: String,
    },
}

impl Level {
    fn find() -> Self {
        let Some(program) = PLACES.iter().map(Path::new).find(|path| path.is_file()) else {
            return Self::None {
                why: "bubblewrap is not installed".to_owned(),
            };
        };
        let mut why = String::new();
        let began = Instant::now();
        for sized in [true, false] {
            match try_run(program, sized, began) {
                Ok(()) => {
                    return Self::Bubblewrap {
                        program: program.to_owned(),
                        sized,
                    };
                }
                Err(problem) => why = problem,
            }
        }
        Self::None {
            why: format!("bubblewrap does not work here: {why}"),
        }
    }
}

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

/// What to run.
#[derive(Debug, Clone)]
pub struct Program<'a> {
    /// Workspace root (absolute, canonical).
    pub workspace: &'a Path,
    /// Directories it must not see (absolute, canonical).
    pub hidden: &'a [PathBuf],
    /// What in the workspace it must not change.
    pub protected: &'a [Place],
    /// Working directory, inside the workspace.
    pub cwd: &'a Path,
    /// Absolute path of the executable.
    pub executable: &'a Path,
    /// Arguments after the program's name.
    pub arguments: &'a [String],
    /// The whole environment.
    pub environment: &'a [(String, String)],
}

impl Sandbox {
    /// Looks for bubblewrap and runs it once with the real profile. Blocks for at most 5 s.
    pub fn probe() -> Self {
        Self {
            found: Arc::new(OnceLock::from(Level::find())),
        }
    }

    /// Returns at once and finds out on a thread of its own: a daemon serves before the first program runs.
    /// Whatever depends on the answer waits for it, at most 5 s.
    pub fn probe_in_background() -> Self {
        let found = Arc::new(OnceLock::new());
        let slot = Arc::clone(&found);
        std::thread::spawn(move || {
            // Set once, here; nobody else can have been first.
            let _ = slot.set(Level::find());
        });
        Self { found }
    }

    /// No confinement, with the reason.
    pub fn none(why: &str) -> Self {
        Self {
            found: Arc::new(OnceLock::from(Level::None {
                why: why.to_owned(),
            })),
        }
    }

    fn level(&self) -> &Level {
        self.found.wait()
    }

    /// The level in a word, without waiting for it to be found out.
    pub fn level_word_so_far(&self) -> String {
        match self.found.get() {
            Some(_) => self.level_word(),
            None => "being tried".to_owned(),
        }
    }

    /// Whether programs are confined.
    pub fn is_confined(&self) -> bool {
        match self.level() {
            Level::Bubblewrap { .. } => true,
            Level::None { .. } => false,
        }
    }

    /// The level reached: `bubblewrap` or `none (<why>)`.
    pub fn level_word(&self) -> String {
        match self.level() {
            Level::Bubblewrap { .. } => "bubblewrap".to_owned(),
            Level::None { why } => format!("none ({why})"),
        }
    }

    /// Why programs are not confined; `None` when they are.
    pub fn missing_because(&self) -> Option<&str> {
        match self.level() {
            Level::Bubblewrap { .. } => None,
            Level::None { why } => Some(why),
        }
    }

    /// For plans: what a program may do, in a few words.
    pub fn describe(&self) -> &'static str {
        match self.level() {
            Level::Bubblewrap { .. } => "bubblewrap: workspace only, no network",
            Level::None { .. } => "unsandboxed",
        }
    }

    /// Whether an absolute path can be seen by a confined program: it is part of the system or of the
    /// workspace.
    pub fn shows(&self, path: &Path, workspace: &Path) -> bool {
        !self.is_confined()
            || path.starts_with(workspace)
            || SYSTEM.iter().any(|system| path.starts_with(system))
    }

    /// The command that runs a program at this level, with its limits.
    pub fn command(&self, program: &Program<'_>) -> Command {
        match self.level() {
            Level::Bubblewrap {
                program: bwrap,
                sized,
            } => {
                let (profile, check) = profile(program, *sized);
                let mut command = Command::new(bwrap);
                command
                    .args(profile)
                    .arg("--")
                    .args(limited(program, &check, Tasks::Limited));
                // bwrap clears the environment of the program itself; it needs none of ours either.
                command.env_clear().current_dir("/");
                command
            }
            Level::None { .. } => {
                let mut words = limited(program, "", Tasks::Free).into_iter();
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words).env_clear().current_dir(program.cwd);
                command.envs(
                    program
                        .environment
                        .iter()
                        .map(|(name, value)| (name, value)),
                );
                command
            }
        }
    }
}

/// Whether the number of tasks is limited: outside a user namespace the limit would count every process
/// of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tasks {
    Limited,
    Free,
}

/// The program behind a shell that sets the resource limits and then becomes the program: 1 GiB of
/// address space, no core files, 64 tasks.
fn limited(program: &Program<'_>, check: &str, tasks: Tasks) -> Vec<OsString> {
    let tasks = match tasks {
        Tasks::Limited => "ulimit -u 64 2>/dev/null || ulimit -p 64 2>/dev/null\n",
        Tasks::Free => "",
    };
    let script = format!("{check}ulimit -c 0\nulimit -v 1048576 2>/dev/null\n{tasks}exec \"$@\"");
    let mut words: Vec<OsString> = vec!["/bin/sh".into(), "-c".into(), script.into(), "sh".into()];
    words.push(program.executable.into());
    words.extend(program.arguments.iter().map(OsString::from));
    words
}

/// Options that do not depend on the program.
fn base(sized: bool) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut add = |items: &[&str]| words.extend(items.iter().map(OsString::from));
    add(&[
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--clearenv",
    ]);
    add(&["--proc", "/proc", "--dev", "/dev"]);
    for place in ["/dev/shm", "/tmp"] {
        if sized {
            add(&["--size", TMP_SIZE]);
        }
        add(&["--tmpfs", place]);
    }
    for place in EMPTY {
        add(&["--tmpfs", place]);
    }
    for place in SYSTEM {
        match std::fs::symlink_metadata(place) {
            Ok(found) if found.is_symlink() => {
                if let Ok(target) = std::fs::read_link(place) {
                    words.push("--symlink".into());
                    words.push(target.into());
                    words.push(place.into());
                }
            }
            Ok(_) => words.extend(["--ro-bind", place, place].map(OsString::from)),
            Err(_) => {}
        }
    }
    let mut secrets = Vec::new();
    not_for_everybody(Path::new("/etc"), ETC_DEPTH, &mut secrets);
    for (path, is_directory) in secrets {
        mask(&mut words, &path, is_directory);
    }
    words
}

/// The root and the empty directories become read-only once everything is in its place.
fn seal(words: &mut Vec<OsString>) {
    for place in EMPTY.iter().chain(&["/dev", "/"]) {
        words.push("--remount-ro".into());
        words.push(place.into());
    }
}

fn mask(words: &mut Vec<OsString>, path: &Path, is_directory: bool) {
    if is_directory {
        words.extend([OsStr::new("--tmpfs"), path.as_os_str()].map(OsStr::to_owned));
        words.extend([OsStr::new("--remount-ro"), path.as_os_str()].map(OsStr::to_owned));
    } else {
        let option = [
            OsStr::new("--ro-bind"),
            OsStr::new("/dev/null"),
            path.as_os_str(),
        ];
        words.extend(option.map(OsStr::to_owned));
    }
}

/// Files and directories that other users may not read: a daemon run by root (or by their owner) could.
fn not_for_everybody(directory: &Path, depth: usize, found: &mut Vec<(PathBuf, bool)>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let mode = metadata.permissions().mode();
        if metadata.is_dir() {
            if mode & 0o005 != 0o005 || depth == 0 {
                found.push((entry.path(), true));
            } else {
                not_for_everybody(&entry.path(), depth - 1, found);
            }
        } else if !metadata.is_symlink() && mode & 0o004 == 0 {
            found.push((entry.path(), false));
        }
    }
}

/// The options for a program, and the lines of shell that check inside that protected paths are what
/// they were here.
fn profile(program: &Program<'_>, sized: bool) -> (Vec<OsString>, String) {
    let mut words = base(sized);
    let workspace = program.workspace;
    let bind = |words: &mut Vec<OsString>, option: &str, path: &Path| {
        words.extend([OsStr::new(option), path.as_os_str(), path.as_os_str()].map(OsStr::to_owned));
    };
    bind(&mut words, "--bind", workspace);
    let mut check = String::new();
    // What is pinned becomes a mount point of its own, so that it cannot be moved away with what is
    // protected in it. A link is never bound: its target could be anything. The check inside catches a
    // link swapped in before bubblewrap looked.
    let (mut paths, mut identities) = (String::new(), Vec::new());
    for place in program.protected {
        let option = match place.protection {
            Protection::Pinned => "--bind",
            Protection::ReadOnly => "--ro-bind",
            Protection::Watched => continue,
        };
        let path = workspace.join(place.relative());
        bind(&mut words, option, &path);
        let _ = write!(paths, " {}", quote(&path.to_string_lossy()));
        identities.push(place.number());
    }
    if !identities.is_empty() {
        let identities = quote(&identities.join("\n"));
        let _ = writeln!(
            check,
            "[ \"$(stat -c %d:%i{paths})\" = {identities} ] || {{ echo 'not started: a protected path changed' >&2; exit {REFUSED}; }}"
        );
    }
    for hidden in program.hidden {
        let visible =
            hidden.starts_with(workspace) || SYSTEM.iter().any(|place| hidden.starts_with(place));
        if visible && let Ok(found) = std::fs::symlink_metadata(hidden) {
            mask(&mut words, hidden, found.is_dir());
        }
    }
    seal(&mut words);
    for (name, value) in program.environment {
        words.extend(["--setenv", name, value].map(OsString::from));
    }
    words.push("--chdir".into());
    words.push(program.cwd.into());
    (words, check)
}

/// Runs `true` in the base profile; all tries together have [`PROBE`].
fn try_run(program: &Path, sized: bool, began: Instant) -> Result<(), String> {
    let mut words = base(sized);
    seal(&mut words);
    let mut child = Command::new(program)
        .args(words)
        .args(["--chdir", "/", "--", "/bin/sh", "-c", "true"])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < PROBE => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer within {} s", PROBE.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut words = String::new();
    if let Some(stderr) = child.stderr.take() {
        use std::io::Read as _;
        let mut bytes = Vec::new();
        let _ = stderr.take(4096).read_to_end(&mut bytes);
        words = String::from_utf8_lossy(&bytes)
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(200)
            .collect();
    }
    Err(if words.is_empty() {
        status.to_string()
    } else {
        words
    })
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
