//! Lists of what the daemon has: once, or again and again while it changes. Rows are printed where they changed; what
//! stands on the screen stays.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use futures_util::StreamExt as _;
use serde_json::Value;

use crate::cli::exit::Failure;
use crate::cli::table;
use crate::cli::terminal::{Cli, Format};
use crate::client::console_client::EventStream;
use crate::client::listing::TableRow;
use crate::protocol::event::EventFilter;
use crate::protocol::request::{Answer, Query, Request};
use crate::protocol::snapshot::{Page, PageRequest};

/// How long changes are gathered before the list is read again.
const GATHER: Duration = Duration::from_millis(100);

/// How a list is shown.
#[derive(Debug, Clone, Copy, Args)]
pub struct ListArguments {
    /// At most this many
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub limit: Option<u32>,
    /// Follow: print each row again when it changes, until ctrl-c
    #[arg(long, short)]
    pub watch: bool,
}

impl ListArguments {
    /// The first page of that length.
    pub fn page(self) -> PageRequest {
        PageRequest::first(self.limit)
    }
}

/// Prints what a query lists; with `watch`, each row again that is new or has changed.
pub async fn run<T, R>(cli: &mut Cli<'_>, query: R, watch: bool) -> Result<(), Failure>
where
    T: TableRow,
    R: Request<Wire = Query, Answer = Answer, Reply = Page<T>> + Clone,
{
    // From before the first look, so that no change is missed behind it.
    let mut events = if watch {
        Some(cli.client.events(EventFilter::default()).await?)
    } else {
        None
    };
    let page = cli.client.call(query.clone()).await?;
    table::page(&mut cli.terminal, &page)?;
    let Some(events) = &mut events else {
        return Ok(());
    };
    let mut widths = table::widths(&page.items);
    let mut has_heads = !page.items.is_empty();
    let mut printed = rows_of(&page.items)?;
    loop {
        cli.terminal.finish()?;
        changed(events).await?;
        let page = cli.client.call(query.clone()).await?;
        let rows = rows_of(&page.items)?;
        for item in &page.items {
            let key = key_of(item);
            if printed.get(&key) == rows.get(&key) {
                continue;
            }
            if has_heads {
                table::row(&mut cli.terminal, item, &widths)?;
            } else {
                has_heads = true;
                widths = table::widths(&page.items);
                table::list(&mut cli.terminal, std::slice::from_ref(item))?;
            }
        }
        if cli.terminal.format == Format::Human {
            for key in printed.keys().filter(|key| !rows.contains_key(*key)) {
                cli.terminal
                    .line(&format!("{key}  is no longer in this list"))?;
            }
        }
        printed = rows;
    }
}

fn key_of<T: TableRow>(item: &T) -> String {
    item.cells().into_iter().next().unwrap_or_default()
}

fn rows_of<T: TableRow>(items: &[T]) -> Result<BTreeMap<String, Value>, Failure> {
    let rows = items
        .iter()
        .map(|item| Ok((key_of(item), serde_json::to_value(item)?)));
    let rows: Result<_, serde_json::Error> = rows.collect();
    Ok(rows.map_err(anyhow::Error::from)?)
}

/// Waits for an event, and for those that come with it.
async fn changed(events: &mut EventStream) -> Result<(), Failure> {
    let ended = || Failure::ended("the daemon ended the stream of events");
    events.next().await.ok_or_else(ended)??;
    let end = tokio::time::Instant::now() + GATHER;
    while let Ok(item) = tokio::time::timeout_at(end, events.next()).await {
        item.ok_or_else(ended)??;
    }
    Ok(())
}
