//! `leverframe token create|list|revoke`: through the running daemon, or on the database where none runs.

use std::path::Path;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::connect;
use crate::cli::exit::{Failure, usage};
use crate::cli::find;
use crate::cli::table;
use crate::cli::terminal::{Cli, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::clock::{Clock, Timestamp};
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::protocol::duration;
use crate::protocol::enums::Scope;
use crate::protocol::request::{Command, CreateToken, ListTokens, Outcome, Request, RevokeToken};
use crate::protocol::snapshot::Page;
use crate::protocol::token::Token;
use crate::runtime::alone;
use crate::runtime::offline;
use crate::text::untrusted::limit_line;

/// `token`.
#[derive(Debug, Subcommand)]
pub enum TokenCommands {
    /// Create a token, and print its value this one time
    Create {
        /// Its name
        name: String,
        /// Its scopes, separated by commas
        #[arg(long, required = true, value_delimiter = ',', value_name = "SCOPES", value_parser = scopes())]
        scope: Vec<Scope>,
        /// When it expires: how long from now (`12h`, `30d`), a day (`2026-12-24`) or a time; never by default
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// Its person: a name of the table `people`; their role limits the token
        #[arg(long, value_name = "NAME")]
        person: Option<String>,
    },
    /// List tokens with their scopes, people, expiry and last use
    List {
        /// Also revoked ones
        #[arg(long)]
        all: bool,
    },
    /// Revoke a token for good: its open streams end within a second
    Revoke {
        /// Its name
        name: String,
    },
}

fn scopes() -> impl TypedValueParser<Value = Scope> {
    let words = Scope::ALL.iter().map(|scope| scope.as_str());
    PossibleValuesParser::new(words).try_map(|word| word.parse::<Scope>())
}

/// Who carries it out.
enum Place<'a> {
    Daemon(&'a dyn ConsoleClient),
    Files(&'a Flags, &'a Environment, &'a Path),
}

impl Place<'_> {
    async fn submit<C>(&self, command: C) -> Result<C::Reply, Failure>
    where
        C: Request<Wire = Command, Answer = Outcome>,
    {
        match self {
            Self::Daemon(client) => find::submit(*client, command).await,
            Self::Files(flags, environment, _) => {
                let envelope = find::envelope(command, None);
                Ok(alone::handle(flags, environment, envelope).await?)
            }
        }
    }

    async fn list(&self, all: bool) -> Result<Page<Token>, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.call(ListTokens { all }).await?),
            Self::Files(_, _, data_dir) => Ok(Page::from(offline::tokens(data_dir, all)?)),
        }
    }
}

/// Carries out the subcommand.
pub async fn run(
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    environment: &Environment,
    data_dir: &Path,
    command: TokenCommands,
) -> Result<(), Failure> {
    match connect::daemon(data_dir).await {
        Ok(client) => through(&mut terminal.with(&client), command).await,
        Err(Failure::NothingRunning(_)) => {
            let place = Place::Files(flags, environment, data_dir);
            carry_out(&place, terminal, command).await
        }
        Err(other) => Err(other),
    }
}

/// The same through an engine that is known already.
pub async fn through(cli: &mut Cli<'_>, command: TokenCommands) -> Result<(), Failure> {
    carry_out(&Place::Daemon(cli.client), &mut cli.terminal, command).await
}

async fn carry_out(
    place: &Place<'_>,
    terminal: &mut Terminal<'_>,
    command: TokenCommands,
) -> Result<(), Failure> {
    match command {
        TokenCommands::Create {
            name,
            scope,
            expires,
            person,
        } => {
            let expires_at = expires.map(|text| end(&text)).transpose()?;
            let made = place
                .submit(CreateToken {
                    name,
                    scopes: scope,
                    person,
                    expires_at,
                })
                .await?;
            // Alone on its line, for a script that keeps it.
            terminal.show_line(&made, || made.value.clone())
        }
        TokenCommands::List { all } => {
            let page = place.list(all).await?;
            table::page(terminal, &page)
        }
        TokenCommands::Revoke { name } => {
            let revoked = place.submit(RevokeToken { name }).await?;
            terminal.show_line(&revoked, || format!("revoked {}", cell(&revoked.name)))
        }
    }
}

/// When a token ends.
fn end(text: &str) -> Result<Timestamp, Failure> {
    duration::ahead(text, Clock::System.now()).ok_or_else(|| {
        usage!(
            "--expires {}: expected a time to come, like 12h, 30d, 2030-01-31 or 2030-01-31T12:00:00Z",
            limit_line(text, 64)
        )
    })
}
