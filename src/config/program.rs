//! A program of the operator that runs for long: a tool server or a bridge.
//!
//! Nothing here starts one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::config::secret::Secret;

/// A program of this machine that is started for its standard input and output.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramSettings {
    /// Program and arguments, as they are.
    pub command: Vec<String>,
    /// Working directory, absolute; none = an empty one of its own.
    pub directory: Option<PathBuf>,
    /// Its environment beside PATH, HOME, LANG and TZ. Values that came from a secret source are secrets.
    pub environment: BTreeMap<String, Secret>,
    /// Directories and files that it may read beside the system's, absolute.
    pub read: Vec<PathBuf>,
    /// Directories that it may change, absolute.
    pub write: Vec<PathBuf>,
    /// Whether it has the network.
    pub network: bool,
    /// Whether it runs in the sandbox.
    pub sandbox: bool,
    /// The values of the environment that are secrets.
    pub secrets: Vec<Secret>,
    /// Variables of the daemon that are to be passed on and are not set.
    pub missing: Vec<String>,
}
