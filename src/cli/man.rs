//! `leverframe man DIR`: the manual pages, one a command. They are made from the arguments' own definition.

use std::path::Path;

use clap::CommandFactory as _;

use crate::cli::arguments::Arguments;
use crate::cli::exit::{Failure, usage};
use crate::cli::terminal::{Terminal, cell};

/// Writes the pages into a directory, which is made where it is missing.
pub fn run(terminal: &mut Terminal<'_>, directory: &Path) -> Result<(), Failure> {
    let cannot =
        |error: std::io::Error| usage!("{} cannot be written: {error}", directory.display());
    std::fs::create_dir_all(directory).map_err(cannot)?;
    clap_mangen::generate_to(Arguments::command(), directory).map_err(cannot)?;
    terminal.note(&format!(
        "the manual pages are in {}",
        cell(&directory.display().to_string())
    ))
}
