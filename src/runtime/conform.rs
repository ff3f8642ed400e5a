//! Tries the program of a bridge with the conformance cases of the protocol; no daemon, no configuration.
//!
//! The program runs as whoever asked, without a sandbox: a person named it on the command line.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::channels::process::conform;
pub use crate::channels::process::conform::{CaseOutcome, CaseResult, names};
use crate::config::program::ProgramSettings;
use crate::config::secret::Secret;
use crate::runtime::program::ChannelProgram;
use crate::text::redact::Redactor;
use crate::tools::sandbox::Sandbox;
use crate::tools::service::Services;

/// Lines of standard error that are kept.
const LINES: usize = 20;

/// What came of it.
pub struct Conformance {
    /// Every case that was tried, in order.
    pub outcomes: Vec<CaseOutcome>,
    /// The newest lines that the program wrote to standard error, at most 20; revealed.
    pub log: Vec<String>,
}

/// Tries `command`, which starts in `directory`, finds programs in `path` and has its own directory below `data_dir`.
/// `only`: the cases that are tried; empty = all. `told` hears of each case as it ends.
pub async fn run(
    command: Vec<String>,
    directory: &Path,
    data_dir: &Path,
    path: Option<&str>,
    only: &[String],
    told: impl FnMut(&CaseOutcome),
) -> Conformance {
    let mut command = command;
    // A path with a directory is one of where the person is.
    if let Some(program) = command.first_mut()
        && program.contains('/')
    {
        *program = directory.join(&*program).to_string_lossy().into_owned();
    }
    let environment = path.map(|path| ("PATH".to_owned(), Secret::new(path)));
    let program = ChannelProgram {
        channel: "conform".to_owned(),
        program: ProgramSettings {
            command,
            directory: Some(directory.to_owned()),
            environment: BTreeMap::from_iter(environment),
            read: Vec::new(),
            write: Vec::new(),
            network: true,
            sandbox: false,
            secrets: Vec::new(),
            missing: Vec::new(),
        },
        services: Services {
            sandbox: Sandbox::none("a person runs it"),
            data_dir: data_dir.to_owned(),
            hidden: Vec::new(),
        },
        redactor: Redactor::new(),
    };
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&log);
    let keep = move |line: &str| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == LINES {
            kept.remove(0);
        }
        kept.push(line.to_owned());
    };
    let outcomes = conform::run(&program, Arc::new(keep), only, told).await;
    let log = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Conformance { outcomes, log }
}
