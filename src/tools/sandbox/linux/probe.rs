//! Proving a level: the attempts run in the real profile, and only what failed there counts.

use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::text::quote::quote;
use crate::tools::sandbox::attempt::{self, Attempt};
use crate::tools::sandbox::level::{Confinement, HELPER, Level, Places, RUN};
use crate::tools::sandbox::linux::attempts::{self, Report, Targets};
use crate::tools::sandbox::program::Program;

/// The second: the attempts.
pub const TRY: &str = "try";

/// Longest probe, all tries together.
const PROBE: Duration = Duration::from_secs(5);
/// Most bytes of what the attempts say.
const MAX_ANSWER: u64 = 256 * 1024;
/// Most files named where an attempt worked.
const NAMED: usize = 3;

/// The best level that is proved on this machine.
pub(crate) fn find(places: &Places) -> Level {
    let began = Instant::now();
    let why = match bubblewrap(places, began) {
        Ok(level) => return level,
        Err(why) => why,
    };
    if !places.landlock {
        return Level::None { why };
    }
    let level = Level::Landlock {
        helper: places.helper.clone(),
        why: why.clone(),
    };
    match prove(&level, places, began) {
        Ok(()) => level,
        Err(problem) => Level::None {
            why: format!("{why}; nor does Landlock: {problem}"),
        },
    }
}

/// Bubblewrap in the profile that is proved; the error says why there is none.
fn bubblewrap(places: &Places, began: Instant) -> Result<Level, String> {
    let Some(program) = places.bubblewrap.iter().find(|path| path.is_file()) else {
        return Err("bubblewrap is not installed".to_owned());
    };
    let mut why = String::new();
    for sized in [true, false] {
        let level = Level::Bubblewrap {
            program: program.clone(),
            sized,
        };
        match prove(&level, places, began) {
            Ok(()) => return Ok(level),
            Err(problem) if why.is_empty() => why = problem,
            // What the newer options say is closer to the cause, unless it is only that they are new.
            Err(problem) if why.contains("--size") => why = problem,
            Err(_) => {}
        }
    }
    Err(format!("bubblewrap does not work here: {why}"))
}

/// What the attempts aim at, for as long as they run.
struct Ground {
    root: PathBuf,
    unix: UnixListener,
    named: UnixListener,
    tcp: TcpListener,
    udp: UdpSocket,
    targets: Targets,
}

impl Ground {
    fn new() -> std::io::Result<Self> {
        let unique = ulid::Ulid::generate().to_string();
        let root = std::env::temp_dir()
            .canonicalize()?
            .join(format!("leverframe-probe-{unique}"));
        std::fs::DirBuilder::new().mode(0o700).create(&root)?;
        let made = Self::below(&root, unique);
        if made.is_err() {
            let _ = std::fs::remove_dir_all(&root);
        }
        made
    }

