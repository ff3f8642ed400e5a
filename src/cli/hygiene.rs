//! `leverframe memory hygiene [--preview | --run [--yes] | --undo RUN | --runs]`. Whoever waits for long is told how far
//! it is.

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

use crate::cli::exit::Failure;
use crate::cli::find::{self, submit};
use crate::cli::list;
use crate::cli::memory_arguments::HygieneArguments;
use crate::cli::table;
use crate::cli::terminal::{Attendance, Cli, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::client::listing::{TableRow, known};
use crate::protocol::enums::HygieneState;
use crate::protocol::hygiene::{Growth, HygieneExcess, HygieneReport, HygieneRun, HygieneStatus};
use crate::protocol::request::{
    GetHygiene, ListHygieneRuns, PreviewHygiene, RunHygiene, UndoHygiene,
};
use crate::protocol::snapshot::PageRequest;
use crate::text::bars::bars;

/// Ids that are printed for people.
const NAMED: usize = 20;
/// Days that the chart shows.
const CHART: usize = 60;

/// How often a person who waits is told how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(2);

/// Carries out what the arguments say.
pub async fn run(cli: &mut Cli<'_>, given: HygieneArguments) -> Result<(), Failure> {
    let HygieneArguments {
        preview,
        run,
        yes,
        undo,
        runs,
        limit,
    } = given;
    if let Some(text) = undo {
        let id = find::hygiene_run(cli.client, &text).await?;
        let undo = submit(cli.client, UndoHygiene { id });
        let run = waited(cli, RunPhase::Undo, undo).await?;
        return cli.terminal.show(&run, |terminal, run| {
            terminal.line(&format!("{}  {} memories restored", run.id, run.restored))?;
            terminal.note(
                "the next run archives them again unless they are used, pinned or expire later",
            )
        });
    }
    if run {
        let run = submit(cli.client, RunHygiene { yes });
        let run = waited(cli, RunPhase::Run, run).await?;
        return cli.terminal.show(&run, |terminal, run| {
            groups(terminal, &run.report)?;
            ran(terminal, run)
        });
    }
    if preview {
        let asked = async { Ok(cli.client.call(PreviewHygiene {}).await?) };
        let report = waited(cli, RunPhase::Answer, asked).await?;
        return cli.terminal.show(&report, print_preview);
    }
    if runs {
        let page = PageRequest::first(limit);
        return list::run(cli, ListHygieneRuns { page }, false).await;
    }
    cli.query(GetHygiene {}, print_status).await
}

/// What a person waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunPhase {
    Answer,
    Run,
    Undo,
}

/// Waits for it, and tells a person now and then how far it is.
async fn waited<T>(
    cli: &mut Cli<'_>,
    what: RunPhase,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let (mut work, began) = (pin!(work), Instant::now());
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(TOLD_EVERY) => {}
        }
        if cli.terminal.attended != Attendance::Person {
            continue;
        }
        let seconds = began.elapsed().as_secs();
        let so_far = match what {
            RunPhase::Answer => "looking through all memories".to_owned(),
            RunPhase::Undo => "restoring memories; it goes on if you leave".to_owned(),
            RunPhase::Run => match newest(cli.client).await? {
                Some(run) => format!(
                    "{} memories archived, {} removed so far; it goes on if you leave",
                    run.report.archived, run.report.removed
                ),
                None => "looking through all memories".to_owned(),
            },
        };
        cli.terminal.note(&format!("{seconds} s: {so_far}"))?;
    }
}

/// The run that is under way, if there is one.
async fn newest(client: &dyn ConsoleClient) -> Result<Option<HygieneRun>, Failure> {
    let page = PageRequest::first(Some(1));
    let query = ListHygieneRuns { page };
    let page = client.call(query).await?;
    let running = |run: &HygieneRun| run.state == HygieneState::Running;
    Ok(page.items.into_iter().find(running))
}

fn groups(terminal: &mut Terminal<'_>, report: &HygieneReport) -> Result<(), Failure> {
    let heads = ["SCOPE", "CHANNEL", "WHAT", "WHY", "COUNT", "BYTES"];
    table::rows(
        terminal,
        &heads,
        "nothing to archive or remove",
        &report.groups,
        |group| {
            vec![
                known(group.scope),
                cell(group.channel.as_deref().unwrap_or("-")),
                cell(&group.what),
                group.reason.to_string(),
                group.count.to_string(),
                group.bytes.to_string(),
            ]
        },
    )
}

fn excess(terminal: &mut Terminal<'_>, scopes: &[HygieneExcess]) -> Result<(), Failure> {
    scopes.iter().try_for_each(|HygieneExcess { scope, count, of }| {
        terminal.line(&format!(
            "scope {scope}: {count} of {of} memories would go at once by retention. It does not happen by itself: \
             look at the clock of this machine, then run it with --yes"
        ))
    })
}

