//! `leverframe gate`: calls of agents of other makers are judged here, and the hooks through which they ask.

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::exit::Failure;
use crate::cli::gate_call::CallArguments;
use crate::cli::gate_install::{self, InstallArguments, UninstallArguments};
use crate::cli::gate_test::TestArguments;
use crate::cli::terminal::Terminal;
use crate::config::environment::Environment;
use crate::protocol::enums::ExternalAgent;

/// `gate`.
#[derive(Debug, Subcommand)]
pub enum GateCommands {
    /// Decide the call on standard input as a hook of Claude Code; status 0 allows it, 2 denies it
    Claude(CallArguments),
    /// The same, as a hook of Codex
    Codex(CallArguments),
    /// The same, as a hook of Gemini CLI
    Gemini(CallArguments),
    /// Install the hooks in an agent's settings; shows the difference first
    Install(InstallArguments),
    /// Remove the hooks from an agent's settings
    Uninstall(UninstallArguments),
    /// Test with the real agent that a denial stops it, and what happens without an answer
    Test(TestArguments),
    /// Show where hooks are installed, and what disables them
    Status {
        /// Also check the settings of this project
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
    },
}

impl GateCommands {
    /// The question of a hook, where this is one.
    pub fn call(&self) -> Option<(ExternalAgent, &CallArguments)> {
        match self {
            Self::Claude(call) => Some((ExternalAgent::Claude, call)),
            Self::Codex(call) => Some((ExternalAgent::Codex, call)),
            Self::Gemini(call) => Some((ExternalAgent::Gemini, call)),
            Self::Install(_) | Self::Uninstall(_) | Self::Test(_) | Self::Status { .. } => None,
        }
    }
}

/// Carries out the command. `data_dir` is the one that somebody named, if any.
pub fn run(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    data_dir: Option<PathBuf>,
    command: GateCommands,
) -> Result<(), Failure> {
    match command {
        GateCommands::Install(given) => {
            gate_install::install(terminal, environment, data_dir, &given)
        }
        GateCommands::Uninstall(given) => gate_install::uninstall(terminal, environment, &given),
        GateCommands::Status { project } => {
            gate_install::status(terminal, environment, project.as_deref())
        }
        // These never come here: a question reads standard input before anything else is set up, a test takes its time.
        GateCommands::Claude(_)
        | GateCommands::Codex(_)
        | GateCommands::Gemini(_)
        | GateCommands::Test(_) => Err(Failure::usage("run the hook command alone")),
    }
}
