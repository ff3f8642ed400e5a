//! The profile of bubblewrap: what a program sees, what of it is writable, and its limits.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::text::quote::quote;
use crate::tools::place::Protection;
use crate::tools::sandbox::program::{Program, REFUSED};

/// System directories a confined program sees, read-only.
pub(crate) const SYSTEM: [&str; 9] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt",
];
/// Directories that are empty inside, so that programs find them but not what is in them.
pub(crate) const EMPTY: [&str; 4] = ["/root", "/home", "/run", "/var"];
/// Size of the `/tmp` and of the `/dev/shm` of a program, in bytes.
const TMP_SIZE: &str = "268435456";
/// Deepest level of `/etc` looked at for files that are not for everybody.
pub(super) const ETC_DEPTH: usize = 8;

/// Whether the number of tasks is limited: outside a user namespace the limit would count every process
/// of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tasks {
    Limited,
    Free,
}

/// The program behind a shell that sets the resource limits and then becomes the program: 1 GiB of
/// address space, no core files, files as large as it may write, 64 tasks; of a service no limit of address space, and
/// 2048 tasks.
pub(crate) fn limited(program: &Program<'_>, check: &str, tasks: Tasks) -> Vec<OsString> {
    let most = if program.service.is_some() { 2048 } else { 64 };
    let tasks = match tasks {
        Tasks::Limited => {
            format!("ulimit -u {most} 2>/dev/null || ulimit -p {most} 2>/dev/null\n")
        }
        Tasks::Free => String::new(),
    };
    let memory = match program.service {
        Some(_) => "",
        None => "ulimit -v 1048576 2>/dev/null\n",
    };
    // The unit of `-f` is a block of 512 bytes.
    let file = program.max_file / 512;
    let script =
        format!("{check}ulimit -c 0\n{memory}ulimit -f {file} 2>/dev/null\n{tasks}exec \"$@\"");
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
        // No user namespace inside: in one of its own a program has every capability and more memory.
        "--unshare-user",
        "--disable-userns",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
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
    kernel(&mut words);
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

/// Makes what `/proc` shows of the kernel read-only, and empties what of it is for root alone.
///
/// The mapping of a user namespace does not help here: the kernel lets the real owner of these files, root,
/// write them without any capability, and a program of a daemon run by root is still that owner.
fn kernel(words: &mut Vec<OsString>) {
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let of_process = entry
            .file_name()
            .as_encoded_bytes()
            .first()
            .is_some_and(u8::is_ascii_digit);
        let Ok(found) = entry.metadata() else {
            continue;
        };
        if of_process || found.is_symlink() {
            continue;
        }
        let (path, mode) = (entry.path(), found.permissions().mode());
        if !found.is_dir() && mode & 0o004 == 0 {
            mask(words, &path, false);
        } else if found.is_dir() || mode & 0o222 != 0 {
            let words_of = [OsStr::new("--ro-bind"), path.as_os_str(), path.as_os_str()];
            words.extend(words_of.map(OsStr::to_owned));
        }
    }
}

/// Shows the file that says who resolves names, where it is a link out of `/etc`.
fn resolver(words: &mut Vec<OsString>) {
    if let Ok(file) = std::fs::canonicalize("/etc/resolv.conf")
        && !SYSTEM.iter().any(|place| file.starts_with(place))
    {
        words.extend(
            [OsStr::new("--ro-bind"), file.as_os_str(), file.as_os_str()].map(OsStr::to_owned),
        );
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
pub(super) fn not_for_everybody(directory: &Path, depth: usize, found: &mut Vec<(PathBuf, bool)>) {
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
pub(crate) fn profile(program: &Program<'_>, sized: bool) -> (Vec<OsString>, String) {
    let mut words = base(sized);
    // The environment of a service's command is that of the service, and nothing else.
    if program.service.is_none() {
        words.push("--clearenv".into());
    }
    if program.service.is_some_and(|service| service.network) {
        words.push("--share-net".into());
        resolver(&mut words);
    }
    let workspace = program.workspace;
    let bind = |words: &mut Vec<OsString>, option: &str, from: &Path, to: &Path| {
        words.extend([OsStr::new(option), from.as_os_str(), to.as_os_str()].map(OsStr::to_owned));
    };
    bind(&mut words, "--bind", program.files, workspace);
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
        let from = program.files.join(place.relative());
        bind(&mut words, option, &from, &path);
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
    for (directories, option) in [
        (program.readable, "--ro-bind"),
        (program.writable, "--bind"),
    ] {
        for (from, to) in directories {
            bind(&mut words, option, from, to);
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
