//! `leverframe mcp login|logout`: a person's consent to a tool server, and its end. Needs no daemon.
//!
//! No page is opened here, and no token is printed.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::connect;
use crate::cli::exit::{Failure, usage};
use crate::cli::find::submit;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::layers;
use crate::config::mcp::{McpAddress, McpLogin, McpPlace};
use crate::config::secrets::read_private_file;
use crate::config::settings::Paths;
use crate::mcp::client::login::callback::{ANSWER_WITHIN, redirect};
use crate::mcp::client::login::{Callback, LoginAttempt, LoginError, LoginOptions, TokenFile};
use crate::protocol::request::StartMcpServer;
use crate::runtime::start::tool_names;
use crate::text::redact::Redactor;

/// Port of the address that a browser elsewhere ends at. Nothing listens there.
const UNUSED_PORT: u16 = 8976;

/// `mcp login`.
#[derive(Debug, Args)]
pub struct LoginArguments {
    /// Its name in the configuration
    name: String,
    /// The browser runs on another machine: asks you to paste the final address
    #[arg(long)]
    no_browser: bool,
    /// Port, if the issuer allows only the address http://127.0.0.1:PORT/callback
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// File of mode 0600 with the secret of the client that you registered by hand
    #[arg(long, value_name = "F")]
    client_secret_file: Option<PathBuf>,
    /// Also request this scope; can be given again
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
}

/// What `--json` prints while it waits.
#[derive(Debug, Serialize)]
struct Waiting<'a> {
    /// The page where a person consents.
    page: &'a str,
    /// Who asks for the consent; none = the server names nobody.
    issuer: Option<&'a str>,
}

/// What `--json` prints at the end.
#[derive(Debug, Serialize)]
struct Done<'a> {
    /// The server.
    name: &'a str,
    /// Whether there is a login now.
    logged_in: bool,
}

/// Logs in.
pub async fn login(
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    paths: &Paths,
    arguments: LoginArguments,
) -> Result<(), Failure> {
    let name = &arguments.name;
    let (address, login) = configured(flags, name)?;
    let client_secret = arguments
        .client_secret_file
        .as_deref()
        .map(read_private_file)
        .transpose()
        .map_err(Failure::usage)?;
    let callback = if arguments.no_browser {
        None
    } else {
        let port = arguments.port.unwrap_or_default();
        Some(Callback::listen(port).await.map_err(failure)?)
    };
    let back = callback.as_ref().map(Callback::redirect);
    let options = LoginOptions {
        redirect: back.unwrap_or_else(|| redirect(arguments.port.unwrap_or(UNUSED_PORT))),
        client_secret,
        scopes: arguments.scope,
    };
    let attempt = LoginAttempt::begin(&address, &login, options, Redactor::new())
        .await
        .map_err(failure)?;
    show(terminal, &attempt, arguments.no_browser)?;
    let answer = match callback {
        Some(callback) => {
            let state = attempt.state().to_owned();
            callback
                .answer(&state, ANSWER_WITHIN)
                .await
                .map_err(failure)?
        }
        None => terminal.ask("After the consent, paste the address that the browser ended at:")?,
    };
    attempt.finish(&answer).await.map_err(failure)?;
    match terminal.format {
        Format::Json => terminal.json(&Done {
            name,
            logged_in: true,
        })?,
        Format::Human => terminal.line(&format!("{}: logged in", cell(name)))?,
    }
    // The daemon connects it now, where one runs; else at its next start.
    if let Ok(client) = connect::daemon(&paths.data_dir).await {
        let start = StartMcpServer { name: name.clone() };
        if let Err(failure) = submit(&client, start).await {
            // The login is kept, whatever comes of the connection.
            terminal.note(&format!(
                "{}: not connected yet: {}\nconnect it with `leverframe mcp start {0}`",
                cell(name),
                cell(&failure.to_string())
            ))?;
        }
    }
    Ok(())
}

fn show(
    terminal: &mut Terminal<'_>,
    attempt: &LoginAttempt,
    elsewhere: bool,
) -> Result<(), Failure> {
    let (page, issuer) = (attempt.page(), attempt.issuer());
    if terminal.format == Format::Json {
        terminal.json(&Waiting { page, issuer })?;
        return Ok(terminal.finish()?);
    }
    let machine = if elsewhere {
        "any machine"
    } else {
        "this machine"
    };
    let asked_by = issuer.map_or_else(String::new, |issuer| format!(" to {}", cell(issuer)));
    terminal.note(&format!(
        "Open this page in a browser of {machine}, and consent there{asked_by}:\n{}",
        cell(page)
    ))
}

/// Forgets a login.
pub fn logout(terminal: &mut Terminal<'_>, flags: &Flags, name: &str) -> Result<(), Failure> {
    let (_, login) = configured(flags, name)?;
    let was_there = TokenFile::new(&login.file).remove().map_err(failure)?;
    match terminal.format {
        Format::Json => terminal.json(&Done {
            name,
            logged_in: false,
        }),
        Format::Human if was_there => terminal.line(&format!(
            "{}: logged out here; revoke the access at its issuer too",
            cell(name)
        )),
        Format::Human => terminal.line(&format!("{}: nobody was logged in", cell(name))),
    }
}

/// The address and the login of a server of the configuration.
fn configured(flags: &Flags, name: &str) -> Result<(McpAddress, McpLogin), Failure> {
    let environment = Environment::capture().without_secrets();
    let settings = layers::load(flags, &environment, tool_names()).map_err(Failure::usage)?;
    let Some(server) = settings.mcp.get(name) else {
        let known: Vec<&str> = settings.mcp.keys().map(String::as_str).collect();
        return Err(usage!(
            "there is no server `{}` under [mcp]; there are: {}",
            cell(name),
            known.join(", ")
        ));
    };
    match &server.place {
        McpPlace::Address(address) => match &address.login {
            Some(login) => Ok((address.clone(), login.clone())),
            None => Err(usage!(
                "the server `{}` wants no login: set login = true under [mcp.{0}]",
                cell(name)
            )),
        },
        McpPlace::Program(_) => Err(usage!(
            "the server `{}` is a program of this machine: there is no login",
            cell(name)
        )),
    }
}

fn failure(error: LoginError) -> Failure {
    match error {
        LoginError::Refused(why) | LoginError::NeedsLogin(why) | LoginError::Failed(why) => {
            Failure::Ended(why)
        }
    }
}
