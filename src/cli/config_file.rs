//! Changing the configuration file: the new text is tried before it takes the place of the old one.

use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use similar::TextDiff;

use crate::cli::exit::{Failure, usage};
use crate::cli::terminal::{Attendance, Terminal, cell};
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::layers;
use crate::runtime::start::tool_names;

/// The text of the file; empty where there is none.
pub fn read(file: &Path) -> Result<String, Failure> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(usage!("{}: {error}", file.display())),
    }
}

/// Shows what changes in a file.
pub fn show_change(
    terminal: &mut Terminal<'_>,
    file: &Path,
    old: &str,
    new: &str,
) -> Result<(), Failure> {
    let name = file.display().to_string();
    let diff = TextDiff::from_lines(old, new);
    let difference = diff
        .unified_diff()
        .context_radius(2)
        .header(&name, &name)
        .to_string();
    let mut lines = difference.lines();
    lines.try_for_each(|line| terminal.note(&cell(line)))
}

/// Asks whether to go on, unless `yes` says so. `refused` is said where the person does not want it.
pub fn confirm(
    terminal: &mut Terminal<'_>,
    question: &str,
    yes: bool,
    refused: &str,
) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if terminal.attended == Attendance::Script {
        return Err(Failure::usage(
            "no terminal to ask on: check the difference, then run this again with --yes",
        ));
    }
    let answer = terminal.ask(question)?;
    if matches!(answer.to_lowercase().as_str(), "y" | "yes") {
        Ok(())
    } else {
        Err(Failure::Usage(refused.to_owned()))
    }
}

/// Puts a new text in the place of the old one, unless it has a fault that the old one has not.
pub fn replace(file: &Path, old: &str, new: &str, flags: &Flags) -> Result<(), Failure> {
    swap(file, new, |draft, file| check(draft, file, old, flags))
}

/// Puts a new text in the place of what a file holds, all at once. `check` sees the draft and the file right before.
pub fn swap(
    file: &Path,
    new: &str,
    check: impl FnOnce(&Path, &Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // Where a link leads, so that the link stays.
    let file = &file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let draft = file.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let cannot = |error: std::io::Error| usage!("{} cannot be written: {error}", file.display());
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory).map_err(cannot)?;
    }
    let mode = std::fs::metadata(file).map_or(0o600, |about| about.permissions().mode() & 0o777);
    let written = write(&draft, new, mode).map_err(cannot);
    let done = written
        .and_then(|()| check(&draft, file))
        .and_then(|()| std::fs::rename(&draft, file).map_err(cannot));
    if done.is_err() {
        // It may not be there.
        let _ = std::fs::remove_file(&draft);
    }
    done
}

fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The faults of a text that lies at `draft`, beside those that the file has already.
fn check(draft: &Path, file: &Path, old: &str, flags: &Flags) -> Result<(), Failure> {
    let environment = Environment::capture().without_secrets();
    let faults = |path: &Path| -> Vec<(Option<String>, String)> {
        let flags = Flags {
            config: Some(path.to_owned()),
            ..flags.clone()
        };
        let faults = layers::faults(&flags, &environment, tool_names());
        let told = faults
            .into_iter()
            .map(|fault| (fault.key.clone(), fault.to_string()));
        told.collect()
    };
    let before = if old.is_empty() {
        Vec::new()
    } else {
        faults(file)
    };
    let (draft_name, name) = (draft.display().to_string(), file.display().to_string());
    let new: Vec<String> = faults(draft)
        .into_iter()
        .filter(|(key, _)| !before.iter().any(|(known, _)| known == key))
        .map(|(_, text)| text.replace(&draft_name, &name))
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    Err(usage!("{}\nthe file stays as it is", new.join("\n")))
}
