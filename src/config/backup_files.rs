//! The configuration as it goes into a backup: what a person wrote, without any secret. Key files, tokens, the
//! environment and logs never do.

use std::path::Path;

use crate::config::settings::Paths;
use crate::text::redact::Redactor;

/// Larger files are nobody's configuration.
const MAX_BYTES: u64 = 1 << 20;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupFiles {
    /// (path inside the backup, content), in order.
    pub files: Vec<(String, Vec<u8>)>,
    /// What was left out or changed, in words.
    pub notes: Vec<String>,
}

/// Whether every secret that the configuration refers to is known to the redactor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// They were read and registered.
    Registered,
    /// They could not be read: a file that could hold one in an unknown shape is left out.
    Unknown,
}

/// Reads configuration file, keymaps and themes.
pub fn collect(paths: &Paths, redactor: &Redactor, secrets: Secrets) -> BackupFiles {
    let mut found = BackupFiles::default();
    add(
        &mut found,
        &paths.config_file,
        "config/config.toml",
        redactor,
        secrets,
    );
    for folder in ["keymaps", "themes"] {
        let dir = paths.config_dir.join(folder);
        let mut names: Vec<String> = std::fs::read_dir(&dir)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| std::path::Path::new(name).extension() == Some("toml".as_ref()))
            .collect();
        names.sort_unstable();
        for name in names {
            if !plain(&name) {
                found.notes.push(format!(
                    "{} was left out: its name holds more than letters, digits and . _ -",
                    dir.join(&name).display()
                ));
                continue;
            }
            let inside = format!("config/{folder}/{name}");
            add(&mut found, &dir.join(&name), &inside, redactor, secrets);
        }
    }
    found
}

fn plain(name: &str) -> bool {
    !name.starts_with('.')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._- ".contains(&byte))
}

fn add(found: &mut BackupFiles, path: &Path, inside: &str, redactor: &Redactor, secrets: Secrets) {
    match std::fs::metadata(path) {
        Ok(data) if data.is_file() && data.len() <= MAX_BYTES => {}
        Ok(_) => {
            let note = format!(
                "{} was left out: it is not a regular file, or too large",
                path.display()
            );
            found.notes.push(note);
            return;
        }
        // There does not have to be one.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => {
            found
                .notes
                .push(format!("{} was left out: {error}", path.display()));
            return;
        }
    }
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            found
                .notes
                .push(format!("{} was left out: {error}", path.display()));
            return;
        }
    };
    // A command can have the secret in it, and without reading the secret nobody can tell.
    if secrets == Secrets::Unknown && text.contains("_command") {
        found.notes.push(format!(
            "{} was left out: its secrets could not be read, and a `_command` in it may hold one",
            path.display()
        ));
        return;
    }
    let clean = redactor.redact(&text);
    if clean != text {
        found.notes.push(format!(
            "a secret was taken out of the copy of {}",
            path.display()
        ));
    }
    found
        .files
        .push((inside.to_owned(), clean.into_owned().into_bytes()));
}
