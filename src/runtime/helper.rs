//! The binary as helper of the sandbox: it is then the program inside, or on the way there, and never a console.

use crate::tools::sandbox::{self, level};

/// The first argument of a helper.
pub const WORD: &str = level::HELPER;

/// Does what the arguments after [`WORD`] say; returns the words for standard output.
pub fn run(arguments: &[String]) -> Result<String, String> {
    sandbox::helper(arguments)
}
