//! `leverframe sessions list|resume|pause|unpause|preferences|dismiss-refused|export`.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use crate::cli::ask::{self, OnApproval};
use crate::cli::exit::{Failure, usage};
use crate::cli::find;
use crate::cli::list::{self, ListArguments};
use crate::cli::take_over;
use crate::cli::terminal::{Cli, Format, cell, create};
use crate::client::console_client::ConsoleClient;
use crate::client::export::{Export, ExportFormat};
use crate::client::listing::TableRow;
use crate::clock::Clock;
use crate::protocol::enums::SessionState;
use crate::protocol::request::{
    CallTool, DismissRefusedCalls, GetSession, ListSessions, ResumeSession, UpdateSession,
};
use crate::protocol::session::Session;
use crate::text::untrusted::reveal;

/// Goes back to an earlier session.
pub async fn resume(cli: &mut Cli<'_>, id: &str) -> Result<(), Failure> {
    let session_id = find::session(cli.client, id).await?;
    let resume = ResumeSession { session_id };
    let session = find::submit(cli.client, resume).await?;
    take_over::print(&mut cli.terminal, &session, "resumed")
}

/// `sessions call`.
#[derive(Debug, clap::Args)]
pub struct CallArguments {
    /// Id or unique prefix
    id: String,
    /// Tool name
    tool: String,
    /// Its arguments, a JSON object; none when left out
    arguments: Option<String>,
    /// If the call needs approval, wait for the decision
    #[arg(long)]
    wait: bool,
}

/// Calls a tool without a model, and prints its result.
pub async fn call(cli: &mut Cli<'_>, given: CallArguments) -> Result<(), Failure> {
    let arguments = given.arguments.as_deref().unwrap_or("{}");
    let arguments = serde_json::from_str(arguments)
        .map_err(|error| usage!("the arguments of the tool are no JSON object: {error}"))?;
    let call = CallTool {
        session_id: find::session(cli.client, &given.id).await?,
        tool: given.tool,
        arguments,
    };
    let on_approval = if given.wait {
        OnApproval::Wait
    } else {
        OnApproval::Leave
    };
    ask::run(cli, call, on_approval).await
}

/// Pauses a session, or lets it go on.
pub async fn pause(cli: &mut Cli<'_>, id: &str, paused: bool) -> Result<(), Failure> {
    let update = UpdateSession {
        session_id: find::session(cli.client, id).await?,
        title: None,
        model: None,
        paused: Some(paused),
        preferences: None,
    };
    let session = find::submit(cli.client, update).await?;
    take_over::print(
        &mut cli.terminal,
        &session,
        if paused { "paused" } else { "goes on" },
    )
}

/// Shows what models are told in every turn of a session, or sets it.
pub async fn preferences(
    cli: &mut Cli<'_>,
    id: &str,
    words: &[String],
    clear: bool,
) -> Result<(), Failure> {
    let id = find::session(cli.client, id).await?;
    if words.is_empty() && !clear {
        let session = cli.client.call(GetSession { id }).await?;
        return match (cli.terminal.format, &session.preferences) {
            (Format::Json, _) => cli.terminal.json(&session),
            (Format::Human, Some(text)) => cli.terminal.line(&reveal(text)),
            (Format::Human, None) => cli.terminal.note("this session has no preferences"),
        };
    }
    let text = if clear {
        String::new()
    } else {
        ask::text(&mut cli.terminal, words)?
    };
    let update = UpdateSession {
        session_id: id,
        title: None,
        model: None,
        paused: None,
        preferences: Some(text),
    };
    let session = find::submit(cli.client, update).await?;
    let done = if session.preferences.is_some() {
        "preferences set"
    } else {
        "preferences removed"
    };
    take_over::print(&mut cli.terminal, &session, done)
}

/// Takes the calls that were refused because too many waited off the Queue.
pub async fn dismiss_refused(cli: &mut Cli<'_>, id: &str) -> Result<(), Failure> {
    let session_id = find::session(cli.client, id).await?;
    let dismiss = DismissRefusedCalls { session_id };
    let session = find::submit(cli.client, dismiss).await?;
    take_over::print(&mut cli.terminal, &session, "dismissed its refused calls")
}

/// Lists sessions, newest change first.
pub async fn list(
    cli: &mut Cli<'_>,
    state: Option<SessionState>,
    channel: Option<String>,
    list: ListArguments,
) -> Result<(), Failure> {
    let query = ListSessions {
        state,
        channel,
        prefix: None,
        page: list.page(),
    };
    list::run(cli, query, list.watch).await
}

impl TableRow for Session {
    const HEADS: &'static [&'static str] = &[
        "ID", "CHANNEL", "STATE", "TURN", "WAITING", "TURNS", "CHANGED", "TITLE",
    ];
    const NOTHING: &'static str = "no sessions";

    fn cells(&self) -> Vec<String> {
        let open = self
            .open_continuation
            .as_ref()
            .map_or("-", |open| open.state.as_str());
        vec![
            self.id.to_string(),
            cell(&self.channel),
            self.state.to_string(),
            open.to_owned(),
            self.pending_approvals.to_string(),
            self.turns.to_string(),
            self.updated_at.to_string(),
            cell(self.title.as_deref().unwrap_or(&self.conversation)),
        ]
    }
}

/// Writes a whole session to a new file, never over an old one, or to standard output.
pub async fn export(
    cli: &mut Cli<'_>,
    id: &str,
    file: Option<&Path>,
    wanted: Option<ExportFormat>,
) -> Result<(), Failure> {
    let id = find::session(cli.client, id).await?;
    let wanted = wanted.unwrap_or(match cli.terminal.format {
        Format::Json => ExportFormat::Json,
        Format::Human => ExportFormat::Markdown,
    });
    let mut export = Export::new(id, wanted, Clock::System.now());
    let Some(path) = file.filter(|path| *path != Path::new("-")) else {
        while let Some(part) = export.next(cli.client).await? {
            cli.terminal.out.write_all(part.as_bytes())?;
        }
        return Ok(());
    };
    let made = create(path)?;
    if let Err(failure) = write_all(&mut export, cli.client, made).await {
        // Half a session looks like a whole one. It is ours: it was made a moment ago.
        if let Err(error) = std::fs::remove_file(path) {
            cli.terminal
                .note(&format!("{} is not whole: {error}", path.display()))?;
        }
        return Err(failure);
    }
    let text = format!("{} entries in {}", export.entries(), path.display());
    cli.terminal.note(&cell(&text))
}

async fn write_all(
    export: &mut Export,
    client: &dyn ConsoleClient,
    file: File,
) -> Result<(), Failure> {
    let mut to = BufWriter::new(file);
    while let Some(part) = export.next(client).await? {
        to.write_all(part.as_bytes()).map_err(anyhow::Error::from)?;
    }
    let file = to
        .into_inner()
        .map_err(|error| anyhow::Error::from(error.into_error()))?;
    Ok(file.sync_all().map_err(anyhow::Error::from)?)
}
