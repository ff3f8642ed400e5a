//! `leverframe stats`.

use clap::Args;

use crate::cli::exit::{Failure, usage};
use crate::cli::table;
use crate::cli::terminal::{Cli, Format};
use crate::client::stats_lines;
use crate::clock::{Clock, Day, Timestamp};
use crate::protocol::duration;
use crate::protocol::enums::{StatsFormat, StatsGrouping, StatsStep};
use crate::protocol::request::GetStats;
use crate::protocol::stats::OTHERS;
use crate::text::untrusted::limit_line;

/// `stats`.
#[derive(Debug, Args)]
pub struct StatsArguments {
    /// Length of a span: hour, day or week; hour when --since counts hours, else day
    #[arg(long)]
    step: Option<StatsStep>,
    /// What to group by: all, channel, model, tool or person
    #[arg(long, default_value = "all")]
    by: StatsGrouping,
    /// How long up to now (24h, 7d, 4w), a first day (2026-01-31) or a time (RFC 3339); 30 spans by default
    #[arg(long)]
    since: Option<String>,
    /// Last day (2026-01-31) or a time (RFC 3339); now by default
    #[arg(long)]
    until: Option<String>,
    /// json or csv; a table by default
    #[arg(long, value_name = "FORMAT")]
    format: Option<StatsFormat>,
}

/// Shows cost and health over time.
pub async fn run(cli: &mut Cli<'_>, arguments: StatsArguments) -> Result<(), Failure> {
    let since = arguments.since.as_deref();
    let by_hours = since.is_some_and(|text| text.ends_with(['h', 'm', 's']));
    let usual = if by_hours {
        StatsStep::Hour
    } else {
        StatsStep::Day
    };
    let step = arguments.step.unwrap_or(usual);
    let now = Clock::System.now();
    let query = GetStats {
        since: since.map(|text| first(text, step, now)).transpose()?,
        until: arguments.until.as_deref().map(last).transpose()?,
        step,
        by: arguments.by,
    };
    let stats = cli.client.call(query).await?;
    match (arguments.format, cli.terminal.format) {
        (Some(StatsFormat::Csv), _) => Ok(cli
            .terminal
            .out
            .write_all(stats_lines::csv(&stats).as_bytes())?),
        (Some(StatsFormat::Json), _) | (None, Format::Json) => cli.terminal.json(&stats),
        (None, Format::Human) => {
            for note in stats_lines::notes(&stats) {
                cli.terminal.line(&note)?;
            }
            let mut heads = stats_lines::HEADS.to_vec();
            let head = match stats.by {
                StatsGrouping::All => "FROM",
                StatsGrouping::Channel => "CHANNEL",
                StatsGrouping::Model => "MODEL",
                StatsGrouping::Tool => "TOOL",
                StatsGrouping::Person => "PERSON",
            };
            if let Some(first) = heads.first_mut() {
                *first = head;
            }
            let rows = stats_lines::rows(&stats);
            table::print(&mut cli.terminal, &heads, &rows, "no data yet")?;
            match stats.more_groups {
                0 => Ok(()),
                more => cli.terminal.line(&format!("{OTHERS}: {more} more")),
            }
        }
    }
}

/// When the first span begins, or a time in it.
fn first(text: &str, step: StatsStep, now: Timestamp) -> Result<Timestamp, Failure> {
    if let Some(seconds) = duration::seconds(text) {
        // `7d` is today and the six days before.
        let span = match step {
            StatsStep::Hour => 3600,
            StatsStep::Day => 24 * 3600,
            StatsStep::Week => 7 * 24 * 3600,
        };
        return Ok(now.plus_seconds((span - seconds).min(-1)));
    }
    let day = text.parse().ok().and_then(Day::begins);
    day.or_else(|| duration::time(text))
        .ok_or_else(|| refused("--since", text, "how long up to now (24h, 7d, 4w), "))
}

/// When the last span ends, or a time in it.
fn last(text: &str) -> Result<Timestamp, Failure> {
    let day = text
        .parse()
        .ok()
        .and_then(|day: Day| Day(day.0 + 1).begins());
    day.or_else(|| duration::time(text))
        .ok_or_else(|| refused("--until", text, ""))
}

fn refused(option: &str, text: &str, more: &str) -> Failure {
    usage!(
        "{option} {}: expected {more}a day like 2026-01-31, or a time like 2026-01-31T12:00:00Z",
        limit_line(text, 64)
    )
}
