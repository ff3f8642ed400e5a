//! The supervisor of a program: a process of ours above it, so that nothing of the program lives on.
//!
//! It has a session of its own, without a terminal. It adopts every orphan below it. It kills whatever is
//! left when the program ends, when it is told to, and when the thread that started it dies.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};

/// The hidden subcommand.
const WORD: &str = "__supervise";
/// Tells a supervisor to kill everything below it.
const KILL_ALL: Signal = Signal::USR2;
/// Between two looks for what is left.
const LOOK: Duration = Duration::from_millis(2);
/// After this long what is left cannot be killed: it is somebody else's, or hangs in the kernel.
const GIVE_UP: Duration = Duration::from_secs(30);
/// Exit status when the program cannot be started, as shells have it.
const NOT_STARTED: u8 = 127;

/// This very program, also after its file was replaced.
fn own_program() -> std::io::Result<PathBuf> {
    #[cfg(feature = "test-hooks")]
    {
        // A test is another program; ours stands one directory above it.
        let own = std::env::current_exe()?;
        let beside = own
            .parent()
            .filter(|directory| directory.ends_with("deps"))
            .and_then(std::path::Path::parent)
            .map(|directory| directory.join("leverframe"));
        if let Some(beside) = beside.filter(|path| path.is_file()) {
            return Ok(beside);
        }
    }
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe()
}

/// The command that runs a program below a supervisor; arguments and surroundings are still to be added.
/// Start it without a process group of its own, and from a thread that lives as long as it shall.
///
/// # Errors
/// Where this program is not known, or was started as a supervisor and does not act as one: it would start itself
/// without an end.
pub fn command(program: impl AsRef<OsStr>) -> std::io::Result<Command> {
    if std::env::args_os().nth(1).is_some_and(|word| word == WORD) {
        return Err(std::io::Error::other(
            "this program is no supervisor: its `main` must call `from_arguments` first",
        ));
    }
    let mut command = Command::new(own_program()?);
    command
        .arg(WORD)
        .arg(std::process::id().to_string())
        .arg(program);
    Ok(command)
}

/// A command below a supervisor. The environment is exactly the variables that are set on the command.
pub fn supervised(bare: &Command) -> std::io::Result<Command> {
    let mut command = command(bare.get_program())?;
    command.args(bare.get_args()).env_clear();
    for (name, value) in bare.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    if let Some(directory) = bare.get_current_dir() {
        command.current_dir(directory);
    }
    Ok(command)
}

/// A started supervisor. Everything below it is killed when this is dropped.
#[derive(Debug)]
pub struct Supervisor(Option<Pid>);

impl Supervisor {
    /// The supervisor with this process id.
    pub fn new(id: Option<u32>) -> Self {
        Self(
            id.and_then(|id| i32::try_from(id).ok())
                .and_then(Pid::from_raw),
        )
    }

