//! Which Python is used, and what it has. Nothing here runs code of anybody but us.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::config::settings::PythonSettings;
use crate::tools::output::first;
use crate::tools::sandbox::profile::SYSTEM;

/// Where it is looked for when the configuration names none; never through `PATH`, which others may have set.
pub const PLACES: [&str; 2] = ["/usr/bin/python3", "/usr/local/bin/python3"];
/// The oldest that runs the driver.
const OLDEST: (u32, u32) = (3, 9);
/// Longest look at one.
const LOOK: Duration = Duration::from_secs(10);
/// Most bytes of what it says.
const MAX_SAID: u64 = 16 * 1024;
/// Packages that make a difference, looked for without loading them.
const ASK: &str = "\
import importlib.metadata, importlib.util, json, sys
def version(name):
    try:
        return importlib.metadata.version(name)
    except Exception:
        return '' if importlib.util.find_spec(name) else None
names = ('pandas', 'pyarrow', 'matplotlib')
print(json.dumps({'version': list(sys.version_info[:3]), 'packages': [[name, version(name)] for name in names]}))";

/// A Python that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonProgram {
    /// Where it is.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
    /// Packages that it has, with their versions.
    pub packages: Vec<String>,
    /// Those that it does not have.
    pub missing: Vec<String>,
}

#[derive(Deserialize)]
struct Said {
    version: (u32, u32, u32),
    packages: Vec<(String, Option<String>)>,
}

/// The Python of a configuration; the error says what was tried and what to do. Blocks for at most 20 s.
pub fn find(settings: &PythonSettings) -> Result<PythonProgram, String> {
    if let Some(path) = &settings.executable {
        return look_at(path).map_err(|why| format!("{}: {why}", path.display()));
    }
    let mut tried = Vec::new();
    for path in PLACES.map(Path::new) {
        match look_at(path) {
            Ok(found) => return Ok(found),
            Err(why) => tried.push(format!("{}: {why}", path.display())),
        }
    }
    Err(tried.join("; "))
}

/// Runs it once.
fn look_at(path: &Path) -> Result<PythonProgram, String> {
    if !SYSTEM.iter().any(|place| path.starts_with(place)) {
        return Err(format!(
            "the sandbox shows no programs there, only those below {}",
            SYSTEM.join(", ")
        ));
    }
    let is_program =
        |found: &std::fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
    match std::fs::metadata(path) {
        Ok(found) if is_program(&found) => {}
        Ok(_) => return Err("it is no executable file".to_owned()),
        Err(error) => return Err(error.to_string()),
    }
    let said = ask(path)?;
    let said: Said = serde_json::from_str(said.trim())
        .map_err(|_| format!("it is no Python 3: it said {:?}", first(said.trim(), 80)))?;
    let (major, minor, patch) = said.version;
    let version = format!("{major}.{minor}.{patch}");
    if (major, minor) < OLDEST {
        return Err(format!(
            "Python {version} is too old: {}.{} or newer is needed",
            OLDEST.0, OLDEST.1
        ));
    }
    let (there, missing): (Vec<_>, Vec<_>) =
        (said.packages.into_iter()).partition(|(_, version)| version.is_some());
    Ok(PythonProgram {
        path: path.to_owned(),
        version,
        packages: (there.into_iter())
            .map(|(name, version)| {
                format!("{name} {}", version.unwrap_or_default())
                    .trim()
                    .to_owned()
            })
            .collect(),
        missing: missing.into_iter().map(|(name, _)| name).collect(),
    })
}

/// What it prints about itself.
fn ask(path: &Path) -> Result<String, String> {
    let mut child = Command::new(path)
        .args(["-I", "-B", "-c", ASK])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let stdout = child.stdout.take();
    let reading = std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(stdout) = stdout {
            let _ = stdout.take(MAX_SAID).read_to_end(&mut said);
        }
        String::from_utf8_lossy(&said).into_owned()
    });
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return Ok(reading.join().unwrap_or_default()),
            Ok(None) if began.elapsed() < LOOK => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer within {} s", LOOK.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
