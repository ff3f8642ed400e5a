//! Certificates of daemons that a person has compared: `known_hosts` in the data directory, a line for each.
//!
//! A host that is in it is never reached under another certificate.

use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Subcommand;
use reqwest::Url;
use serde_json::json;

use crate::cli::exit::{Failure, usage};
use crate::cli::terminal::{Format, Terminal, cell};
use crate::config::paths::prepare_data_dir;
use crate::protocol::certificate::Fingerprint;

/// `hosts`.
#[derive(Debug, Subcommand)]
pub enum HostCommands {
    /// List the daemons whose certificate you trust by its fingerprint
    List,
    /// Forget the certificate of a daemon: the next contact asks again
    Forget {
        /// As `hosts list` names it: HOST:PORT
        host: String,
    },
}

/// The file.
#[derive(Debug)]
pub struct KnownHosts {
    file: PathBuf,
    hosts: Vec<(String, Fingerprint)>,
}

impl KnownHosts {
    /// Reads the file of a data directory; none known where it is not there.
    ///
    /// # Errors
    /// Where it cannot be read, or a line of it is not what this program writes.
    pub fn read(data_dir: &Path) -> Result<Self, Failure> {
        let file = data_dir.join("known_hosts");
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                let error = anyhow::Error::new(error);
                return Err(error.context(format!("reading {}", file.display())).into());
            }
        };
        let lines = (1..).zip(text.lines());
        let hosts = lines
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(number, line)| {
                let host = line.split_once(' ');
                let host = host.and_then(|(host, print)| Some((host, print.trim().parse().ok()?)));
                let (host, print) = host.ok_or_else(|| {
                    usage!(
                        "{}, line {number}: expected HOST:PORT and a fingerprint; remove the line, and the next \
                        contact asks again",
                        file.display()
                    )
                })?;
                Ok((host.to_owned(), print))
            })
            .collect::<Result<_, Failure>>()?;
        Ok(Self { file, hosts })
    }

    /// The certificate of a daemon that is known.
    pub fn of(&self, url: &Url) -> Option<Fingerprint> {
        let host = place(url);
        let mut known = self.hosts.iter();
        known
            .find(|(name, _)| *name == host)
            .map(|(_, print)| *print)
    }

    /// Keeps the certificate of a daemon.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn add(&mut self, url: &Url, print: Fingerprint) -> Result<(), Failure> {
        self.hosts.retain(|(name, _)| *name != place(url));
        self.hosts.push((place(url), print));
        Ok(self.write()?)
    }

    fn write(&self) -> anyhow::Result<()> {
        let dir = self.file.parent().unwrap_or(Path::new("."));
        prepare_data_dir(dir).context("the data directory")?;
        let next = self.file.with_extension("next");
        let mut text = String::new();
        for (name, print) in &self.hosts {
            text.push_str(&format!("{name} {print}\n"));
        }
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&next)
            .with_context(|| format!("writing {}", next.display()))?;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&next, &self.file)
            .with_context(|| format!("writing {}", self.file.display()))
    }
}

/// Host and port of a daemon, as they are written down.
pub fn place(url: &Url) -> String {
    let port = url.port_or_known_default().unwrap_or(443);
    format!("{}:{port}", url.host_str().unwrap_or_default())
}

/// Carries out a command.
///
/// # Errors
/// Where the file cannot be used, or does not know the host.
pub fn run(
    terminal: &mut Terminal<'_>,
    data_dir: &Path,
    command: HostCommands,
) -> Result<(), Failure> {
    let mut known = KnownHosts::read(data_dir)?;
    match command {
        HostCommands::List => {
            for (host, print) in &known.hosts {
                match terminal.format {
                    Format::Json => {
                        let print = print.to_string();
                        terminal.json(&json!({ "host": host, "fingerprint": print }))?;
                    }
                    Format::Human => terminal.line(&format!("{print}  {}", cell(host)))?,
                }
            }
            if known.hosts.is_empty() && terminal.format == Format::Human {
                terminal.note("no trusted certificates")?;
            }
        }
        HostCommands::Forget { host } => {
            let before = known.hosts.len();
            known.hosts.retain(|(name, _)| *name != host);
            if known.hosts.len() == before {
                return Err(usage!(
                    "{} has no {host}; `leverframe hosts list` shows its entries",
                    known.file.display()
                ));
            }
            known.write()?;
            terminal.note(&format!(
                "{} is forgotten: the next contact asks",
                cell(&host)
            ))?;
        }
    }
    Ok(())
}