    fn below(root: &Path, unique: String) -> std::io::Result<Self> {
        let (workspace, hidden) = (root.join("workspace"), root.join("hidden"));
        std::fs::create_dir(&workspace)?;
        std::fs::create_dir(&hidden)?;
        let (outside, secret) = (root.join("outside"), hidden.join("secret"));
        std::fs::write(&outside, "")?;
        std::fs::write(&secret, "")?;
        let socket = hidden.join("socket");
        let unix = UnixListener::bind(&socket)?;
        let named = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&unique)?)?;
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let udp = UdpSocket::bind("127.0.0.1:0")?;
        unix.set_nonblocking(true)?;
        named.set_nonblocking(true)?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let targets = Targets {
            workspace,
            outside,
            secret,
            tcp: tcp.local_addr()?.port(),
            udp: udp.local_addr()?.port(),
            socket,
            name: unique,
            process: (own, attempts::started(own).unwrap_or_default()),
        };
        Ok(Self {
            root: root.to_owned(),
            unix,
            named,
            tcp,
            udp,
            targets,
        })
    }

    /// What arrived here, whatever the program said.
    fn arrived(&self) -> Vec<(Attempt, String)> {
        let mut arrived = Vec::new();
        if self.unix.accept().is_ok() || self.named.accept().is_ok() {
            arrived.push((Attempt::Socket, "a connection arrived".to_owned()));
        }
        if self.tcp.accept().is_ok() || self.udp.recv(&mut [0; 8]).is_ok() {
            arrived.push((Attempt::Network, "a packet arrived".to_owned()));
        }
        let changed = std::fs::metadata(&self.targets.outside).is_ok_and(|found| found.len() > 0);
        if changed || self.targets.beside().exists() {
            arrived.push((Attempt::Outside, "a file changed".to_owned()));
        }
        arrived
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Runs the attempts at a level; the error says what is not proved.
fn prove(level: &Level, places: &Places, began: Instant) -> Result<(), String> {
    let ground = Ground::new().map_err(|error| format!("no place to try it: {error}"))?;
    let targets = serde_json::to_string(&ground.targets).map_err(|error| error.to_string())?;
    // Bubblewrap shows the helper in the workspace; Landlock lets it run where it is.
    let executable = match level {
        Level::Bubblewrap { .. } => ground.targets.workspace.join("try"),
        Level::Landlock { .. } | Level::None { .. } => places.helper.clone(),
    };
    let hidden = [ground.root.join("hidden")];
    let arguments = [HELPER, TRY, &targets].map(str::to_owned);
    let mut command = level.command(
        &Program {
            workspace: &ground.targets.workspace,
            hidden: &hidden,
            readable: &[],
            writable: &[],
            protected: &[],
            cwd: &ground.targets.workspace,
            executable: &executable,
            arguments: &arguments,
            environment: &[],
            files: &ground.targets.workspace,
            max_file: 1 << 20,
            service: None,
        },
        &[(places.helper.clone(), executable.clone())],
    );
    let (said, problem) = answer(&mut command, began)?;
    let Ok(report) = serde_json::from_str::<Report>(&said) else {
        return Err(problem);
    };
    judge(&report, ground.arrived())
}

fn judge(report: &Report, arrived: Vec<(Attempt, String)>) -> Result<(), String> {
    if !report.inside {
        return Err("a program cannot write its own workspace".to_owned());
    }
    let worked: Vec<_> = report.worked.iter().cloned().chain(arrived).collect();
    let problems: Vec<String> = attempt::ALL
        .iter()
        .filter_map(|attempt| {
            let on: Vec<String> = worked
                .iter()
                .filter(|(what, _)| what == attempt)
                .map(|(_, on)| quote(on))
                .collect();
            let more = on.len().saturating_sub(NAMED);
            let names = on.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            (!names.is_empty()).then(|| format!("{} ({names}{more})", attempt.words()))
        })
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("a program could {}", problems.join("; ")))
    }
}

/// What the program wrote on standard output; beside it the words for when that says nothing.
fn answer(command: &mut Command, began: Instant) -> Result<(String, String), String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let read = |stream: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(stream) = stream {
                let _ = stream.take(MAX_ANSWER).read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = read(child.stdout.take().map(|stream| Box::new(stream) as _));
    let stderr = read(child.stderr.take().map(|stream| Box::new(stream) as _));
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < PROBE => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer within {} s", PROBE.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    };
    let joined = |thread: std::thread::JoinHandle<String>| thread.join().unwrap_or_default();
    let (said, complained) = (joined(stdout), joined(stderr));
    let line = complained.lines().next().unwrap_or_default();
    let problem: String = line.chars().take(200).collect();
    Ok((
        said,
        if problem.is_empty() {
            status.to_string()
        } else {
            problem
        },
    ))
}

/// What the binary does as helper, with the arguments after [`HELPER`]: the words for standard output.
pub fn helper(arguments: &[String]) -> Result<String, String> {
    match arguments {
        [word, confinement, program @ ..] if word == RUN => {
            let confinement: Confinement = serde_json::from_str(confinement)
                .map_err(|error| format!("the program was not started: {error}"))?;
            Err(format!(
                "the program was not started: {}",
                confinement.become_program(program)
            ))
        }
        [word, targets] if word == TRY => {
            let targets = serde_json::from_str(targets).map_err(|error| error.to_string())?;
            serde_json::to_string(&attempts::run(&targets)).map_err(|error| error.to_string())
        }
        _ => Err(format!("{HELPER} is how the sandbox starts programs")),
    }
}
