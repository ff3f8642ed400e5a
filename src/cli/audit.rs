//! `leverframe audit list|verify|export|report`: through the daemon, or from the files where nothing runs.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::arguments::AuditCommands;
use crate::cli::audit_report::{MonthReport, month as month_of};
use crate::cli::connect;
use crate::cli::document;
use crate::cli::exit::{Failure, usage};
use crate::cli::table;
use crate::cli::terminal::{Cli, Format, Terminal, cell, create, json_line};
use crate::client::console_client::ConsoleClient;
use crate::client::listing::{TableRow, known};
use crate::clock::{Clock, Day, Timestamp};
use crate::protocol::costs::CostItem;
use crate::protocol::doctor::{AnchorCheck, AnchorVerdict, AuditAnchor, AuditReport, AuditRow};
use crate::protocol::duration;
use crate::protocol::enums::CostGrouping;
use crate::protocol::request::{GetCosts, ListAudit, VerifyAudit};
use crate::protocol::snapshot::{AuditFilter, Page, PageRequest};
use crate::runtime::offline::{OfflineAudit, verify_export};
use crate::text::untrusted::limit_line;

/// Rows read at once.
const PAGE: u32 = 500;
/// What a signature is for: ssh refuses it for anything else.
const NAMESPACE: &str = "leverframe-audit";

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

    async fn spend(&self, from: Day, to: Day) -> Result<[Vec<CostItem>; 2], Failure> {
        match self {
            Self::Files(audit) => Ok(audit.spend(from, to)?),
            Self::Client(client) => {
                let costs = |by| GetCosts {
                    by,
                    since: Some(from),
                    until: Some(to),
                };
                let by_model = client.call(costs(CostGrouping::Model)).await?;
                let by_channel = client.call(costs(CostGrouping::Channel)).await?;
                Ok([by_model.items, by_channel.items])
            }
        }
    }

    /// Takes each row of a filter, oldest first.
    async fn each(
        &self,
        filter: AuditFilter,
        mut take: impl FnMut(&AuditRow) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let filter = AuditFilter {
            oldest_first: true,
            ..filter
        };
        let mut cursor = None;
        loop {
            let request = PageRequest {
                limit: Some(PAGE),
                cursor,
            };
            let page = self.rows(&filter, request).await?;
            page.items.iter().try_for_each(&mut take)?;
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(());
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
    data_dir: &Path,
    command: AuditCommands,
) -> Result<(), Failure> {
    match connect::daemon(data_dir).await {
        Ok(client) => through(&mut terminal.with(&client), command).await,
        Err(Failure::NothingRunning(_)) => {
            let files = Source::Files(Box::new(OfflineAudit::open(data_dir)?));
            carry_out(&files, terminal, command).await
        }
        Err(other) => Err(other),
    }
}

/// The same through an engine that is known already.
pub async fn through(cli: &mut Cli<'_>, command: AuditCommands) -> Result<(), Failure> {
    carry_out(&Source::Client(cli.client), &mut cli.terminal, command).await
}

async fn carry_out(
    source: &Source<'_>,
    terminal: &mut Terminal<'_>,
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
            list(source, terminal, &filter, limit).await
        }
        AuditCommands::Verify { anchor, file } => {
            let report = match &file {
                None => source.verify(anchor).await?,
                Some(file) => verify_export(file, anchor.as_ref())?,
            };
            terminal.show(&report, print_report)?;
            if report.is_sound() {
                Ok(())
            } else {
                Err(Failure::ended(
                    "somebody changed the audit: keep a copy, and compare with a backup",
                ))
            }
        }
        AuditCommands::Export { file, sign: None } => {
            export(source, terminal, &file).await?;
            Ok(())
        }
        AuditCommands::Export {
            file,
            sign: Some(key),
        } => {
            if file == Path::new("-") {
                let problem =
                    "--sign: name a file in place of `-`, beside which the signature is written";
                return Err(Failure::Usage(problem.to_owned()));
            }
            export(source, terminal, &file).await?;
            let signature = sign(&file, &key)?;
            terminal.note(&format!("signed: {}", cell(&signature)))
        }
        AuditCommands::Report {
            file,
            month,
            format: written,
        } => {
            let (name, first, next) =
                month_of(month.as_deref(), &Clock::System).map_err(Failure::Usage)?;
            let chain = source.verify(None).await?;
            let spend = source.spend(first, Day(next.0 - 1)).await?;
            let mut report = MonthReport::new(&name, chain, spend);
            let filter = AuditFilter {
                since: first.begins(),
                until: next.begins(),
                ..AuditFilter::default()
            };
            let each = |row: &AuditRow| {
                report.take(row);
                Ok(())
            };
            source.each(filter, each).await?;
            let text = match terminal.format {
                Format::Json => json_line(&report)? + "\n",
                Format::Human => document::write(written, &report.title(), &report.blocks()),
            };
            match file.filter(|file| file != Path::new("-")) {
                None => text.lines().try_for_each(|line| terminal.line(line)),
                Some(file) => {
                    let mut made = create(&file)?;
                    made.write_all(text.as_bytes())
                        .and_then(|()| made.sync_all())
                        .map_err(anyhow::Error::from)?;
                    Ok(())
                }
            }
        }
    }
}

