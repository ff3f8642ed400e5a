//! Programs that serve for long: servers of tools, bridges to chat platforms. Each is started below our supervisor, in
//! the sandbox unless the operator says otherwise.
//!
//! No variable of this process reaches one, and nothing of it is left when it is dropped.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

use crate::clock::zone::shown_in;
use crate::config::program::ProgramSettings;
use crate::tools::process::RunningProcess;
use crate::tools::sandbox::{Program, Sandbox, Service};

/// Where programs are looked for. Ours, not the one this process was started with.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Longest line of standard error.
const MAX_LINE: u64 = 4 * 1024;
/// How long a program may take to end once its input is closed.
const CLOSED: Duration = Duration::from_millis(800);
/// How long it may take once it was asked to.
const ASKED: Duration = Duration::from_millis(400);
/// After this long a killed program is given up (it hangs in the kernel).
const KILLED: Duration = Duration::from_secs(2);

/// Why a program does not run. Its text says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// It cannot run as it is configured.
    #[error("{0}")]
    Settings(String),
    /// The system did not start it; it may later.
    #[error("{0}")]
    System(String),
}

/// What programs that serve for long run in.
#[derive(Clone)]
pub struct Services {
    /// How programs are confined.
    pub sandbox: Sandbox,
    /// The directory of data: each program gets a directory of its own below it.
    pub data_dir: PathBuf,
    /// Directories that no program sees: data, configuration, sockets. Absolute, canonical.
    pub hidden: Vec<PathBuf>,
}

/// A program that runs.
pub struct ServiceProcess {
    running: RunningProcess,
}

/// Its streams for messages.
pub struct Streams {
    /// Its standard input.
    pub input: ChildStdin,
    /// Its standard output.
    pub output: ChildStdout,
}

impl Services {
    /// Starts a program, whose own directory is `name` in the directory `folder` of the data directory. `log` gets what
    /// it writes to standard error, a line or a part of one at a time.
    ///
    /// # Errors
    /// Nothing runs.
    pub async fn start(
        &self,
        folder: &'static str,
        name: &str,
        program: &ProgramSettings,
        log: impl FnMut(&str) + Send + 'static,
    ) -> Result<(ServiceProcess, Streams), ServiceError> {
        let command = self.command(folder, name, program).await?;
        let piped = Stdio::piped;
        let mut running = RunningProcess::start(&command, piped(), piped(), piped())
            .await
            .map_err(|error| {
                ServiceError::System(format!("its program cannot be started: {error}"))
            })?;
        let child = running.child();
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(ServiceError::System("its program has no pipes".to_owned()));
        };
        tokio::spawn(tell_lines(errors, log));
        Ok((ServiceProcess { running }, Streams { input, output }))
    }

    /// What would be started. Starts nothing, and makes the program's own directory.
    ///
    /// # Errors
    /// It cannot run as it is configured.
    pub async fn command(
        &self,
        folder: &'static str,
        name: &str,
        program: &ProgramSettings,
    ) -> Result<Command, ServiceError> {
        let (program, services) = (program.clone(), self.clone());
        let own = self.data_dir.join(folder).join(name);
        // Waits for what the sandbox is found to be, at most 5 s.
        tokio::task::spawn_blocking(move || command(&program, &own, &services))
            .await
            .map_err(|error| ServiceError::System(error.to_string()))?
            .map_err(ServiceError::Settings)
    }
}

impl ServiceProcess {
    /// The process above everything that belongs to it.
    pub fn id(&self) -> Option<u32> {
        self.running.id()
    }

    /// How it ended, once it has. Cancel-safe.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.running.wait().await
    }

    /// Waits for its end, whose input is closed: asks it to end, and kills it in the end.
    pub async fn end(mut self) {
        if tokio::time::timeout(CLOSED, self.running.wait())
            .await
            .is_ok()
        {
            return;
        }
        self.running.ask();
        if tokio::time::timeout(ASKED, self.running.wait())
            .await
            .is_ok()
        {
            return;
        }
        self.running.kill();
        // What still hangs is killed again when it is dropped.
        let _ = tokio::time::timeout(KILLED, self.running.wait()).await;
    }
}

/// The directory of a program, for its home and its files. It stays: programs keep there what they downloaded.
fn made(directory: &Path) -> Result<PathBuf, String> {
    std::fs::create_dir_all(directory)
        .and_then(|()| directory.canonicalize())
        .map_err(|error| format!("{} cannot be made: {error}", directory.display()))
}

