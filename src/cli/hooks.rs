//! `leverframe hooks list|try|reset`.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use crate::cli::arguments::HookCommands;
use crate::cli::exit::{Failure, usage};
use crate::cli::find::submit;
use crate::cli::table;
use crate::cli::terminal::{Cli, Terminal, cell};
use crate::client::listing::TableRow;
use crate::protocol::hook::{Hook, HookTrial, HookVerdict};
use crate::protocol::request::{ListHooks, ResetHook, TryHook};
use crate::text::untrusted::limit_line;

/// Largest document that is read, in bytes.
const MAX_INPUT: u64 = 1024 * 1024;

/// Carries out one of the commands.
pub async fn run(cli: &mut Cli<'_>, command: HookCommands) -> Result<(), Failure> {
    match command {
        HookCommands::List => {
            let page = cli.client.call(ListHooks {}).await?;
            table::list(&mut cli.terminal, &page.items)
        }
        HookCommands::Try { name, point, input } => {
            let input = input
                .map(|file| document(&file, &mut cli.terminal))
                .transpose()?;
            let trial = submit(cli.client, TryHook { name, point, input }).await?;
            tried(&mut cli.terminal, &trial)
        }
        HookCommands::Reset { name } => {
            let hooks = submit(cli.client, ResetHook { name }).await?;
            table::list(&mut cli.terminal, &hooks.items)
        }
    }
}

fn document(file: &Path, terminal: &mut Terminal<'_>) -> Result<Value, Failure> {
    let mut text = String::new();
    let shown = file.display();
    let read = if file == Path::new("-") {
        (&mut *terminal.input)
            .take(MAX_INPUT)
            .read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(MAX_INPUT).read_to_string(&mut text))
    };
    read.map_err(|error| usage!("{shown} cannot be read: {error}"))?;
    serde_json::from_str(&text).map_err(|error| {
        usage!("{shown} is not a JSON document: {error}; without --input an example is used")
    })
}

impl TableRow for Hook {
    const HEADS: &'static [&'static str] = &[
        "POINT",
        "HOOK",
        "PRIORITY",
        "RUNS",
        "CHANGED",
        "CANCELLED",
        "FAILED",
        "LEFT OUT",
        "P95",
        "",
    ];
    const NOTHING: &'static str = "no hooks";

    fn cells(&self) -> Vec<String> {
        let counts = &self.counts;
        vec![
            self.point.to_string(),
            cell(&self.name),
            self.priority.to_string(),
            counts.runs.to_string(),
            counts.changes.to_string(),
            counts.cancels.to_string(),
            counts.failures.to_string(),
            (counts.skipped + counts.dropped).to_string(),
            match counts.runs {
                0 => "never ran".to_owned(),
                _ => format!("{} µs", counts.p95_us),
            },
            standing(self),
        ]
    }
}

/// What an operator should know beside the counters.
fn standing(hook: &Hook) -> String {
    let mut words = Vec::new();
    if hook.built_in {
        words.push("built in".to_owned());
    }
    if hook.dry_run {
        words.push("dry run".to_owned());
    }
    if let Some(why) = &hook.refused {
        words.push(format!("not run: {}", limit_line(why, 200)));
    }
    if let Some(until) = hook.broken_until {
        words.push(format!(
            "failed too often, not asked until {until} (`leverframe hooks reset {}`)",
            cell(&hook.name)
        ));
    }
    if let Some(error) = &hook.last_error {
        words.push(format!("last failure: {}", limit_line(error, 120)));
    }
    words.join("; ")
}

fn tried(terminal: &mut Terminal<'_>, trial: &HookTrial) -> Result<(), Failure> {
    terminal.show(trial, |terminal, _| {
        let said = match &trial.verdict {
            HookVerdict::Pass => "pass".to_owned(),
            HookVerdict::Change { field, value } => {
                format!("change {} to {}", cell(field), cell(&value.to_string()))
            }
            HookVerdict::Cancel { reason } => format!("cancel: {}", cell(reason)),
            HookVerdict::Failed { error } => format!("failed: {}", cell(error)),
        };
        terminal.line(&format!("{said}  ({} µs)", trial.duration_us))
    })?;
    match &trial.verdict {
        HookVerdict::Failed { .. } => Err(Failure::ended("the hook failed")),
        HookVerdict::Pass | HookVerdict::Change { .. } | HookVerdict::Cancel { .. } => Ok(()),
    }
}
