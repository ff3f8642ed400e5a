//! `leverframe costs`.

use crate::cli::exit::{Failure, usage};
use crate::cli::table;
use crate::cli::terminal::{Cli, Terminal, cell};
use crate::clock::{Clock, Day};
use crate::protocol::costs::{BudgetUsage, CostItem, Costs};
use crate::protocol::enums::CostGrouping;
use crate::protocol::request::GetCosts;
use crate::text::untrusted::limit_line;

/// Shows what was spent, and how far the budgets of today are used up.
pub async fn run(
    cli: &mut Cli<'_>,
    by: CostGrouping,
    since: Option<String>,
) -> Result<(), Failure> {
    let since = since
        .as_deref()
        .map(|text| first_day(text, Day::local(Clock::System.now())))
        .transpose()?;
    cli.query(
        GetCosts {
            by,
            since,
            until: None,
        },
        show,
    )
    .await
}

/// A date, or how many days up to today: `7d`, `4w`.
fn first_day(text: &str, today: Day) -> Result<Day, Failure> {
    let days = text
        .strip_suffix('d')
        .map(|count| (count, 1))
        .or_else(|| text.strip_suffix('w').map(|count| (count, 7)))
        .and_then(|(count, days)| Some(i64::from(count.parse::<u16>().ok()?) * days))
        .filter(|days| *days > 0);
    match days {
        Some(days) => Ok(Day(today.0 - days + 1)),
        None => text.parse().map_err(|_| {
            usage!(
                "--since {}: expected a day like 2026-01-31, or how many days: 7d, 4w",
                limit_line(text, 64)
            )
        }),
    }
}

fn dollars(value: Option<f64>) -> String {
    match value {
        None => "n/a".to_owned(),
        Some(value) if value != 0.0 && value.abs() < 0.1 => format!("{value:.4}"),
        Some(value) => format!("{value:.2}"),
    }
}

fn row(item: &CostItem) -> Vec<String> {
    let numbers = [
        item.calls,
        item.failed,
        item.input_tokens,
        item.output_tokens,
        item.cached_input_tokens,
        item.cache_write_tokens,
    ];
    let mut row = vec![cell(&item.name)];
    row.extend(numbers.map(|number| number.to_string()));
    row.push(dollars(item.cost_usd));
    row.push(item.unpriced_tokens.to_string());
    row.push(dollars(item.prompt_cache_saved_usd));
    row
}

fn show(terminal: &mut Terminal<'_>, costs: &Costs) -> Result<(), Failure> {
    terminal.line(&format!(
        "from {} to {}, local days",
        costs.since, costs.until
    ))?;
    let head = match costs.by {
        CostGrouping::Channel => "CHANNEL",
        CostGrouping::Model => "MODEL",
        CostGrouping::Day => "DAY",
    };
    let heads = [
        head, "CALLS", "FAILED", "IN", "OUT", "CACHED", "WRITTEN", "USD", "UNPRICED", "SAVED~",
    ];
    let mut rows: Vec<Vec<String>> = costs.items.iter().map(row).collect();
    if rows.len() > 1 {
        rows.push(row(&costs.total));
    }
    table::print(terminal, &heads, &rows, "nothing was spent")?;
    if !rows.is_empty() {
        terminal.line(&format!(
            "UNPRICED: tokens whose price is not known. SAVED~: estimate of what the providers' prompt caches saved, \
             at the prices of {}",
            cell(&costs.prices_as_of)
        ))?;
    }
    costs
        .budgets
        .iter()
        .try_for_each(|budget| terminal.line(&standing(budget)))?;
    match costs.more_sessions {
        0 => Ok(()),
        more => terminal.line(&format!(
            "and {more} more open sessions, less used up than these"
        )),
    }
}

fn standing(budget: &BudgetUsage) -> String {
    let of = match (&budget.session_id, &budget.channel) {
        (Some(id), _) => format!("budget of session {id}"),
        (None, Some(name)) => format!("budget today, channel {}", cell(name)),
        (None, None) => "budget today, all channels".to_owned(),
    };
    let money = budget.budget.ends_with("_cost");
    let amount = |value: f64| {
        if money {
            format!("${}", dollars(Some(value)))
        } else {
            format!("{value:.0} tokens")
        }
    };
    format!(
        "{of}: {} of {} ({:.0} %)",
        amount(budget.used),
        amount(budget.limit),
        budget.percent
    )
}
