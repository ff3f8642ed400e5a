//! `leverframe cache stats|list|show|pin|unpin|purge`.

use crate::cli::arguments::CacheCommands;
use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::cli::list;
use crate::cli::terminal::{Cli, Terminal, cell};
use crate::client::listing::TableRow;
use crate::protocol::cache::{CacheCounts, CacheEntry, CachePurge, CacheStats, ToolCacheCounts};
use crate::protocol::enums::{CacheMissReason, CacheScope};
use crate::protocol::request::{
    GetCache, GetCacheEntry, ListCacheEntries, PinCacheEntry, PurgeCache,
};
use crate::protocol::snapshot::PageRequest;
use crate::text::untrusted::{limit_line, reveal};

/// Carries out one of the commands.
pub async fn run(cli: &mut Cli<'_>, command: CacheCommands) -> Result<(), Failure> {
    match command {
        CacheCommands::Stats => cli.query(GetCache {}, stats).await,
        CacheCommands::List { channel, limit } => {
            let page = PageRequest::first(limit);
            list::run(cli, ListCacheEntries { channel, page }, false).await
        }
        CacheCommands::Show { id } => cli.query(GetCacheEntry { id }, show).await,
        CacheCommands::Pin { id } => pin(cli, id, true).await,
        CacheCommands::Unpin { id } => pin(cli, id, false).await,
        CacheCommands::Purge { id, channel, all } => {
            let what = match (id, channel, all) {
                (Some(id), None, false) => CachePurge::Entry(id),
                (None, Some(channel), false) => CachePurge::Channel(channel),
                (None, None, true) => CachePurge::All,
                _ => {
                    return Err(Failure::usage(
                        "name what to remove: an ID (`leverframe cache list` shows them), --channel C or --all",
                    ));
                }
            };
            purge(cli, what).await
        }
    }
}

/// Counters under their reasons: `no entry 3, expired 1`.
fn reasons<'r>(reasons: impl Iterator<Item = (&'r str, u64)>) -> String {
    let parts: Vec<String> = reasons
        .map(|(reason, times)| format!("{} {times}", reason.replace('_', " ")))
        .collect();
    parts.join(", ")
}

fn in_brackets(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(" ({text})")
    }
}

fn counts(
    terminal: &mut Terminal<'_>,
    title: &str,
    counts: &CacheCounts,
    as_of: &str,
) -> Result<(), Failure> {
    // Where nothing is kept nothing is looked up.
    let off = counts.misses.get(&CacheMissReason::Off).copied();
    let looked = || {
        let misses = counts.misses.iter();
        misses.filter(|(why, _)| **why != CacheMissReason::Off)
    };
    let missed: u64 = looked().map(|(_, n)| n).sum();
    let misses = reasons(looked().map(|(why, n)| (why.as_str(), *n)));
    let off = off.map_or_else(String::new, |n| {
        format!(" · {n} asked where the cache is off")
    });
    let served = counts.hits + counts.coalesced;
    let rate = (served * 100).checked_div(counts.lookups).unwrap_or(0);
    terminal.line(&format!(
        "{title:<11}{} looked up: {} hit, {} shared a call, {missed} missed{} · {rate} % answered{off}",
        counts.lookups,
        counts.hits,
        counts.coalesced,
        in_brackets(&misses)
    ))?;
    let refused = reasons(counts.not_kept.iter().map(|(why, n)| (why.as_str(), *n)));
    let gone = reasons(counts.evictions.iter().map(|(why, n)| (why.as_str(), *n)));
    terminal.line(&format!(
        "{:<11}{} stored, {} not stored{}, {} removed{}",
        "",
        counts.stores,
        counts.not_kept.values().sum::<u64>(),
        in_brackets(&refused),
        counts.evictions.values().sum::<u64>(),
        in_brackets(&gone)
    ))?;
    let unpriced = if counts.unpriced > 0 {
        format!(", {} answers without a known price", counts.unpriced)
    } else {
        String::new()
    };
    terminal.line(&format!(
        "{:<11}saved {} input and {} output tokens, about ${:.4} (estimate, prices of {as_of}{unpriced})",
        "", counts.input_tokens_saved, counts.output_tokens_saved, counts.cost_usd_saved
    ))?;
    let tools = &counts.tools;
    if *tools == ToolCacheCounts::default() {
        return Ok(());
    }
    let ran = reasons(tools.misses.iter().map(|(why, n)| (why.as_str(), *n)));
    let refused = reasons(tools.not_kept.iter().map(|(why, n)| (why.as_str(), *n)));
    terminal.line(&format!(
        "{:<11}tools: {} cached, {} ran{}; {} stored, {} not stored{}",
        "",
        tools.hits,
        tools.misses.values().sum::<u64>(),
        in_brackets(&ran),
        tools.stores,
        tools.not_kept.values().sum::<u64>(),
        in_brackets(&refused)
    ))
}

