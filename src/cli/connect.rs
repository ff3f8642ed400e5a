//! Finding the daemon of a data directory. Never starts one, and never opens the store.

use std::path::Path;

use crate::cli::exit::Failure;
use crate::client::remote::connection::{Limits, RemoteClient};
use crate::client::remote::target::{Address, Target};
use crate::protocol::problem::ProblemKind;

/// The daemon that runs on a data directory, at the first socket named in `listen`, else at
/// `leverframe.sock`.
pub async fn daemon(data_dir: &Path) -> Result<RemoteClient, Failure> {
    daemon_within(data_dir, Limits::default()).await
}

/// The same with other time limits.
pub async fn daemon_within(data_dir: &Path, limits: Limits) -> Result<RemoteClient, Failure> {
    let listed = std::fs::read_to_string(data_dir.join("listen")).unwrap_or_default();
    let socket = listed
        .lines()
        .find_map(|line| match line.trim().parse::<Address>() {
            Ok(Address::Unix(path)) => Some(path),
            Ok(Address::Http(_)) | Err(_) => None,
        })
        .unwrap_or_else(|| data_dir.join("leverframe.sock"));
    match RemoteClient::connect_within(Target::Unix(socket), limits).await {
        Ok(client) => Ok(client),
        Err(problem)
            if problem.kind == ProblemKind::Unavailable
                && problem.title == "daemon not reachable" =>
        {
            Err(Failure::NothingRunning(format!(
                "nothing runs on {}\n({})\nstart it with `leverframe --daemon`, or name another directory with --data-dir",
                data_dir.display(),
                problem.detail
            )))
        }
        Err(problem) => Err(problem.into()),
    }
}

/// The target of `attach URL`, with the token of the file when it is HTTP.
pub fn target(url: &str, token_file: Option<&Path>) -> Result<Target, Failure> {
    let address: Address = url
        .parse()
        .map_err(|error| Failure::Usage(format!("{error}")))?;
    match (address, token_file) {
        (Address::Unix(path), None) => Ok(Target::Unix(path)),
        (Address::Unix(_), Some(_)) => Err(Failure::Usage(
            "a unix socket needs no token: leave --token-file out".to_owned(),
        )),
        (Address::Http(_), None) => Err(Failure::Usage(
            "an http address needs --token-file FILE; the daemon's own is `token` in its data directory"
                .to_owned(),
        )),
        (Address::Http(base), Some(file)) => {
            let token = std::fs::read_to_string(file).map_err(|error| {
                Failure::Usage(format!("--token-file {}: {error}", file.display()))
            })?;
            let token = token.trim().to_owned();
            if token.is_empty() {
                return Err(Failure::Usage(format!(
                    "--token-file {} is empty",
                    file.display()
                )));
            }
            Ok(Target::Http { base, token })
        }
    }
}
