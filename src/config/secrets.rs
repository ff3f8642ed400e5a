//! Reading secrets: from a variable, a file only we can read, or a command. No error holds the value,
//! and nothing here writes one anywhere.

use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::config::environment::Environment;
use crate::config::error::{ConfigError, ConfigLocation, Fault};
use crate::config::paths;
use crate::config::settings::Secret;
use crate::config::supervisor::{self, Supervisor};

/// Longest run of a command that prints a secret.
pub const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// More than any secret has.
const MAX_BYTES: u64 = 64 * 1024;

/// Where a secret is said to be. At most one is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SecretSource<'a> {
    /// Name of a variable.
    pub env: Option<&'a str>,
    /// Path of a file.
    pub file: Option<&'a str>,
    /// Shell command that prints it.
    pub command: Option<&'a str>,
}

impl<'a> SecretSource<'a> {
    /// What the keys of a table say that end in `_env`, `_file` and `_command`.
    pub fn of([env, file, command]: [&'a Option<String>; 3]) -> Self {
        Self {
            env: env.as_deref(),
            file: file.as_deref(),
            command: command.as_deref(),
        }
    }

    /// How many are set.
    pub fn count(&self) -> usize {
        [self.env, self.file, self.command].iter().flatten().count()
    }
}

/// Reads the secret; none when no source is named. `fault` makes a fault at the source's setting, whose
/// name ends in `_env`, `_file` or `_command`.
pub fn read(
    source: SecretSource<'_>,
    environment: &Environment,
    base: &Path,
    fault: &dyn Fn(&str, String) -> Fault,
) -> Result<Option<Secret>, ConfigError> {
    if source.count() > 1 {
        let suffix = if source.file.is_some() {
            "_file"
        } else {
            "_command"
        };
        let two = fault(suffix, "more than one source of the same secret".to_owned());
        return Err(two.expected("one of _env, _file and _command").into());
    }
    if let Some(name) = source.env {
        let Some(value) = environment.secret(name) else {
            let problem = format!("the environment variable {name} is not set");
            let step = format!("Set {name}, or use a file of mode 0600 instead");
            return Err(fault("_env", problem).next_step(step).into());
        };
        return clean(value.to_owned(), &|problem| {
            fault("_env", format!("the environment variable {name} {problem}"))
        })
        .map(Some);
    }
    if let Some(file) = source.file {
        let path = paths::expand(file, environment, base);
        return read_private_file(&path).map(Some);
    }
    if let Some(command) = source.command {
        let value = run(command, COMMAND_LIMIT)
            .map_err(|problem| fault("_command", format!("the command {problem}")))?;
        return clean(value, &|problem| {
            fault("_command", format!("what the command printed {problem}"))
        })
        .map(Some);
    }
    Ok(None)
}

/// Reads a secret from a file that belongs to us and that nobody else can open.
pub fn read_private_file(path: &Path) -> Result<Secret, ConfigError> {
    let text = read_private_text(path)?;
    clean(text, &|problem| {
        Fault::new(ConfigLocation::path(path), problem)
    })
}

/// The same of a secret that has several lines, such as a private key.
pub fn read_private_text(path: &Path) -> Result<String, ConfigError> {
    let fault = |problem: String| Fault::new(ConfigLocation::path(path), problem);
    // Not blocking: a pipe nobody writes to must not hang the start.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .map_err(|error| {
            fault(format!("cannot be read: {error}")).expected("a file with the secret")
        })?;
    // The open file is asked, not the path: it cannot be exchanged in between.
    let about = file
        .metadata()
        .map_err(|error| fault(format!("cannot be examined: {error}")))?;
    if !about.is_file() {
        return Err(fault("is not a regular file".to_owned()).into());
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        let step = format!(
            "Copy it, or chown it to the user that runs leverframe: {}",
            path.display()
        );
        let fault = fault(format!("belongs to user id {}", about.uid()));
        return Err(fault.expected("your own file").next_step(step).into());
    }
    let mode = about.mode() & 0o777;
    if mode & 0o077 != 0 {
        let step = format!("Run: chmod 600 {}", path.display());
        let fault = fault(format!("can be opened by others (mode {mode:04o})"));
        return Err(fault.expected("mode 0600").next_step(step).into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| fault(format!("cannot be read: {error}")))?;
    Ok(text_of(bytes).map_err(|problem| fault(problem.to_owned()))?)
}

fn text_of(bytes: Vec<u8>) -> Result<String, &'static str> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err("is longer than 64 KiB");
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text")
}

/// Without the line break at the end; refused when nothing is left, or when it could not be sent in a
/// header.
fn clean(value: String, fault: &dyn Fn(&str) -> Fault) -> Result<Secret, ConfigError> {
    let value = value.trim_end_matches(['\n', '\r']);
    if value.trim().is_empty() {
        return Err(fault("is empty").into());
    }
    if value.chars().any(char::is_control) {
        let fault = fault("has a line break or control character in the middle");
        return Err(fault.expected("one line").into());
    }
    Ok(Secret::new(value))
}

/// What a shell command prints. The error never quotes its output.
fn run(command: &str, limit: Duration) -> Result<String, String> {
    let deadline = Instant::now() + limit;
    let start = || -> std::io::Result<Child> {
        let mut shell = supervisor::command("/bin/sh")?;
        shell
            .arg("-c")
            .arg(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
    };
    let mut child = start().map_err(|error| format!("cannot be started: {error}"))?;
    let (send, receive) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.take(MAX_BYTES + 1).read_to_end(&mut bytes);
            // Nobody listens any more once the limit is over.
            let _ = send.send(read.map(|_| bytes));
        });
    }
    let output = receive.recv_timeout(limit);
    let status = match &output {
        Ok(_) => wait_until(&mut child, deadline),
        Err(_) => None,
    };
    let Some(status) = status else {
        Supervisor::new(Some(child.id())).kill();
        let _ = child.wait();
        return Err(format!("did not end within {} s", limit.as_secs()));
    };
    if !status.success() {
        return Err(format!("failed ({status})"));
    }
    match output {
        Ok(Ok(bytes)) => text_of(bytes).map_err(|problem| format!("printed what {problem}")),
        Ok(Err(error)) => Err(format!("could not be read: {error}")),
        Err(_) => Err("printed nothing".to_owned()),
    }
}

/// Waits for the end of a child that has already closed its output.
fn wait_until(child: &mut Child, deadline: Instant) -> Option<std::process::ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => return None,
        }
    }
}
