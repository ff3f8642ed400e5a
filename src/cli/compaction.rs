//! `leverframe memory summary|compact|compactions`.

use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::cli::list;
use crate::cli::terminal::{Cli, Format, cell};
use crate::client::listing::{TableRow, known};
use crate::protocol::ids::SessionId;
use crate::protocol::memory::Compaction;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{CompactSession, GetSessionSummary, ListCompactions};
use crate::protocol::snapshot::PageRequest;
use crate::text::untrusted::{limit_line, reveal};

/// Shows the summary of a session.
pub async fn summary(cli: &mut Cli<'_>, session_id: SessionId) -> Result<(), Failure> {
    let query = GetSessionSummary { session_id };
    let found = cli.client.call(query).await?;
    let Some(summary) = found else {
        let problem = Problem::new(
            ProblemKind::NotFound,
            "no summary",
            format!("session {session_id} has no summary: it was not compacted yet"),
        );
        let hint = format!("`leverframe memory compact {session_id}` compacts it now");
        return Err(problem.hint(hint).into());
    };
    if cli.terminal.format == Format::Json {
        return cli.terminal.json(&summary);
    }
    cli.terminal.line(&format!(
        "version {} for {} turns, by {} at {}",
        summary.version,
        summary.turns,
        cell(&summary.model),
        summary.at
    ))?;
    for taint in &summary.taint {
        cli.terminal.line(&format!("untrusted {}", cell(taint)))?;
    }
    summary
        .text
        .lines()
        .try_for_each(|line| cli.terminal.line(&reveal(line)))
}

/// Compacts a session now.
pub async fn compact(cli: &mut Cli<'_>, session_id: SessionId) -> Result<(), Failure> {
    let command = CompactSession { session_id };
    let done = submit(cli.client, command).await?;
    if cli.terminal.format == Format::Json {
        cli.terminal.json(&done)?;
    }
    if let Some(error) = &done.error {
        let problem = Problem::new(ProblemKind::Unavailable, "not compacted", error.clone());
        let hint = "nothing was lost; `leverframe memory compactions` keeps what happened";
        return Err(problem.hint(hint).into());
    }
    match cli.terminal.format {
        Format::Json => Ok(()),
        Format::Human => cli.terminal.line(&format!(
            "{}  {} turns put into the summary, {} facts, next prompt {}",
            done.id,
            done.turns,
            done.facts,
            sizes(&done)
        )),
    }
}

/// Before and after.
fn sizes(compaction: &Compaction) -> String {
    match compaction.tokens_after {
        Some(after) => format!("{} -> {after} tokens", compaction.tokens_before),
        None => format!("{} tokens", compaction.tokens_before),
    }
}

/// Lists compactions.
pub async fn list(
    cli: &mut Cli<'_>,
    session_id: Option<SessionId>,
    limit: Option<u32>,
) -> Result<(), Failure> {
    let query = ListCompactions {
        session_id,
        page: PageRequest::first(limit),
    };
    list::run(cli, query, false).await
}

impl TableRow for Compaction {
    const HEADS: &'static [&'static str] = &[
        "ID",
        "SESSION",
        "STATE",
        "TURNS",
        "FACTS",
        "NEXT PROMPT",
        "BEGAN",
        "ERROR",
    ];
    const NOTHING: &'static str = "no compactions";

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.session_id.to_string(),
            self.state.to_string(),
            self.turns.to_string(),
            self.facts.to_string(),
            sizes(self),
            self.started_at.to_string(),
            known(self.error.as_deref().map(|error| limit_line(error, 60))),
        ]
    }
}
