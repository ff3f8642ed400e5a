//! `leverframe log`: the newest lines of the daemon's log, and with `--follow` those to come.

use std::time::Duration;

use clap::Args;

use crate::cli::exit::Failure;
use crate::cli::terminal::{Cli, Terminal, cell};
use crate::protocol::enums::LogLevel;
use crate::protocol::log::LogLine;
use crate::protocol::request::GetLog;

/// How often what came is asked for.
const PAUSE: Duration = Duration::from_millis(500);

/// `log`.
#[derive(Debug, Args)]
pub struct LogArguments {
    /// Lowest level to print: error, warn, info, debug, trace
    #[arg(long, short)]
    pub level: Option<LogLevel>,
    /// Follow new lines until ctrl-c
    #[arg(long, short)]
    pub follow: bool,
    /// At most this many of the newest lines
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=2000))]
    pub limit: Option<u32>,
}

/// Prints the lines.
pub async fn run(cli: &mut Cli<'_>, arguments: LogArguments) -> Result<(), Failure> {
    let LogArguments {
        level,
        follow,
        limit,
    } = arguments;
    let mut after = None;
    loop {
        let limit = limit.filter(|_| after.is_none());
        let log = cli
            .client
            .call(GetLog {
                level,
                after,
                limit,
            })
            .await?;
        if log.lines.is_empty() && !follow {
            cli.terminal.note(&format!(
                "no line; the daemon writes `{}`",
                cell(&log.filter)
            ))?;
        }
        for line in &log.lines {
            print(&mut cli.terminal, line)?;
        }
        if !follow {
            return Ok(());
        }
        // Whoever follows reads each line when it comes.
        cli.terminal.finish()?;
        after = Some(log.last);
        tokio::time::sleep(PAUSE).await;
    }
}

fn print(terminal: &mut Terminal<'_>, line: &LogLine) -> Result<(), Failure> {
    terminal.show_line(line, || {
        format!(
            "{}  {:<5}  {}  {}",
            line.at,
            line.level,
            cell(&line.target),
            cell(&line.text)
        )
    })
}
