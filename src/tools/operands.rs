//! Files of the workspace that a command runs or is told what to do by, with their digests.
//!
//! They are part of what is approved: a script changed between question and start is another call.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::tools::canonical;
use crate::tools::guard::{Guard, GuardedPath, Kind};
use crate::tools::tool::PrepareError;

/// Most operands of one call.
const MAX_OPERANDS: usize = 64;
/// Largest file that is hashed; a larger one counts by its identity, size and time of change.
const MAX_HASHED: u64 = 64 << 20;
/// Programs that run files they are given, or other programs that might. A version may follow the name
/// (`python3.11`).
const INTERPRETERS: [&str; 40] = [
    "ash", "awk", "bash", "bun", "busybox", "chroot", "csh", "dash", "deno", "env", "fish", "gawk",
    "gdb", "gmake", "just", "ksh", "ld.so", "lua", "luajit", "make", "mawk", "nice", "node",
    "nodejs", "nohup", "perl", "php", "pwsh", "python", "Rscript", "ruby", "sed", "setsid", "sh",
    "stdbuf", "tclsh", "time", "timeout", "xargs", "zsh",
];

/// The operands of a command (`executables`: its program, as found and with links resolved): the program if it is a file of the workspace, and every argument of
/// an interpreter, or word of a script, that names one.
pub fn of(
    guard: &Guard,
    cwd: &Path,
    executables: &[&Path],
    arguments: &[String],
    script: Option<&str>,
) -> Result<Vec<(String, String)>, PrepareError> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut add = |word: &str| -> Result<(), PrepareError> {
        // Words that name nothing in the workspace are no operands.
        let Ok(path) = guard.resolve(&cwd.join(word).to_string_lossy()) else {
            return Ok(());
        };
        let name = path.relative();
        if path.kind != Kind::File || found.iter().any(|(known, _)| *known == name) {
            return Ok(());
        }
        if found.len() == MAX_OPERANDS {
            return Err(PrepareError::Invalid(format!(
                "the command names more than {MAX_OPERANDS} files: put it into a script file and run that"
            )));
        }
        let digest = digest(guard, &path)
            .map_err(|error| PrepareError::Invalid(format!("`{name}` cannot be read: {error}")))?;
        found.push((name, digest));
        Ok(())
    };
    for executable in executables {
        if executable.starts_with(guard.workspace()) {
            add(&executable.to_string_lossy())?;
        }
    }
    let interpreted = executables
        .iter()
        .any(|executable| is_interpreter(executable));
    let texts = script
        .into_iter()
        .chain(arguments.iter().filter(|_| interpreted).map(String::as_str));
    for text in texts {
        if !text.is_empty() {
            add(text)?;
        }
        // Words of a script, `--file=x`, the command inside `sh -c`.
        for word in text.split(|c: char| c.is_whitespace() || ";|&()<>\"'`{}$=".contains(c)) {
            if !word.is_empty() && word != text {
                add(word)?;
            }
        }
    }
    if interpreted {
        let is_make = |name: &OsStr| name == "make" || name == "gmake";
        if executables
            .iter()
            .filter_map(|executable| executable.file_name())
            .any(is_make)
        {
            for name in ["GNUmakefile", "makefile", "Makefile"] {
                add(name)?;
            }
        }
    }
    Ok(found)
}

fn is_interpreter(executable: &Path) -> bool {
    let name = executable.file_name().unwrap_or_default().to_string_lossy();
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    INTERPRETERS.contains(&name.as_ref()) || INTERPRETERS.contains(&bare)
}

fn digest(guard: &Guard, path: &GuardedPath) -> std::io::Result<String> {
    let mut file = guard.open_file(path)?;
    let metadata = file.metadata()?;
    if metadata.len() > MAX_HASHED {
        let identity = (
            metadata.dev(),
            metadata.ino(),
            metadata.len(),
            metadata.mtime(),
            metadata.mtime_nsec(),
        );
        return Ok(canonical::sha256_hex(
            format!("large file {identity:?}").as_bytes(),
        ));
    }
    let mut hash = Sha256::new();
    let mut chunk = vec![0_u8; 64 * 1024];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(canonical::hex(&hash.finalize())),
            Ok(count) => hash.update(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
