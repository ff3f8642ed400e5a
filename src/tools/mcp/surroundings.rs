//! What servers run in.

use std::path::PathBuf;

use crate::clock::Clock;
use crate::text::redact::Redactor;
use crate::tools::sandbox::Sandbox;

/// What servers run in.
#[derive(Clone)]
pub struct Surroundings {
    /// How programs are confined.
    pub sandbox: Sandbox,
    /// The directory of data: each program gets a directory of its own below it.
    pub data_dir: PathBuf,
    /// Directories that no program sees: data, configuration, sockets. Absolute, canonical.
    pub hidden: Vec<PathBuf>,
    /// Takes secrets out of what servers log.
    pub redactor: Redactor,
    /// For the time of a connection.
    pub clock: Clock,
}
