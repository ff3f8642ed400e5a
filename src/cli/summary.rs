//! `leverframe summary`: what somebody who takes over a shift must know.

use crate::cli::audit::moment;
use crate::cli::exit::{Failure, unexpected};
use crate::cli::terminal::{Format, Terminal};
use crate::client::console_client::ConsoleClient;
use crate::client::summary_lines;
use crate::clock::Clock;
use crate::protocol::snapshot::{Answer, Query};

/// Prints the summary since a time, or of the last eight hours.
pub async fn run(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    since: Option<String>,
) -> Result<(), Failure> {
    let since = since
        .as_deref()
        .map(|text| moment(text, &Clock::System))
        .transpose()?;
    let Answer::Summary(summary) = client.query(Query::Summary { since }).await? else {
        return Err(unexpected("a summary"));
    };
    match format {
        Format::Json => terminal.json(&summary),
        Format::Human => summary_lines::lines(&summary)
            .iter()
            .try_for_each(|line| terminal.line(line)),
    }
}