    /// Asks the program to end.
    pub fn ask(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills the program and all it started.
    pub fn kill(&self) {
        self.signal(KILL_ALL);
    }

    /// It ended and was waited for: its number may be somebody else's by now.
    pub fn forget(&mut self) {
        self.0 = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.0 {
            // It may have ended just now; then nothing is left below it.
            let _ = kill_process(id, signal);
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Acts as a supervisor when the arguments of this process say so; the exit status then.
pub fn from_arguments(arguments: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != WORD {
        return None;
    }
    let starter = arguments
        .next()
        .and_then(|word| word.to_str()?.parse().ok());
    let program = arguments.next();
    let (Some(starter), Some(program)) = (starter, program) else {
        return Some(NOT_STARTED);
    };
    let ended = supervise(starter, &program, &arguments.collect::<Vec<_>>());
    Some(match ended {
        Ok(Some(status)) => pass_on(status),
        Ok(None) => pass_on_signal(Signal::KILL.as_raw()),
        Err(error) => {
            let program = program.to_string_lossy();
            let _ = writeln!(std::io::stderr(), "{program} cannot be started: {error}");
            NOT_STARTED
        }
    })
}

/// Runs the program to its end; `None` when it was killed before.
fn supervise(
    starter: i32,
    program: &OsStr,
    arguments: &[OsString],
) -> std::io::Result<Option<WaitStatus>> {
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // Nothing is below us yet: until there is a handler the signal ends us, which is right.
        rustix::process::set_parent_process_death_signal(Some(KILL_ALL))?;
    }
    // Whoever died before the line above sends no signal.
    if Pid::as_raw(rustix::process::getppid()) != starter {
        return Ok(None);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut ended = signal(SignalKind::child())?;
        let mut asked = signal(SignalKind::terminate())?;
        let mut killed = signal(SignalKind::user_defined2())?;
        let program = start(program, arguments)?;
        let status = loop {
            if let Some(status) = reap(program).ended {
                break Some(status);
            }
            tokio::select! {
                _ = ended.recv() => {}
                _ = asked.recv() => {
                    let _ = kill_process_group(program, Signal::TERM);
                }
                _ = killed.recv() => break None,
            }
        };
        kill_all(program);
        Ok(status)
    })
}

#[allow(
    clippy::zombie_processes,
    reason = "`reap` waits for every child, also for those that were adopted"
)]
fn start(program: &OsStr, arguments: &[OsString]) -> std::io::Result<Pid> {
    let child = Command::new(program)
        .args(arguments)
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

/// What there is of the children after those that ended were waited for.
#[derive(Debug, Clone, Copy)]
struct Children {
    /// How the program ended, if it just did.
    ended: Option<WaitStatus>,
    /// Whether there is none any more. Orphans are our children, so there is no descendant either.
    is_none: bool,
}

fn reap(program: Pid) -> Children {
    let mut ended = None;
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((id, how))) if id == program => ended = Some(how),
            Ok(Some(_)) => {}
            Ok(None) => {
                return Children {
                    ended,
                    is_none: false,
                };
            }
            Err(_) => {
                return Children {
                    ended,
                    is_none: true,
                };
            }
        }
    }
}

/// Kills until nothing is left: what is killed leaves its children to us.
fn kill_all(program: Pid) {
    let began = Instant::now();
    while !reap(program).is_none && began.elapsed() < GIVE_UP {
        // Elsewhere nothing says which processes are below this one; the program's group is known.
        if cfg!(not(target_os = "linux")) {
            let _ = kill_process_group(program, Signal::KILL);
        }
        for id in descendants() {
            let _ = kill_process(id, Signal::KILL);
        }
        std::thread::sleep(LOOK);
    }
}

/// Every living process below this one, by what `/proc` says.
fn descendants() -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut others: Vec<(i32, i32, bool)> = entries
        .flatten()
        .filter_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read(entry.path().join("stat")).ok()?;
            let stat = String::from_utf8_lossy(&stat);
            // The name, in parentheses, may contain anything.
            let mut fields = stat.rsplit_once(") ")?.1.split(' ');
            let is_dead = matches!(fields.next()?, "Z" | "X");
            Some((id, fields.next()?.parse().ok()?, is_dead))
        })
        .collect();
    let mut family = vec![rustix::process::getpid().as_raw_pid()];
    let mut found = Vec::new();
    while let Some(parent) = family.pop() {
        others.retain(|(id, of, is_dead)| {
            if *of == parent {
                family.push(*id);
                if !is_dead {
                    found.extend(Pid::from_raw(*id));
                }
            }
            *of != parent
        });
    }
    found
}

fn pass_on(status: WaitStatus) -> u8 {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(NOT_STARTED),
        (None, Some(signal)) => pass_on_signal(signal),
        (None, None) => NOT_STARTED,
    }
}

/// Ends by a signal, as the program did. A shell has none of our handlers.
fn pass_on_signal(signal: i32) -> u8 {
    let script = format!("ulimit -c 0; kill -{signal} $$");
    // Returns only when it fails.
    let _ = Command::new("/bin/sh").args(["-c", &script]).exec();
    u8::try_from(128 + signal).unwrap_or(NOT_STARTED)
}
