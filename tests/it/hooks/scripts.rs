//! Programs of an operator, as files that may be run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Writes a shell script that may be run as a hook; its path.
pub fn script(dir: &Path, name: &str, body: &str) -> PathBuf {
    let dir = dir.join("hooks");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    path
}

/// A script that answers with this, whatever it reads.
pub fn says(dir: &Path, name: &str, verdict: &str) -> PathBuf {
    script(dir, name, &format!("cat >/dev/null\necho '{verdict}'"))
}

/// `[hooks.NAME]` for a script, with more lines.
pub fn table(name: &str, path: &Path, points: &str, more: &str) -> String {
    format!(
        "[hooks.{name}]\ncommand = [\"{}\"]\npoints = [{points}]\ntimeout_ms = 10000\n{more}\n",
        path.display()
    )
}

/// Appends to the configuration of a home.
pub fn configure(home: &crate::support::daemon::Home, more: &str) {
    let file = home.path().join("config/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}\n{more}")).unwrap();
}
