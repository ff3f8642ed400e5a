//! The level at which a machine confines programs, and the command that runs a program at it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::tools::sandbox::profile::{SYSTEM, Tasks, limited, profile};
use crate::tools::sandbox::program::Program;

/// The first argument by which this binary is a helper of the sandbox.
pub const HELPER: &str = "__sandbox";
/// The second: a program, after its confinement.
pub(crate) const RUN: &str = "run";

/// Where bubblewrap is looked for; never through `PATH`, which others may have set.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];

/// The programs that confine programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Where bubblewrap is looked for, in order.
    pub bubblewrap: Vec<PathBuf>,
    /// A binary of leverframe: it tries the profile from inside, and applies Landlock to programs.
    pub helper: PathBuf,
    /// Whether Landlock is tried where bubblewrap does not work.
    pub landlock: bool,
}

impl Places {
    /// Those of this machine, with the running binary as helper.
    pub fn of_machine() -> Self {
        Self {
            bubblewrap: PLACES.iter().map(PathBuf::from).collect(),
            helper: std::env::current_exe().unwrap_or_default(),
            landlock: true,
        }
    }
}

/// What a program may reach.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Confinement {
    /// Readable and writable as a whole: Landlock cannot take a part of it out again.
    pub(crate) workspace: PathBuf,
    /// Not readable; none of it lies in the workspace.
    pub(crate) hidden: Vec<PathBuf>,
    /// Directories that are readable, too.
    pub(crate) readable: Vec<PathBuf>,
    /// Directories that are readable and writable, too.
    pub(crate) writable: Vec<PathBuf>,
    /// A program outside of the system directories that may be run, too.
    pub(crate) executable: Option<PathBuf>,
}

/// How programs are confined.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "no level is proved elsewhere")
)]
pub(crate) enum Level {
    Bubblewrap {
        program: PathBuf,
        /// Whether it knows `--size` (0.7 and later).
        sized: bool,
    },
    Landlock {
        /// A binary of leverframe.
        helper: PathBuf,
        /// Why it is not bubblewrap.
        why: String,
    },
    None {
        why: String,
    },
}

impl Level {
    /// The command for a program; `shown` are files that it sees at other places, read-only.
    pub(super) fn command(&self, program: &Program<'_>, shown: &[(PathBuf, PathBuf)]) -> Command {
        match self {
            Self::Bubblewrap {
                program: bwrap,
                sized,
            } => {
                let (profile, check) = profile(program, *sized);
                let mut command = Command::new(bwrap);
                command.args(profile);
                for (file, place) in shown {
                    command.arg("--ro-bind").args([file, place]);
                }
                command
                    .arg("--")
                    .args(limited(program, &check, Tasks::Limited));
                // bwrap clears the environment of the program itself; it needs none of ours either.
                command.env_clear().current_dir("/");
                of_service(&mut command, program);
                command
            }
            Self::Landlock { helper, .. } => {
                let mut command = Command::new(helper);
                command
                    .args([HELPER, RUN])
                    .arg(confinement(program))
                    .args(limited(program, "", Tasks::Free));
                free(&mut command, program);
                // `/tmp` is everybody's: a program has none of its own here.
                command.env("TMPDIR", program.workspace);
                command
            }
            Self::None { .. } => {
                let mut words = limited(program, "", Tasks::Free).into_iter();
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words);
                free(&mut command, program);
                command
            }
        }
    }
}

/// What bubblewrap does by options: the program's directory and exactly its environment.
fn free(command: &mut Command, program: &Program<'_>) {
    command.env_clear().current_dir(program.cwd);
    let environment = program.environment.iter();
    command.envs(environment.map(|(name, value)| (name, value)));
    of_service(command, program);
}

/// The environment of a service.
fn of_service(command: &mut Command, program: &Program<'_>) {
    let environment = program
        .service
        .map_or(&[][..], |service| service.environment);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
}

/// The confinement of a program as an argument of the helper.
fn confinement(program: &Program<'_>) -> String {
    let system = |path: &Path| SYSTEM.iter().any(|place| path.starts_with(place));
    let outside = !program.executable.starts_with(program.workspace) && !system(program.executable);
    let real = |directories: &[(PathBuf, PathBuf)]| {
        let real = directories.iter().map(|(from, _)| from.clone());
        real.collect()
    };
    let confinement = Confinement {
        workspace: program.workspace.to_owned(),
        hidden: program.hidden.to_vec(),
        readable: real(program.readable),
        writable: real(program.writable),
        executable: outside.then(|| program.executable.to_owned()),
    };
    // Paths that are no UTF-8 do not become JSON; the helper refuses an empty word.
    serde_json::to_string(&confinement).unwrap_or_default()
}
