//! The sandbox of programs: what a tool's process can see, write and reach.
//!
//! A confined program cannot see the data, configuration or runtime directories, the home directories or
//! other processes, has no network and no capability, and can write in the workspace and in a `/tmp` of
//! its own only. Which level this machine gives is measured, never assumed.
//!
//! Where bubblewrap is missing, Landlock and seccomp hold a program back as far as they can. That is no sandbox: a
//! program can change the whole workspace, `.git` included, and so a person decides about each.

mod attempt;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
pub mod level;
#[cfg(target_os = "linux")]
mod linux;
pub(crate) mod profile;
pub mod program;
pub mod tree;
pub mod watch;
pub mod workspace;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

#[cfg(not(target_os = "linux"))]
use crate::tools::sandbox::elsewhere as system;
pub use crate::tools::sandbox::level::Places;
#[cfg(target_os = "linux")]
use crate::tools::sandbox::linux::probe as system;
pub use crate::tools::sandbox::program::{Program, REFUSED, Service};
pub use crate::tools::sandbox::workspace::{WorkspaceError, check_workspace};

pub use system::helper;

use crate::protocol::enums::Risk;
use crate::tools::sandbox::level::Level;
use crate::tools::sandbox::profile::SYSTEM;

/// What a program can change where no mount protects it.
const OPEN: &str = ".git and what else in the workspace makes programs run";
/// Most bytes by which a run makes the workspace grow where nothing else is said.
const MAX_GROWTH: u64 = 1 << 30;

/// How programs are confined on this machine. Clones share what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// Empty while it is being found out; whoever needs it waits.
    found: Arc<OnceLock<Level>>,
    max_growth: u64,
}

impl Sandbox {
    /// Looks for bubblewrap and tries to break out of the real profile. Blocks for at most 5 s.
    pub fn probe() -> Self {
        Self::find(&Places::of_machine())
    }

    /// The same with programs at other places.
    pub fn find(places: &Places) -> Self {
        Self {
            found: Arc::new(OnceLock::from(system::find(places))),
            max_growth: MAX_GROWTH,
        }
    }

    /// Returns at once and finds out on a thread of its own: a daemon serves before the first program runs.
    /// Whatever depends on the answer waits for it, at most 5 s.
    pub fn probe_in_background() -> Self {
        let found = Arc::new(OnceLock::new());
        let slot = Arc::clone(&found);
        std::thread::spawn(move || {
            // Set once, here; nobody else can have been first.
            let _ = slot.set(system::find(&Places::of_machine()));
        });
        Self {
            found,
            max_growth: MAX_GROWTH,
        }
    }

    /// No confinement, with the reason.
    pub fn none(why: &str) -> Self {
        Self {
            found: Arc::new(OnceLock::from(Level::None {
                why: why.to_owned(),
            })),
            max_growth: MAX_GROWTH,
        }
    }

    /// The same with another bound, in bytes, for the growth of the workspace in one run and for one file.
    #[must_use]
    pub fn with_max_growth(self, max_growth: u64) -> Self {
        Self { max_growth, ..self }
    }

    /// Most bytes by which a run may make the workspace grow, and most bytes of one file.
    pub fn max_growth(&self) -> u64 {
        self.max_growth
    }

    fn level(&self) -> &Level {
        self.found.wait()
    }

    /// The level in a word, without waiting for it to be found out.
    pub fn level_word_so_far(&self) -> String {
        match self.found.get() {
            Some(_) => self.level_word(),
            None => "being tried".to_owned(),
        }
    }

    /// Whether programs are confined: they cannot change what makes other people's programs run.
    pub fn is_confined(&self) -> bool {
        match self.level() {
            Level::Bubblewrap { .. } => true,
            Level::Landlock { .. } | Level::None { .. } => false,
        }
    }

    /// The level reached: `bubblewrap`, `landlock (<why>)` or `none (<why>)`.
    pub fn level_word(&self) -> String {
        match self.level() {
            Level::Bubblewrap { .. } => "bubblewrap".to_owned(),
            Level::Landlock { why, .. } => format!("landlock ({why})"),
            Level::None { why } => format!("none ({why})"),
        }
    }

    /// The level and what was proved of it, without waiting for it to be found out.
    pub fn report_so_far(&self) -> String {
        match self.found.get() {
            Some(_) => self.report(),
            None => self.level_word_so_far(),
        }
    }

    /// The level and what was proved of it.
    pub fn report(&self) -> String {
        let cannot: Vec<_> = attempt::ALL.map(attempt::Attempt::words).into();
        let proved = format!(
            "{}; tried at the start, a program cannot {}",
            self.level_word(),
            cannot.join(", ")
        );
        match self.level() {
            Level::Bubblewrap { .. } => proved,
            Level::Landlock { .. } => {
                format!("{proved}; it can change {OPEN}, so a person decides about each program")
            }
            Level::None { .. } => self.level_word(),
        }
    }

    /// Why no rule lets a program run without a person, in words; `None` when programs are confined.
    pub fn always_asks(&self) -> Option<String> {
        match self.level() {
            Level::Bubblewrap { .. } => None,
            Level::Landlock { why, .. } => Some(format!(
                "only Landlock and seccomp confine it, it can change {OPEN}: {why}"
            )),
            Level::None { why } => Some(format!("no sandbox: {why}")),
        }
    }

    /// The risk that the level adds to every program.
    pub fn least_risk(&self) -> Risk {
        match self.level() {
            Level::Bubblewrap { .. } => Risk::Low,
            Level::Landlock { .. } => Risk::High,
            Level::None { .. } => Risk::Critical,
        }
    }

    /// For plans: what a program may do, in a few words.
    pub fn describe(&self) -> &'static str {
        match self.level() {
            Level::Bubblewrap { .. } => "bubblewrap: workspace only, no network",
            Level::Landlock { .. } => {
                "Landlock and seccomp: workspace only, its .git too; no network"
            }
            Level::None { .. } => "unsandboxed",
        }
    }

    /// Where a program sees a directory of [`Program::readable`] or [`Program::writable`]: without bubblewrap nothing is
    /// mounted, and it stays where it is.
    pub fn seen_at<'d>(&self, (real, inside): &'d (PathBuf, PathBuf)) -> &'d Path {
        match self.level() {
            Level::Bubblewrap { .. } => inside,
            Level::Landlock { .. } | Level::None { .. } => real,
        }
    }

    /// Whether an absolute path can be seen by a confined program: it is part of the system or of the
    /// workspace.
    pub fn shows(&self, path: &Path, workspace: &Path) -> bool {
        matches!(self.level(), Level::None { .. })
            || path.starts_with(workspace)
            || SYSTEM.iter().any(|system| path.starts_with(system))
    }

    /// The command that runs a program at this level, with its limits.
    pub fn command(&self, program: &Program<'_>) -> Command {
        self.level().command(program, &[])
    }
}
