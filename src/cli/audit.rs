//! `leverframe audit list|verify|export`: through the daemon, or from the files where nothing runs.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::cli::arguments::AuditCommands;
use crate::cli::connect;
use crate::cli::exit::Failure;
use crate::cli::table;
use crate::cli::terminal::{Format, Terminal, cell, json_line};
use crate::client::console_client::ConsoleClient;
use crate::client::listing::TableRow;
use crate::clock::{Clock, Timestamp};
use crate::protocol::doctor::{AnchorCheck, AnchorVerdict, AuditAnchor, AuditReport, AuditRow};
use crate::protocol::duration;
use crate::protocol::request::{ListAudit, VerifyAudit};
use crate::protocol::snapshot::{AuditFilter, Page, PageRequest};
use crate::runtime::offline::OfflineAudit;
use crate::text::untrusted::limit_line;

/// Rows read at once.
const PAGE: u32 = 500;

/// Where rows come from.
enum Source<'a> {
    Client(&'a dyn ConsoleClient),
    Files(Box<OfflineAudit>),
}

impl Source<'_> {
    async fn rows(
        &self,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> Result<Page<AuditRow>, Failure> {
        match self {
            Self::Files(audit) => Ok(audit.rows(filter, &page)?),
            Self::Client(client) => {
                let filter = filter.clone();
                let page = client.call(ListAudit { filter, page }).await?;
                Ok(page)
            }
        }
    }

    async fn verify(&self, anchor: Option<AuditAnchor>) -> Result<AuditReport, Failure> {
        match self {
            Self::Files(audit) => Ok(audit.verify(anchor.as_ref())?),
            Self::Client(client) => {
                let query = VerifyAudit { anchor };
                let report = client.call(query).await?;
                Ok(report)
            }
        }
    }
}

/// Carries out an `audit` command.
pub async fn run(
    terminal: &mut Terminal<'_>,
    format: Format,
    data_dir: &Path,
    command: AuditCommands,
) -> Result<(), Failure> {
    match connect::daemon(data_dir).await {
        Ok(client) => through(&client, terminal, format, command).await,
        Err(Failure::NothingRunning(_)) => {
            let files = Source::Files(Box::new(OfflineAudit::open(data_dir)?));
            carry_out(&files, terminal, format, command).await
        }
        Err(other) => Err(other),
    }
}

/// The same through an engine that is known already.
pub async fn through(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    command: AuditCommands,
) -> Result<(), Failure> {
    carry_out(&Source::Client(client), terminal, format, command).await
}

async fn carry_out(
    source: &Source<'_>,
    terminal: &mut Terminal<'_>,
    format: Format,
    command: AuditCommands,
) -> Result<(), Failure> {
    match command {
        AuditCommands::List {
            since,
            channel,
            action,
            actor,
            limit,
        } => {
            let since = since
                .as_deref()
                .map(|text| moment(text, &Clock::System))
                .transpose()?;
            let filter = AuditFilter {
                since,
                channel,
                action,
                actor,
                ..AuditFilter::default()
            };
            list(source, terminal, format, &filter, limit).await
        }
        AuditCommands::Verify { anchor } => {
            let report = source.verify(anchor).await?;
            match format {
                Format::Json => terminal.json(&report)?,
                Format::Human => print_report(terminal, &report)?,
            }
            if report.is_sound() {
                Ok(())
            } else {
                Err(Failure::Ended(
                    "the audit is not what it was: keep a copy, compare with a backup".to_owned(),
                ))
            }
        }
        AuditCommands::Export { file } => export(source, terminal, &file).await,
    }
}

/// `2h`, `30m`, `3d`, `45s`, `1w` before now, or an RFC 3339 time.
pub fn moment(text: &str, clock: &Clock) -> Result<Timestamp, Failure> {
    if let Some(at) = duration::time(text) {
        return Ok(at);
    }
    let back = duration::seconds(text);
    back.map(|seconds| clock.now().plus_seconds(-seconds)).ok_or_else(|| {
        Failure::Usage(format!(
            "--since {}: expected a time like 2026-01-31T12:00:00Z, or how long ago: 45s, 30m, 2h, 3d, 1w",
            limit_line(text, 64)
        ))
    })
}