/// `2h`, `30m`, `3d`, `45s`, `1w` before now, or an RFC 3339 time.
pub fn moment(text: &str, clock: &Clock) -> Result<Timestamp, Failure> {
    if let Some(at) = duration::time(text) {
        return Ok(at);
    }
    let back = duration::seconds(text);
    back.map(|seconds| clock.now().plus_seconds(-seconds)).ok_or_else(|| {
        usage!(
            "--since {}: expected a time like 2026-01-31T12:00:00Z, or how long ago: 45s, 30m, 2h, 3d, 1w",
            limit_line(text, 64)
        )
    })
}

async fn list(
    source: &Source<'_>,
    terminal: &mut Terminal<'_>,
    filter: &AuditFilter,
    limit: Option<u32>,
) -> Result<(), Failure> {
    let request = PageRequest::first(limit);
    let page = source.rows(filter, request).await?;
    table::page(terminal, &page)
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
            known(self.channel.as_deref().map(cell)),
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
        "anchors  {} noted earlier, {} missing",
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
    let mut to = if file == Path::new("-") {
        None
    } else {
        Some(std::io::BufWriter::new(create(file)?))
    };
    let mut rows = 0_u64;
    let each = |row: &AuditRow| {
        rows += 1;
        match &mut to {
            None => terminal.json(row),
            Some(to) => {
                let line = json_line(row)?;
                Ok(writeln!(to, "{line}").map_err(anyhow::Error::from)?)
            }
        }
    };
    source.each(AuditFilter::default(), each).await?;
    if let Some(to) = to {
        let file = to
            .into_inner()
            .map_err(|error| anyhow::Error::from(error.into_error()))?;
        file.sync_all().map_err(anyhow::Error::from)?;
        terminal.note(&format!("{rows} rows"))?;
    }
    Ok(())
}

/// Signs a file with a key of ssh: the name of the signature. Whoever has the public key verifies it with `ssh-keygen`.
fn sign(file: &Path, key: &Path) -> Result<String, Failure> {
    let ended = Command::new("ssh-keygen")
        .args(["-q", "-Y", "sign", "-n", NAMESPACE, "-f"])
        .args([key, file])
        .stdout(Stdio::null())
        .status();
    let shown = file.display();
    match ended {
        Ok(status) if status.success() => Ok(format!("{shown}.sig")),
        Ok(_) => Err(Failure::Ended(format!(
            "{shown} is written and not signed: ssh-keygen refused the key {}",
            key.display()
        ))),
        Err(error) => Err(Failure::Ended(format!(
            "{shown} is written and not signed: ssh-keygen does not start ({error}); install OpenSSH's client"
        ))),
    }
}
