//! What a path or a word of a command says about the risk of a call: files of credentials, places outside the workspace.
//! Pure: no file is looked at.

use std::path::{Component, Path, PathBuf};

use crate::tools::risk::RiskReason;

/// Directories that hold credentials.
const CREDENTIAL_DIRECTORIES: [&str; 6] = [
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".password-store",
    ".ssh",
];
/// Files that hold credentials.
const CREDENTIAL_FILES: [&str; 11] = [
    ".env",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".pgpass",
    ".pypirc",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "shadow",
];
/// Ends of names of files that hold keys.
const KEY_ENDS: [&str; 5] = ["jks", "kdbx", "p12", "pem", "pfx"];
/// What is behind `.env.` in names of files that hold no secret.
const SAMPLES: [&str; 4] = ["dist", "example", "sample", "template"];
/// Directories at the root of a file system: an absolute path begins with one, a pattern between slashes seldom does.
const ROOTS: [&str; 24] = [
    "Applications",
    "Library",
    "Users",
    "Volumes",
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib64",
    "media",
    "mnt",
    "nix",
    "opt",
    "private",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "tmp",
    "usr",
];
/// Devices that hold nothing.
const PLAIN_DEVICES: [&str; 5] = ["null", "stderr", "stdin", "stdout", "zero"];

/// The reason that a path gives which a call writes or sends.
pub fn of_path(path: &str) -> Option<RiskReason> {
    holds_credentials(path).then(|| RiskReason::CredentialFile(path.to_owned()))
}

/// Whether a word names a file or directory of credentials.
pub fn holds_credentials(word: &str) -> bool {
    // The variables of a process, keys among them.
    if word.starts_with("/proc/") && word.ends_with("/environ") {
        return true;
    }
    let mut parts = word.split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        if CREDENTIAL_DIRECTORIES.contains(&part) {
            return true;
        }
        if parts.peek().is_some() {
            continue;
        }
        let stem = part.split_once('.').map_or(part, |(stem, _)| stem);
        // A bare word is an ordinary word more often than a file.
        let is_list = stem == "credentials" && word.contains(['/', '.']);
        let is_sample = |rest: &str| SAMPLES.contains(&rest);
        return CREDENTIAL_FILES.contains(&part) && (part != "shadow" || word.contains('/'))
            || is_list
            || part
                .strip_prefix(".env.")
                .is_some_and(|rest| !is_sample(rest))
            || part
                .rsplit_once('.')
                .is_some_and(|(name, end)| !name.is_empty() && KEY_ENDS.contains(&end));
    }
    false
}

/// Whether a word names a path that leads out of the workspace, links left aside.
pub fn is_outside(word: &str, cwd: &Path, workspace: &Path) -> bool {
    let path = Path::new(word);
    if path.is_absolute() {
        let mut names = path.components().filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            Component::RootDir
            | Component::CurDir
            | Component::ParentDir
            | Component::Prefix(_) => None,
        });
        let top = names.next();
        let is_place = top.is_none_or(|top| ROOTS.contains(&top) || top.starts_with('*'));
        let is_device = top == Some("dev")
            && names
                .next()
                .is_some_and(|name| PLAIN_DEVICES.contains(&name));
        return is_place && !is_device && !plain(path).starts_with(workspace);
    }
    word.contains("..") && !plain(&cwd.join(path)).starts_with(workspace)
}

/// A path with its `.` and `..` taken away as they stand.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}
