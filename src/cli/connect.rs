//! Finding the daemon of a data directory. Never starts one, and never opens the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use crate::cli::exit::{Failure, usage};
use crate::cli::ssh_tunnel::local_socket;
use crate::client::remote::connection::{Limits, RemoteClient};
use crate::client::remote::target::{Address, Target};
use crate::client::remote::trust::{ClientIdentity, Trust};
use crate::console::hosts::MOST;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::runtime::start::is_socket_of;
use crate::tui::event_loop::Attached;

/// The daemon that runs on a data directory.
pub async fn daemon(data_dir: &Path) -> Result<RemoteClient, Failure> {
    daemon_within(data_dir, Limits::default()).await
}

/// The same with other time limits.
///
/// # Errors
/// [`Failure::NothingRunning`] where no socket takes the connection.
pub async fn daemon_within(data_dir: &Path, limits: Limits) -> Result<RemoteClient, Failure> {
    match RemoteClient::connect_within(Target::Unix(socket(data_dir)), limits).await {
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

/// The socket of a daemon on a data directory: the one that `listen` names, else `leverframe.sock`. In a copy of the
/// directory, `listen` names the socket of another daemon, which does not count.
pub fn socket(data_dir: &Path) -> PathBuf {
    let listed = std::fs::read_to_string(data_dir.join("listen")).unwrap_or_default();
    listed
        .lines()
        .find_map(|line| match line.trim().parse::<Address>() {
            Ok(Address::Unix(path)) if is_socket_of(&path, data_dir) => Some(path),
            Ok(Address::Unix(_) | Address::Http(_) | Address::Ssh(_)) | Err(_) => None,
        })
        .unwrap_or_else(|| data_dir.join("leverframe.sock"))
}

/// A daemon as `attach` names it.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// What the operator calls it.
    pub name: Option<String>,
    /// Where it is, and the credential.
    pub target: Target,
}

/// Longest name that can be given to a daemon.
const NAME_MAX: usize = 24;

/// The daemons of `attach [NAME=]URL…`. Every HTTP address takes its own token file, in the order of the
/// addresses: a token is shown to nobody but the daemon it is for. This end of a tunnel of `ssh` is in `tunnels`.
pub fn attachments(
    addresses: &[String],
    token_files: &[PathBuf],
    identity: Option<&ClientIdentity>,
    tunnels: &Path,
) -> Result<Vec<Attachment>, Failure> {
    let mut files = token_files.iter();
    let mut found: Vec<Attachment> = Vec::new();
    for given in addresses {
        let (name, url) = named(given)?;
        let address: Address = url.parse().map_err(|error| usage!("{error}"))?;
        let target = match address {
            Address::Unix(path) => Target::Unix(path),
            Address::Ssh(address) => Target::Ssh {
                local: local_socket(tunnels, found.len()),
                address,
            },
            Address::Http(base) if base.scheme() == "https" => {
                // A certificate is a credential of its own.
                let alone = identity.is_some() && token_files.is_empty();
                let token = match files.next() {
                    Some(file) => Some(token(file)?),
                    None if alone => None,
                    None => return Err(no_token(addresses)),
                };
                Target::Https {
                    base,
                    token,
                    trust: Trust {
                        pin: None,
                        identity: identity.cloned(),
                    },
                }
            }
            Address::Http(base) => {
                let file = files.next().ok_or_else(|| no_token(addresses))?;
                let token = token(file)?;
                Target::Http { base, token }
            }
        };
        if found
            .iter()
            .any(|known| known.target.address() == target.address())
        {
            return Err(usage!("{url} is named twice"));
        }
        if name.is_some() && found.iter().any(|known| known.name == name) {
            let name = name.unwrap_or_default();
            return Err(usage!("two daemons cannot both be called `{name}`"));
        }
        found.push(Attachment { name, target });
    }
    match files.len() {
        0 => {}
        _ if found
            .iter()
            .all(|one| matches!(one.target, Target::Unix(_) | Target::Ssh { .. })) =>
        {
            return Err(Failure::usage(
                "a socket needs no token: leave --token-file out",
            ));
        }
        more => {
            return Err(usage!(
                "{more} --token-file too many: there is one for each http address, in their order"
            ));
        }
    }
    if found.len() > MOST {
        return Err(usage!(
            "one console attaches to {MOST} daemons at most; {} are named",
            found.len()
        ));
    }
    Ok(found)
}

/// A name before the address, where there is one: `lab=unix:…`.
fn named(given: &str) -> Result<(Option<String>, &str), Failure> {
    let Some((name, url)) = given
        .split_once('=')
        .filter(|(name, _)| !name.contains([':', '/']))
    else {
        return Ok((None, given));
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(fits) {
        return Err(usage!(
            "`{name}` is no name for a daemon: up to {NAME_MAX} letters, digits, `-`, `_` and `.`"
        ));
    }
    Ok((Some(name.to_owned()), url))
}

fn no_token(addresses: &[String]) -> Failure {
    Failure::Usage(if addresses.len() == 1 {
        "an http address needs --token-file FILE; the daemon's own is `token` in its data directory"
            .to_owned()
    } else {
        "every http address needs its own --token-file FILE, in the order of the addresses; a daemon's own is \
         `token` in its data directory"
            .to_owned()
    })
}

fn token(file: &Path) -> Result<String, Failure> {
    let token = std::fs::read_to_string(file)
        .map_err(|error| usage!("--token-file {}: {error}", file.display()))?;
    let token = token.trim().to_owned();
    if token.is_empty() {
        return Err(usage!("--token-file {} is empty", file.display()));
    }
    Ok(token)
}

/// Prepares the connections to several daemons. One that answers is enough to begin with: the console says
/// of the others what is wrong, and goes on trying.
pub async fn several(attachments: Vec<Attachment>) -> Result<Vec<Attached>, Failure> {
    let mut hosts = Vec::new();
    let mut clients = Vec::new();
    for Attachment { name, target } in attachments {
        let address = target.address().to_string();
        let client = RemoteClient::new(target, Limits::default())?;
        clients.push(client.clone());
        hosts.push(Attached {
            name,
            address,
            client: Arc::new(client),
        });
    }
    let mut checks: FuturesUnordered<_> = clients.iter().map(RemoteClient::check).collect();
    let mut problems: Vec<Problem> = Vec::new();
    while let Some(checked) = checks.next().await {
        match checked {
            Ok(()) => return Ok(hosts),
            Err(problem) => problems.push(problem),
        }
    }
    let words: Vec<String> = problems
        .iter()
        .map(|problem| match &problem.hint {
            Some(hint) => format!("{problem}; {hint}"),
            None => problem.to_string(),
        })
        .collect();
    let kind = problems
        .first()
        .map_or(ProblemKind::Unavailable, |p| p.kind);
    Err(Problem::new(kind, "none of the daemons can be used", words.join("\n")).into())
}
