//! Who may change the configuration. It can run programs, so only its owner and root may.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::config::error::{ConfigError, ConfigLocation, Fault};

/// `S_ISVTX`: in such a directory only owners move their own files.
const STICKY: u32 = 0o1000;

/// Refuses a configuration file that others may change or exchange. One that is not there is nobody's.
pub fn check(file: &Path) -> Result<(), ConfigError> {
    let fault = |problem: String| Fault::new(ConfigLocation::path(file), problem);
    let about = match std::fs::metadata(file) {
        Ok(about) => about,
        // Who reads it says why it cannot be read.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(());
        }
        Err(error) => return Err(fault(format!("cannot be examined: {error}")).into()),
    };
    let ours = "a file that only you or root can change, because it can run programs";
    if !trusted(about.uid()) {
        let step = format!("Run: chown \"$(id -u)\" {}", file.display());
        let fault = fault(format!("belongs to user id {}", about.uid()));
        return Err(fault.expected(ours).next_step(step).into());
    }
    let mode = about.mode() & 0o7777;
    if mode & 0o022 != 0 {
        let step = format!("Run: chmod go-w {}", file.display());
        let fault = fault(format!("can be changed by others (mode {mode:04o})"));
        return Err(fault.expected(ours).next_step(step).into());
    }
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    for dir in [file.parent(), real.parent()].into_iter().flatten() {
        directory(dir)?;
    }
    Ok(())
}

/// Who may write a directory can put another file into the place of the one in it.
fn directory(dir: &Path) -> Result<(), ConfigError> {
    let fault = |problem: String| Fault::new(ConfigLocation::path(dir), problem);
    // `--config config.toml` has an empty parent.
    let looked_at = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    let about = std::fs::metadata(looked_at)
        .map_err(|error| fault(format!("cannot be examined: {error}")))?;
    let mode = about.mode() & 0o7777;
    if mode & 0o002 == 0 || mode & STICKY != 0 {
        return Ok(());
    }
    let step = format!("Run: chmod o-w {}", looked_at.display());
    let fault = fault(format!("can be changed by everybody (mode {mode:04o})"));
    Err(fault
        .expected("a directory where nobody else can replace the configuration file")
        .next_step(step)
        .into())
}

fn trusted(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}
