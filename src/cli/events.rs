//! `leverframe events`: what happened, one JSON object a line.

use clap::Args;
use futures_util::StreamExt as _;

use crate::cli::exit::Failure;
use crate::cli::find;
use crate::cli::terminal::{Format, Terminal};
use crate::client::console_client::ConsoleClient;
use crate::protocol::event::{Event, EventFilter, StreamItem};
use crate::protocol::request::GetSnapshot;

/// `events`.
#[derive(Debug, Args)]
pub struct EventArguments {
    /// Go on with what comes, until ctrl-c
    #[arg(long, short)]
    pub watch: bool,
    /// Only events after this number
    #[arg(long, value_name = "SEQ")]
    pub after: Option<u64>,
    /// Only this session: id or unique prefix
    #[arg(long)]
    pub session: Option<String>,
    /// Only kinds that begin so, for example `approval` or `tool.finished`; can be given several times
    #[arg(long)]
    pub kind: Vec<String>,
}

/// Events that are shown where nothing else is said.
const LAST: u64 = 100;

/// Prints the events that are stored, and with `--watch` those to come.
pub async fn run(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    arguments: EventArguments,
) -> Result<(), Failure> {
    let session_id = match &arguments.session {
        Some(session) => Some(find::session(client, session).await?),
        None => None,
    };
    let end = client.call(GetSnapshot {}).await?.seq;
    let after = match (arguments.after, arguments.watch) {
        (Some(after), _) => after,
        (None, true) => end,
        // The high half of a number is the run of the daemon: each run counts from 1.
        (None, false) => end.saturating_sub(LAST).max(end >> 32 << 32),
    };
    // All of them, whatever is shown: the last stored event ends the list.
    let mut events = client
        .events(EventFilter {
            after: Some(after),
            ..EventFilter::default()
        })
        .await?;
    let mut last = after;
    while arguments.watch || last < end {
        let event = match events.next().await {
            Some(Ok(StreamItem::Event(event))) => event,
            Some(Ok(StreamItem::Reset)) => {
                return Err(Failure::Ended(format!(
                    "the events after {after} are not kept any more: leave --after out, or name a later number"
                )));
            }
            Some(Err(problem)) => return Err(problem.into()),
            None => return Ok(()),
        };
        if let Some(seq) = event.seq {
            last = seq;
        }
        if !arguments.watch && last > end {
            return Ok(());
        }
        if session_id.is_some() && session_id != event.session_id {
            continue;
        }
        let kind = event.body.kind();
        if arguments.kind.is_empty()
            || arguments
                .kind
                .iter()
                .any(|prefix| kind.starts_with(prefix.as_str()))
        {
            print(terminal, format, &event)?;
        }
    }
    Ok(())
}

fn print(terminal: &mut Terminal<'_>, format: Format, event: &Event) -> Result<(), Failure> {
    match format {
        Format::Json => terminal.json(event)?,
        Format::Human => {
            let seq = event
                .seq
                .map_or_else(|| "-".to_owned(), |seq| seq.to_string());
            let about = match (event.continuation_id, event.session_id) {
                (Some(id), _) => id.to_string(),
                (None, Some(id)) => id.to_string(),
                (None, None) => "-".to_owned(),
            };
            terminal.line(&format!(
                "{seq:>8}  {:<24}  {:<30}  {about}",
                event.at.to_string(),
                event.body.kind()
            ))?;
        }
    }
    // Whoever watches reads each event when it comes.
    Ok(terminal.finish()?)
}
