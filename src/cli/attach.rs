//! `leverframe attach`: the console on daemons elsewhere. No token goes to a daemon whose certificate is not trusted.

use std::path::Path;

use crate::cli::attach_arguments::AttachArguments;
use crate::cli::connect;
use crate::cli::exit::Failure;
use crate::cli::known_hosts::{KnownHosts, place};
use crate::cli::modes::{self, Opening};
use crate::cli::ssh_tunnel::{self, Tunnel};
use crate::cli::temporary_directory::TemporaryDirectory;
use crate::cli::terminal::{Attendance, Terminal};
use crate::client::remote::connection::{Limits, RemoteClient};
use crate::client::remote::target::Target;
use crate::client::remote::trust::{self, Trust};
use crate::config::flags::Flags;
use crate::protocol::certificate::Fingerprint;
use crate::protocol::problem::{Problem, ProblemKind};

/// Opens the console on them.
///
/// # Errors
/// Where an address cannot be used, a certificate is not trusted, or no daemon answers.
pub async fn run(
    terminal: &mut Terminal<'_>,
    arguments: AttachArguments,
    data_dir: &Path,
    flags: Flags,
    opening: Opening,
) -> Result<(), Failure> {
    let directory = TemporaryDirectory::new("attach")?;
    let mut attachments = connect::attachments(
        &arguments.urls,
        &arguments.token_file,
        arguments.identity().as_ref(),
        &directory.path,
    )?;
    let mut tunnels = Vec::new();
    let mut known = KnownHosts::read(data_dir)?;
    for attachment in &mut attachments {
        if let Target::Ssh { address, local } = &attachment.target {
            let there = ssh_tunnel::find_socket(address, terminal.attended).await?;
            tunnels.push(Tunnel::open(address, &there, local).await?);
        }
        let Target::Https { base, trust, .. } = &mut attachment.target else {
            continue;
        };
        trust.pin = known.of(base);
        if trust.pin.is_none() {
            let (base, asked) = (base.clone(), trust.clone());
            if let Some(shown) = shown(&attachment.target).await? {
                accept(
                    terminal,
                    &place(&base),
                    shown,
                    &arguments.accept_fingerprint,
                )?;
                known.add(&base, shown)?;
                attachment.target.set_trust(Trust {
                    pin: Some(shown),
                    ..asked
                });
            }
        }
    }
    terminal.finish()?;
    if attachments.len() > 1 {
        let hosts = connect::several(attachments).await?;
        return modes::run_attach_on(hosts, flags, opening).await;
    }
    let Some(one) = attachments.pop() else {
        return Err(Failure::usage("attach needs an address"));
    };
    let client = RemoteClient::connect(one.target).await?;
    modes::run_attach(client, flags, opening).await
}

/// The certificate of a daemon, where no authority of this system signed it. The token is not sent.
async fn shown(target: &Target) -> Result<Option<Fingerprint>, Failure> {
    let client = RemoteClient::new(target.clone(), Limits::default())?;
    Ok(client.untrusted_certificate().await)
}

/// Asks a person, or compares with what they gave; an error is a no.
fn accept(
    terminal: &mut Terminal<'_>,
    host: &str,
    shown: Fingerprint,
    given: &[Fingerprint],
) -> Result<(), Failure> {
    let refused = |detail: String, hint: &str| {
        let problem = Problem::new(ProblemKind::Forbidden, trust::NOT_TRUSTED, detail);
        Err(problem.hint(hint).into())
    };
    if given.contains(&shown) {
        return Ok(());
    }
    if let [expected, ..] = given {
        return refused(
            format!("{host} shows {shown}, and --accept-fingerprint names {expected}"),
            "compare it with `leverframe doctor` on that machine",
        );
    }
    if terminal.attended == Attendance::Script {
        return refused(
            format!("no authority of this system signed what {host} shows: {shown}"),
            "compare it with `leverframe doctor` on that machine, then give it with --accept-fingerprint",
        );
    }
    let answer = terminal.ask(&format!(
        "{host} is not known, and no authority of this system signed its certificate.\n\
         fingerprint  {shown}\n\
         `leverframe doctor` on that machine shows the same one. Trust it from now on? [y/N]"
    ))?;
    if matches!(answer.to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    refused(format!("{host} shows {shown}"), "nothing was sent to it")
}
