//! `leverframe completions SHELL`: the script that completes commands, options and words. It reads nothing but the
//! arguments' own definition.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::arguments::Arguments;
use crate::cli::exit::Failure;
use crate::cli::terminal::Terminal;

/// Prints the script of this shell.
pub fn run(terminal: &mut Terminal<'_>, shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        shell,
        &mut Arguments::command(),
        env!("CARGO_PKG_NAME"),
        &mut script,
    );
    Ok(terminal.out.write_all(&script)?)
}
