//! `leverframe channels list|set-autonomy`.

use crate::cli::exit::{Failure, unexpected};
use crate::cli::find::submit;
use crate::cli::table;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::protocol::channel::Channel;
use crate::protocol::command::{Command, Outcome};
use crate::protocol::policy::PolicyPatch;
use crate::protocol::snapshot::{Answer, Query};
use crate::protocol::words::Autonomy;

/// Lists all channels.
pub async fn list(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
) -> Result<(), Failure> {
    let Answer::Channels(page) = client.query(Query::Channels).await? else {
        return Err(unexpected("channels"));
    };
    show(terminal, format, &page.items)
}

/// Changes a channel's level and shows the channel as it is then.
pub async fn set_autonomy(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    channel: String,
    autonomy: Autonomy,
    expires_in_seconds: Option<u64>,
) -> Result<(), Failure> {
    let patch = PolicyPatch {
        autonomy: Some(autonomy),
        expires_in_seconds,
        ..PolicyPatch::default()
    };
    let outcome = submit(client, Command::SetPolicy { channel, patch }).await?;
    let Outcome::Channel(channel) = outcome else {
        return Err(unexpected("a channel"));
    };
    show(terminal, format, &[channel])
}

fn show(terminal: &mut Terminal<'_>, format: Format, channels: &[Channel]) -> Result<(), Failure> {
    match format {
        Format::Json => channels.iter().try_for_each(|item| terminal.json(item)),
        Format::Human => {
            let rows: Vec<Vec<String>> = channels.iter().map(row).collect();
            let heads = [
                "NAME", "KIND", "AUTONOMY", "STATE", "WAITING", "BACKLOG", "DETAIL",
            ];
            table::print(terminal, &heads, &rows, "no channels")
        }
    }
}

fn row(channel: &Channel) -> Vec<String> {
    let mut autonomy = channel.policy.autonomy.to_string();
    if let Some(until) = channel.policy.expires_at {
        autonomy = format!("{autonomy} until {until}");
    }
    let state = if channel.paused {
        "paused".to_owned()
    } else {
        channel.health.state.to_string()
    };
    vec![
        cell(&channel.name),
        channel.kind.to_string(),
        autonomy,
        state,
        channel.pending_approvals.to_string(),
        channel.backlog.to_string(),
        cell(channel.health.detail.as_deref().unwrap_or("")),
    ]
}