async fn list(
    source: &Source<'_>,
    terminal: &mut Terminal<'_>,
    format: Format,
    filter: &AuditFilter,
    limit: Option<u32>,
) -> Result<(), Failure> {
    let request = PageRequest {
        limit,
        cursor: None,
    };
    let page = source.rows(filter, request).await?;
    table::page(terminal, format, &page)
}

impl TableRow for AuditRow {
    const HEADS: &'static [&'static str] = &[
        "SEQ", "AT", "ACTION", "WHO", "WHERE", "CHANNEL", "WHAT", "DETAIL",
    ];
    const NOTHING: &'static str = "no rows";

    fn cells(&self) -> Vec<String> {
        vec![
            self.seq.to_string(),
            self.at.to_string(),
            cell(&self.action),
            cell(&self.actor),
            self.surface.to_string(),
            self.channel.as_deref().map_or_else(|| "-".to_owned(), cell),
            cell(&self.subject),
            limit_line(&self.detail, 80),
        ]
    }
}

fn anchor_words(check: &AnchorCheck) -> String {
    let what = match check.verdict {
        AnchorVerdict::Contained => "the chain contains it",
        AnchorVerdict::Differs => "the row has another hash: the chain was rewritten",
        AnchorVerdict::BeyondEnd => "the chain ends before it: its end was cut off",
        AnchorVerdict::PutAside => "archived with the oldest part; its hash is not kept",
    };
    format!("{}:{}  {what}", check.anchor.seq, cell(&check.anchor.hash))
}

fn print_report(terminal: &mut Terminal<'_>, report: &AuditReport) -> Result<(), Failure> {
    terminal.line(&format!(
        "rows     {}, from {} to {}",
        report.rows, report.first_seq, report.head_seq
    ))?;
    match &report.broken {
        None => terminal.line("chain    whole")?,
        Some(broken) => terminal.line(&format!(
            "chain    broken at row {}: {}",
            broken.seq,
            cell(&broken.reason)
        ))?,
    }
    terminal.line(&format!(
        "anchors  {} of earlier starts, {} missing",
        report.anchors,
        report.anchors_missing.len()
    ))?;
    for missing in &report.anchors_missing {
        terminal.line(&format!("missing  {}", anchor_words(missing)))?;
    }
    if let Some(given) = &report.given {
        terminal.line(&format!("anchor   {}", anchor_words(given)))?;
    }
    terminal.line(&format!(
        "head     {}:{}",
        report.head_seq, report.head_hash
    ))
}

/// All rows, oldest first, one a line; a file is made (0600) and never replaced.
async fn export(
    source: &Source<'_>,
    terminal: &mut Terminal<'_>,
    file: &Path,
) -> Result<(), Failure> {
    let filter = AuditFilter {
        oldest_first: true,
        ..AuditFilter::default()
    };
    let mut to = if file == Path::new("-") {
        None
    } else {
        let made = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(file)
            .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
        Some(std::io::BufWriter::new(made))
    };
    let mut cursor = None;
    let mut rows = 0_u64;
    loop {
        let request = PageRequest {
            limit: Some(PAGE),
            cursor,
        };
        let page = source.rows(&filter, request).await?;
        for row in &page.items {
            match &mut to {
                None => terminal.json(row)?,
                Some(to) => {
                    let line = json_line(row)?;
                    writeln!(to, "{line}").map_err(anyhow::Error::from)?;
                }
            }
        }
        rows += page.items.len() as u64;
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    if let Some(to) = to {
        let file = to
            .into_inner()
            .map_err(|error| anyhow::Error::from(error.into_error()))?;
        file.sync_all().map_err(anyhow::Error::from)?;
        terminal.note(&format!("{rows} rows"))?;
    }
    Ok(())
}