fn command(program: &ProgramSettings, own: &Path, services: &Services) -> Result<Command, String> {
    let (name, arguments) = program
        .command
        .split_first()
        .ok_or_else(|| "it has no command".to_owned())?;
    let own = &made(own)?;
    let environment = environment(program, own);
    let executable = found(name, program)?;
    let cwd = match &program.directory {
        Some(directory) => directory
            .canonicalize()
            .map_err(|error| format!("its directory {}: {error}", directory.display()))?,
        None => own.to_owned(),
    };
    if !program.sandbox {
        let mut command = Command::new(&executable);
        command.args(arguments).current_dir(&cwd);
        command.env_clear().envs(environment);
        return Ok(command);
    }
    let sandbox = &services.sandbox;
    if !sandbox.is_confined() {
        return Err(format!(
            "no sandbox is proved here ({}); install bubblewrap, or set sandbox = false to run it without one",
            sandbox.level_word()
        ));
    }
    let readable = places("read", &program.read, services)?;
    let mut writable = places("write", &program.write, services)?;
    if program.directory.is_some() {
        places("directory", std::slice::from_ref(&cwd), services)?;
        // Its home is beside its directory.
        writable.push((own.to_owned(), own.to_owned()));
    }
    let visible = |path: &Path| {
        let bound = readable.iter().chain(&writable);
        sandbox.shows(path, &cwd) || bound.into_iter().any(|(place, _)| path.starts_with(place))
    };
    if !visible(&executable) {
        return Err(format!(
            "the sandbox does not show {}; name its directory in `read`",
            executable.display()
        ));
    }
    // It would work on what confines the program, too.
    if let Some((name, _)) = environment.iter().find(|(name, _)| name.starts_with("LD_")) {
        return Err(format!(
            "`{name}` cannot be set for a program in the sandbox"
        ));
    }
    Ok(sandbox.command(&Program {
        workspace: &cwd,
        files: &cwd,
        hidden: &services.hidden,
        readable: &readable,
        writable: &writable,
        protected: &[],
        cwd: &cwd,
        executable: &executable,
        arguments,
        environment: &[],
        max_file: sandbox.max_growth(),
        service: Some(Service {
            network: program.network,
            environment: &environment,
        }),
    }))
}

/// Everything that a program finds in its environment.
fn environment(program: &ProgramSettings, own: &Path) -> Vec<(String, String)> {
    let home = own.to_string_lossy();
    let zone = shown_in();
    let base = [
        ("HOME", Some(home.as_ref())),
        ("LANG", Some("C.UTF-8")),
        ("PATH", Some(PATH)),
        ("TZ", zone.iana_name()),
    ];
    let base = base
        .into_iter()
        .filter(|(name, _)| !program.environment.contains_key(*name))
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let configured = program.environment.iter();
    let configured = configured.map(|(name, value)| (name.clone(), value.expose().to_owned()));
    base.chain(configured).collect()
}

/// The file of a program: as it is where it has a directory, else looked for.
fn found(name: &str, program: &ProgramSettings) -> Result<PathBuf, String> {
    let path = Path::new(name);
    if path.is_absolute() {
        let is_there = path.is_file();
        return is_there
            .then(|| path.to_owned())
            .ok_or_else(|| format!("there is no program {name}"));
    }
    if name.contains('/') {
        return Err(format!("the program `{name}` needs an absolute path"));
    }
    let configured = program.environment.get("PATH");
    let path = configured.map_or(PATH, |path| path.expose());
    path.split(':')
        .map(|directory| Path::new(directory).join(name))
        .find(|file| file.is_absolute() && file.is_file())
        .ok_or_else(|| format!("there is no program `{name}` in {path}"))
}

/// Places that a program sees, each where it is. None of them may hold, or lie in, what nobody may see.
fn places(
    key: &str,
    paths: &[PathBuf],
    services: &Services,
) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let seen = paths.iter().map(|path| {
        let real = path
            .canonicalize()
            .map_err(|error| format!("`{key}` names {}: {error}", path.display()))?;
        let mut hidden = services.hidden.iter();
        match hidden.find(|hidden| hidden.starts_with(&real) || real.starts_with(hidden)) {
            Some(hidden) => Err(format!(
                "`{key}` names {}, which would show {}, where files of the daemon are: name a directory elsewhere",
                path.display(),
                hidden.display()
            )),
            None => Ok((real, path.clone())),
        }
    });
    seen.collect()
}

/// Tells the lines of a stream until its end.
async fn tell_lines(stream: impl AsyncRead + Unpin, mut log: impl FnMut(&str)) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        // A longer line becomes several.
        match (&mut reader)
            .take(MAX_LINE)
            .read_until(b'\n', &mut line)
            .await
        {
            Ok(0) | Err(_) => return,
            Ok(_) => log(&String::from_utf8_lossy(&line)),
        }
    }
}