fn print_preview(terminal: &mut Terminal<'_>, report: &HygieneReport) -> Result<(), Failure> {
    groups(terminal, report)?;
    for id in report.memories.iter().take(NAMED) {
        terminal.line(&id.to_string())?;
    }
    let all = report.archived + report.removed;
    let named = report.memories.len().min(NAMED) as u64;
    if all > named {
        terminal.line(&format!("and {} more (--json names 500)", all - named))?;
    }
    excess(terminal, &report.too_much)?;
    terminal.line(&format!(
        "{} memories would be archived, {} removed for good; nothing was changed",
        report.archived, report.removed
    ))
}

fn ran(terminal: &mut Terminal<'_>, run: &HygieneRun) -> Result<(), Failure> {
    terminal.line(&format!(
        "{}  {} memories archived, {} removed for good, {} bytes freed, in {} ms",
        run.id,
        run.report.archived,
        run.report.removed,
        run.freed_bytes,
        run.duration_ms.unwrap_or(0)
    ))?;
    if run.report.archived == 0 {
        return Ok(());
    }
    terminal.line(&format!(
        "until {} `leverframe memory hygiene --undo {}` restores them",
        run.undo_until, run.id
    ))
}

impl TableRow for HygieneRun {
    const HEADS: &'static [&'static str] = &[
        "RUN", "AT", "STATE", "BY", "ARCHIVED", "REMOVED", "BACK", "BYTES", "MS", "NOTE",
    ];
    const NOTHING: &'static str = "no run yet";

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.at.to_string(),
            self.state.to_string(),
            cell(&self.by),
            self.report.archived.to_string(),
            self.report.removed.to_string(),
            self.restored.to_string(),
            self.freed_bytes.to_string(),
            known(self.duration_ms),
            cell(self.report.note.as_deref().unwrap_or_default()),
        ]
    }
}

fn print_status(terminal: &mut Terminal<'_>, status: &HygieneStatus) -> Result<(), Failure> {
    let kept: Vec<String> = status
        .retention_days
        .iter()
        .map(|(scope, days)| match days {
            0 => format!("{scope} for ever"),
            1 => format!("{scope} 1 day"),
            days => format!("{scope} {days} days"),
        })
        .collect();
    terminal.line(&format!(
        "retention  {} after the last use",
        kept.join(", ")
    ))?;
    terminal.line(&format!(
        "at most    {} memories of a scope and channel; a run can be undone for {} days",
        status.max_memories, status.undo_days
    ))?;
    let sizes = &status.sizes;
    terminal.line(&format!(
        "stored     {} memories, {} archived, {} embeddings; database {:.1} MiB, log {:.1} MiB",
        sizes.memories,
        sizes.archived,
        sizes.vectors,
        mebibytes(sizes.database_bytes),
        mebibytes(sizes.log_bytes)
    ))?;
    match &status.last {
        None => terminal.line("last run   none yet")?,
        Some(run) => {
            terminal.line(&format!(
                "last run   {} {} by {}: {} archived, {} removed for good, {} bytes freed",
                run.at,
                run.state,
                cell(&run.by),
                run.report.archived,
                run.report.removed,
                run.freed_bytes
            ))?;
            if let Some(note) = &run.report.note {
                terminal.line(&format!("           {}", cell(note)))?;
            }
            if run.report.archived > 0 && run.state != HygieneState::Undone {
                terminal.line(&format!(
                    "           {} can be undone until {}",
                    run.id, run.undo_until
                ))?;
            }
        }
    }
    terminal.line(&match (status.running, status.next_at) {
        (true, _) => "next run   one is under way".to_owned(),
        (false, Some(at)) => format!("next run   {at}"),
        (false, None) => "next run   none: nothing was ever remembered".to_owned(),
    })?;
    if let Some(problem) = &status.problem {
        terminal.line(&format!("problem    {}", cell(problem)))?;
    }
    chart(terminal, "memories", &status.growth, |day| day.memories)?;
    chart(terminal, "database", &status.growth, |day| {
        day.database_bytes
    })
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}

/// One column a day, from nothing to the most there was.
fn chart(
    terminal: &mut Terminal<'_>,
    title: &str,
    growth: &[Growth],
    value: fn(&Growth) -> u64,
) -> Result<(), Failure> {
    let days = growth.get(growth.len().saturating_sub(CHART)..);
    let Some(days @ [first, .., last]) = days else {
        return Ok(());
    };
    let values: Vec<u64> = days.iter().map(value).collect();
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let bars = bars(&values, CHART);
    terminal.line(&format!(
        "{title:<10} {bars}  {} to {}, at most {most}",
        first.day, last.day
    ))
}