fn stats(terminal: &mut Terminal<'_>, stats: &CacheStats) -> Result<(), Failure> {
    let CacheStats {
        enabled,
        scopes,
        tool_channels,
        results,
        result_bytes,
        max_results,
        max_result_bytes,
        problem,
        entries,
        pinned,
        bytes,
        max_entries,
        max_bytes,
        ttl_minutes,
        prices_as_of,
        today,
        total,
        channels,
        models: _,
        days: _,
    } = stats;
    let on: Vec<String> = scopes
        .iter()
        .filter(|(_, scope)| **scope != CacheScope::Off)
        .map(|(channel, scope)| format!("{} for each {scope}", cell(channel)))
        .collect();
    terminal.line(&if *enabled {
        format!("on         {}", on.join(", "))
    } else {
        "off        no channel caches responses: set response_cache = \"user\" or \"channel\" under [channels.NAME]"
            .to_owned()
    })?;
    if let Some(problem) = problem {
        terminal.line(&format!("problem    {}", cell(problem)))?;
    }
    terminal.line(&format!(
        "stored     {entries} of {max_entries} answers ({pinned} pinned), {:.1} of {:.0} MiB, each for {ttl_minutes} min",
        *bytes as f64 / 1_048_576.0,
        *max_bytes as f64 / 1_048_576.0
    ))?;
    terminal.line(&if tool_channels.is_empty() {
        "tools      no channel keeps results of tools: set tool_cache = true under [channels.NAME]"
            .to_owned()
    } else {
        let names: Vec<String> = tool_channels.iter().map(|name| cell(name)).collect();
        format!(
            "tools      on {}: {results} of {max_results} results, {:.1} of {:.0} MiB",
            names.join(", "),
            *result_bytes as f64 / 1_048_576.0,
            *max_result_bytes as f64 / 1_048_576.0
        )
    })?;
    counts(terminal, "today", today, prices_as_of)?;
    counts(terminal, "in all", total, prices_as_of)?;
    for group in channels {
        counts(
            terminal,
            &limit_line(&group.name, 10),
            &group.counts,
            prices_as_of,
        )?;
    }
    Ok(())
}

impl TableRow for CacheEntry {
    const HEADS: &'static [&'static str] = &[
        "ID", "CHANNEL", "FOR", "MODEL", "HITS", "EXPIRES", "QUESTION",
    ];
    const NOTHING: &'static str = "no cached responses";

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.clone(),
            cell(&self.channel),
            self.scope.to_string(),
            cell(&self.model),
            self.hits.to_string(),
            self.expires_at
                .map_or_else(|| "pinned".to_owned(), |expires| expires.to_string()),
            limit_line(&self.question, 50),
        ]
    }
}

fn show(terminal: &mut Terminal<'_>, entry: &CacheEntry) -> Result<(), Failure> {
    terminal.line(&format!(
        "{}  on {} for each {}",
        entry.id,
        cell(&entry.channel),
        entry.scope
    ))?;
    terminal.line(&format!("asked by  {}", cell(&entry.requester)))?;
    terminal.line(&format!("model     {}", cell(&entry.model)))?;
    let until = entry
        .expires_at
        .map_or_else(|| "pinned".to_owned(), |expires| format!("until {expires}"));
    terminal.line(&format!("stored    since {}, {until}", entry.stored_at))?;
    terminal.line(&format!(
        "given     {} times, {} input and {} output tokens each",
        entry.hits, entry.usage.input_tokens, entry.usage.output_tokens
    ))?;
    terminal.line(&format!("question  {}", reveal(&entry.question)))?;
    terminal.line(&format!("answer    {}", reveal(&entry.answer)))
}

async fn pin(cli: &mut Cli<'_>, id: String, pinned: bool) -> Result<(), Failure> {
    cli.submit(PinCacheEntry { id, pinned }, |terminal, entry| {
        let what = match (entry.pinned, entry.expires_at) {
            (true, _) => "stays until it is unpinned or purged".to_owned(),
            (false, Some(expires)) => format!("stays until {expires}"),
            (false, None) => String::new(),
        };
        terminal.line(&format!("{}  {what}", entry.id))
    })
    .await
}

async fn purge(cli: &mut Cli<'_>, what: CachePurge) -> Result<(), Failure> {
    let command = PurgeCache { what };
    let purged = submit(cli.client, command).await?;
    cli.terminal.show_line(&purged, || {
        format!(
            "{} cached responses and {} results of tools purged, {} bytes",
            purged.entries, purged.results, purged.bytes
        )
    })
}
