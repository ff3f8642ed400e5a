//! The level at which a machine confines programs, and the command that runs a program at it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools::sandbox::landlock::Confinement;
use crate::tools::sandbox::profile::{SYSTEM, Tasks, limited, profile};
use crate::tools::sandbox::program::Program;

/// The first argument by which this binary is a helper of the sandbox.
pub const HELPER: &str = "__sandbox";
/// The second: a program, after its confinement.
pub(crate) const RUN: &str = "run";

/// How programs are confined.
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

/// The confinement of a program as an argument of the helper.
fn confinement(program: &Program<'_>) -> String {
    let system = |path: &Path| SYSTEM.iter().any(|place| path.starts_with(place));
    let outside = !program.executable.starts_with(program.workspace) && !system(program.executable);
    let confinement = Confinement {
        workspace: program.workspace.to_owned(),
        hidden: program.hidden.to_vec(),
        executable: outside.then(|| program.executable.to_owned()),
    };
    // Paths that are no UTF-8 do not become JSON; the helper refuses an empty word.
    serde_json::to_string(&confinement).unwrap_or_default()
}
