//! `leverframe events`: what happened, one JSON object a line.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use futures_util::StreamExt as _;

use crate::cli::connect;
use crate::cli::exit::{Failure, usage};
use crate::cli::find;
use crate::cli::terminal::{Cli, Terminal};
use crate::client::console_client::ConsoleClient;
use crate::clock::{Clock, Day, Timestamp};
use crate::protocol::duration;
use crate::protocol::event::{Event, EventFilter, StreamItem};
use crate::protocol::ids::SessionId;
use crate::protocol::request::GetSnapshot;
use crate::runtime::offline::{OfflineSessions, archived_events};
use crate::text::untrusted::limit_line;

/// `events`.
#[derive(Debug, Args)]
pub struct EventArguments {
    /// Follow new events until ctrl-c
    #[arg(long, short)]
    pub watch: bool,
    /// Only events after this number; also from the archive
    #[arg(long, value_name = "SEQ")]
    pub after: Option<u64>,
    /// Only events since a day (UTC), a time, or how long ago (8h, 7d); also from the archive
    #[arg(long, value_name = "WHEN", conflicts_with = "after")]
    pub since: Option<String>,
    /// Only this session: id or unique prefix
    #[arg(long)]
    pub session: Option<String>,
    /// Only kinds with this prefix, for example `approval` or `tool.finished`; can be given again
    #[arg(long)]
    pub kind: Vec<String>,
}

/// Events that are shown where nothing else is said.
const LAST: u64 = 100;

/// The running daemon of a data directory, else its files.
pub async fn client(data_dir: &Path, watch: bool) -> Result<Arc<dyn ConsoleClient>, Failure> {
    match connect::daemon(data_dir).await {
        Ok(client) => Ok(Arc::new(client)),
        Err(Failure::NothingRunning(_)) if !watch => Ok(Arc::new(OfflineSessions::open(data_dir)?)),
        Err(other) => Err(other),
    }
}

/// What is shown of all events.
struct EventSelection {
    session_id: Option<SessionId>,
    kinds: Vec<String>,
    since: Option<Timestamp>,
}

impl EventSelection {
    fn has(&self, event: &Event) -> bool {
        let kind = event.body.kind();
        (self.session_id.is_none() || self.session_id == event.session_id)
            && self.since.is_none_or(|since| event.at >= since)
            && (self.kinds.is_empty() || self.kinds.iter().any(|start| kind.starts_with(start)))
    }
}

/// Prints the events that are archived and stored, and with `--watch` those to come.
pub async fn run(
    cli: &mut Cli<'_>,
    data_dir: &Path,
    arguments: EventArguments,
) -> Result<(), Failure> {
    let session_id = match &arguments.session {
        Some(session) => Some(find::session(cli.client, session).await?),
        None => None,
    };
    let since = match &arguments.since {
        Some(since) => Some(begin(since, Clock::System.now())?),
        None => None,
    };
    let shown = EventSelection {
        session_id,
        kinds: arguments.kind,
        since,
    };
    let end = cli.client.call(GetSnapshot {}).await?.seq;
    // The number of the last event that was shown or passed over.
    let mut last = match (arguments.after, since, arguments.watch) {
        (Some(after), _, _) => after,
        (None, Some(_), _) => 0,
        (None, None, true) => end,
        // The high half of a number is the run of the daemon: each run counts from 1.
        (None, None, false) => end.saturating_sub(LAST).max(end >> 32 << 32),
    };
    // All of them, whatever is shown: the last stored event ends the list.
    let mut filter = EventFilter {
        after: since.is_none().then_some(last),
        since,
        ..EventFilter::default()
    };
    if let Some(since) = since {
        let archived = archived(data_dir, since, last, &shown, &mut cli.terminal)?;
        last = archived.map_or(last, |(seq, _)| seq);
    }
    let mut events = cli.client.events(filter).await?;
    while arguments.watch || last < end {
        let event = match events.next().await {
            Some(Ok(StreamItem::Event(event))) => event,
            Some(Ok(StreamItem::Reset)) => {
                let since = Timestamp(i64::MIN);
                let Some((seq, at)) = archived(data_dir, since, last, &shown, &mut cli.terminal)?
                else {
                    return Err(Failure::Ended(format!(
                        "the daemon no longer has the events after {last}: leave --after out, or name a later number"
                    )));
                };
                last = seq;
                filter = EventFilter {
                    since: Some(at),
                    ..EventFilter::default()
                };
                events = cli.client.events(filter).await?;
                continue;
            }
            Some(Err(problem)) => return Err(problem.into()),
            None => return Ok(()),
        };
        if let Some(seq) = event.seq {
            if seq <= last {
                continue;
            }
            last = seq;
        }
        if !arguments.watch && last > end {
            return Ok(());
        }
        if shown.has(&event) {
            print(&mut cli.terminal, &event)?;
        }
    }
    Ok(())
}

/// Prints archived events from a time on that come after a number; number and time of the last one.
fn archived(
    data_dir: &Path,
    since: Timestamp,
    after: u64,
    shown: &EventSelection,
    terminal: &mut Terminal<'_>,
) -> Result<Option<(u64, Timestamp)>, Failure> {
    let mut last = None;
    for event in archived_events(data_dir, since)? {
        let event = event?;
        let Some(seq) = event.seq.filter(|seq| *seq > after) else {
            continue;
        };
        last = Some((seq, event.at));
        if shown.has(&event) {
            print(terminal, &event)?;
        }
    }
    Ok(last)
}

/// A day in UTC, a time, or how long ago.
fn begin(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    if let Some(seconds) = duration::seconds(text) {
        return Ok(now.plus_seconds(-seconds));
    }
    if let Ok(day) = text.parse::<Day>() {
        return Ok(Timestamp(day.0.saturating_mul(86_400_000)));
    }
    serde_json::from_value(text.into()).map_err(|_| {
        usage!(
            "--since {}: expected a day like 2026-01-31, a time like 2026-01-31T09:30:00Z, or how long ago: 8h, 7d",
            limit_line(text, 64)
        )
    })
}

fn print(terminal: &mut Terminal<'_>, event: &Event) -> Result<(), Failure> {
    terminal.show(event, |terminal, _| {
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
        ))
    })?;
    // Whoever watches reads each event when it comes.
    Ok(terminal.finish()?)
}
