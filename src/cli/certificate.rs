//! `leverframe certificate create|show`: a certificate for the listener, and what people compare of one.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Subcommand;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

use crate::cli::exit::{Failure, usage};
use crate::cli::terminal::{Format, Terminal, cell};
use crate::clock::{Clock, Timestamp};
use crate::protocol::certificate::Certificate;
use crate::runtime::private_file::write_private;

/// Days that a certificate is valid where nothing else is said: as long as those of public authorities may be.
const DAYS: u32 = 397;
/// Milliseconds before now from which on it is valid: clocks differ.
const SLACK_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * 3_600_000;

/// `certificate`.
#[derive(Debug, Subcommand)]
pub enum CertificateCommands {
    /// Make a self-signed certificate and its key, for the listener or for a client
    Create {
        /// Its host name or address; can be given again; this machine by default
        #[arg(long = "name", value_name = "HOST")]
        names: Vec<String>,
        /// Validity
        #[arg(long, value_name = "DAYS", default_value_t = DAYS, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
        /// Directory for `certificate.pem` and `key.pem`; by default that of the configuration
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    /// Print the fingerprint, names and expiry of a certificate, and the id of its holder
    Show {
        /// File in PEM
        file: PathBuf,
    },
}

/// Carries it out.
///
/// # Errors
/// Where a file is there already, cannot be written, or holds no certificate.
pub fn run(
    terminal: &mut Terminal<'_>,
    config_dir: &Path,
    command: CertificateCommands,
) -> Result<(), Failure> {
    match command {
        CertificateCommands::Create {
            names,
            days,
            directory,
        } => {
            let directory = directory.as_deref().unwrap_or(config_dir);
            create(terminal, directory, names, days)
        }
        CertificateCommands::Show { file } => {
            let certificate = read(&file)?;
            show(terminal, &certificate)?;
            if terminal.format == Format::Human {
                let id = certificate.fingerprint.id();
                terminal.line(&format!("id under [people], where it is a client's: {id}"))?;
            }
            Ok(())
        }
    }
}

fn create(
    terminal: &mut Terminal<'_>,
    directory: &Path,
    mut names: Vec<String>,
    days: u32,
) -> Result<(), Failure> {
    if names.is_empty() {
        names = this_machine();
    }
    let (file, key_file) = (directory.join("certificate.pem"), directory.join("key.pem"));
    for file in [&file, &key_file] {
        if file.exists() {
            return Err(usage!(
                "{} is there already: move it away, or name another --directory",
                file.display()
            ));
        }
    }
    let (certificate, key) = self_signed(names, days)?;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("creating {}", directory.display()))?;
    write_private(&key_file, &key)?;
    std::fs::write(&file, certificate).with_context(|| format!("writing {}", file.display()))?;
    show(terminal, &read(&file)?)?;
    if terminal.format == Format::Human {
        // The configuration may lie elsewhere.
        let absolute = |file: &Path| std::path::absolute(file).context("the current directory");
        let (file, key_file) = (absolute(&file)?, absolute(&key_file)?);
        let (file, key_file) = (file.display(), key_file.display());
        terminal.line(&format!(
            "wrote {file} and {key_file}; for the listener, write into the configuration:\n\n[server.tls]\ncertificate = \"{file}\"\nkey = \"{key_file}\""
        ))?;
    }
    Ok(())
}

/// Certificate and key in PEM.
fn self_signed(names: Vec<String>, days: u32) -> anyhow::Result<(String, String)> {
    let first = names.first().cloned().unwrap_or_default();
    let mut params = CertificateParams::new(names).context("the names")?;
    params.distinguished_name.push(DnType::CommonName, first);
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    let now = Clock::System.now();
    params.not_before = date(now.plus_millis(-SLACK_MS))?;
    params.not_after = date(now.plus_millis(i64::from(days) * DAY_MS))?;
    let key = KeyPair::generate().context("making a key")?;
    let certificate = params.self_signed(&key).context("signing")?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn read(file: &Path) -> Result<Certificate, Failure> {
    let wrong = |problem: String| usage!("{}: {problem}", file.display());
    let leaf = CertificateDer::from_pem_file(file)
        .map_err(|error| wrong(format!("no certificate in PEM: {error}")))?;
    Certificate::read(&leaf).map_err(wrong)
}

fn show(terminal: &mut Terminal<'_>, certificate: &Certificate) -> Result<(), Failure> {
    let Certificate {
        fingerprint,
        names,
        not_before,
        not_after,
    } = certificate;
    match terminal.format {
        Format::Json => terminal.json(&json!({
            "fingerprint": fingerprint.to_string(),
            "id": fingerprint.id(),
            "names": names,
            "not_before": not_before,
            "not_after": not_after,
        }))?,
        Format::Human => {
            terminal.line(&format!("fingerprint  {fingerprint}"))?;
            terminal.line(&format!("for          {}", cell(&names.join(", "))))?;
            terminal.line(&format!(
                "valid        {} to {}",
                not_before.day_in_zone(),
                not_after.day_in_zone()
            ))?;
        }
    }
    Ok(())
}

/// Names under which this machine is reached at least.
fn this_machine() -> Vec<String> {
    let system = rustix::system::uname();
    let own = system.nodename().to_str().unwrap_or_default().to_owned();
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    if !own.is_empty() && own != "localhost" {
        names.insert(0, own);
    }
    names
}

fn date(at: Timestamp) -> anyhow::Result<time::OffsetDateTime> {
    time::OffsetDateTime::from_unix_timestamp(at.as_millis() / 1000).context("the time")
}
