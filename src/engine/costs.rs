//! What was spent, and how far the budgets of today and of the open sessions are used up.

use std::collections::BTreeMap;

use crate::clock::Day;
use crate::engine::core::Engine;
use crate::model::prices;
use crate::protocol::budget::Limit;
use crate::protocol::costs::{BudgetUsage, CostItem, Costs};
use crate::protocol::enums::CostGrouping;
use crate::protocol::problem::Problem;
use crate::protocol::session::Usage;
use crate::store::input::BudgetKind;
use crate::store::queries::costs::SpendRow;
use crate::store::queries::usage::{OpenCall, SessionUse};

/// Days that are summed when nothing is said.
const DAYS: i64 = 30;
/// Sessions whose budgets are listed.
const SESSIONS: u32 = 20;

/// Sums what was spent.
pub async fn costs(
    engine: &Engine,
    by: CostGrouping,
    since: Option<Day>,
    until: Option<Day>,
) -> Result<Costs, Problem> {
    let today = Day::local(engine.clock.now());
    let until = until.unwrap_or(today);
    let since = since.unwrap_or(Day(until.0 - DAYS + 1));
    if since > until {
        return Err(Problem::invalid(format!(
            "`since` ({since}) is later than `until` ({until})"
        )));
    }
    let limits = limits(engine);
    let of_session = engine.settings.budgets.session;
    let (rows, used, open, added, (sessions, all_sessions)) = engine
        .read(move |reader| {
            let added = limits
                .iter()
                .map(|(channel, [tokens, cost], _)| {
                    let channel = channel.as_deref();
                    Ok([
                        reader.added_on(today.0, *tokens, channel)?,
                        reader.added_on(today.0, *cost, channel)?,
                    ])
                })
                .collect::<Result<Vec<_>, crate::store::error::StoreError>>()?;
            Ok((
                reader.spend(since, until)?,
                reader.spend(today, today)?,
                reader.open_calls(today.0)?,
                limits.into_iter().zip(added).collect::<Vec<_>>(),
                if of_session == Limit::default() {
                    (Vec::new(), 0)
                } else {
                    reader.session_uses(of_session, SESSIONS)?
                },
            ))
        })
        .await?;
    let (items, total) = sums(&rows, by, |row| saved(engine, row));
    let midnight = Day(today.0 + 1).begins();
    let of_today = added.iter().flat_map(|((channel, kinds, limit), added)| {
        standings(channel.as_deref(), *kinds, *limit, *added, &used, &open)
            .into_iter()
            .map(move |standing| BudgetUsage {
                resets_at: midnight,
                ..standing
            })
    });
    let listed = sessions.len() as u64;
    let of_sessions = sessions
        .iter()
        .flat_map(|session| session_standings(of_session, session));
    let budgets = of_today.chain(of_sessions).collect();
    Ok(Costs {
        by,
        since,
        until,
        items,
        total,
        prices_as_of: prices::as_of().to_owned(),
        budgets,
        more_sessions: all_sessions - listed,
    })
}

/// One item for each channel, model or day, and all of them together. `saved` says what the prompt cache saved on a row.
pub fn sums(
    rows: &[SpendRow],
    by: CostGrouping,
    saved: impl Fn(&SpendRow) -> Option<f64>,
) -> (Vec<CostItem>, CostItem) {
    let mut items: BTreeMap<String, CostItem> = BTreeMap::new();
    let mut total = CostItem::default();
    for row in rows {
        let name = match by {
            CostGrouping::Channel => row.channel.clone(),
            CostGrouping::Model => row.model.clone(),
            CostGrouping::Day => row.day.to_string(),
        };
        let saved = saved(row);
        add(&mut total, row, saved);
        let item = items.entry(name.clone()).or_insert_with(|| CostItem {
            name,
            ..CostItem::default()
        });
        add(item, row, saved);
    }
    "total".clone_into(&mut total.name);
    (items.into_values().collect(), total)
}

/// A limit of a day, with its kinds in tokens and money; of a channel, or of all.
type DayLimit = (Option<String>, [BudgetKind; 2], Limit);

fn limits(engine: &Engine) -> Vec<DayLimit> {
    let all = (
        None,
        [BudgetKind::DayTokens, BudgetKind::DayCost],
        engine.settings.budgets.day,
    );
    let channels = engine.settings.channels.iter().map(|(name, channel)| {
        (
            Some(name.clone()),
            [BudgetKind::ChannelTokens, BudgetKind::ChannelCost],
            channel.budget,
        )
    });
    std::iter::once(all).chain(channels).collect()
}

fn standings(
    channel: Option<&str>,
    [tokens, cost]: [BudgetKind; 2],
    limit: Limit,
    [added_tokens, added_cost]: [f64; 2],
    used: &[SpendRow],
    open: &[OpenCall],
) -> Vec<BudgetUsage> {
    let of = |name: &str| channel.is_none_or(|channel| channel == name);
    let spent = used.iter().filter(|row| of(&row.channel));
    let open = open.iter().filter(|call| of(&call.channel));
    let spent_tokens = spent
        .clone()
        .map(|row| row.input_tokens + row.output_tokens)
        .sum::<u64>() as f64;
    let spent_usd = spent.map(|row| row.cost_usd).sum::<f64>();
    let open_tokens = open.clone().map(|call| call.tokens).sum::<u64>() as f64;
    let open_usd = open.filter_map(|call| call.cost_usd).sum::<f64>();
    [
        (
            tokens,
            limit.max_tokens.map(|most| most as f64 + added_tokens),
            [spent_tokens, open_tokens],
        ),
        (
            cost,
            limit.max_cost_usd.map(|most| most + added_cost),
            [spent_usd, open_usd],
        ),
    ]
    .into_iter()
    .filter_map(|(budget, limit, [spent, reserved])| {
        Some(standing(budget, limit?, spent + reserved, reserved))
    })
    .map(|standing| BudgetUsage {
        channel: channel.map(str::to_owned),
        ..standing
    })
    .collect()
}

fn session_standings(limit: Limit, session: &SessionUse) -> Vec<BudgetUsage> {
    let tokens = limit.max_tokens.map(|most| {
        let most = most as f64 + session.added_tokens;
        let reserved = session.reserved_tokens as f64;
        standing(
            BudgetKind::SessionTokens,
            most,
            session.tokens as f64,
            reserved,
        )
    });
    let cost = limit.max_cost_usd.map(|most| {
        let most = most + session.added_usd;
        standing(
            BudgetKind::SessionCost,
            most,
            session.cost_usd,
            session.reserved_usd,
        )
    });
    [tokens, cost]
        .into_iter()
        .flatten()
        .map(|standing| BudgetUsage {
            session_id: Some(session.id),
            ..standing
        })
        .collect()
}

fn standing(budget: BudgetKind, limit: f64, used: f64, reserved: f64) -> BudgetUsage {
    BudgetUsage {
        budget: budget.as_str().to_owned(),
        channel: None,
        session_id: None,
        limit,
        used,
        reserved,
        resets_at: None,
        percent: if limit > 0.0 {
            used / limit * 100.0
        } else {
            100.0
        },
    }
}

/// What the prompt cache saved on these calls: what its tokens would have cost as plain input, less what they did
/// cost. None without a price. Priced by the thousand, because a price may end at a size that no single call had.
fn saved(engine: &Engine, row: &SpendRow) -> Option<f64> {
    let plain = Usage {
        input_tokens: 1000,
        ..Usage::default()
    };
    let read = Usage {
        cached_input_tokens: 1000,
        ..plain
    };
    let written = Usage {
        cache_write_tokens: 1000,
        ..plain
    };
    let cost = |usage| engine.models.cost(&row.model, &usage);
    let plain = cost(plain)?;
    let thousands = |tokens: u64| tokens as f64 / 1000.0;
    Some(
        (plain - cost(read)?) * thousands(row.cached_tokens)
            + (plain - cost(written)?) * thousands(row.cache_write_tokens),
    )
}

fn add(item: &mut CostItem, row: &SpendRow, saved: Option<f64>) {
    item.calls += row.calls;
    item.failed += row.failed;
    item.input_tokens += row.input_tokens;
    item.output_tokens += row.output_tokens;
    item.cached_input_tokens += row.cached_tokens;
    item.cache_write_tokens += row.cache_write_tokens;
    item.unpriced_tokens += row.unpriced_tokens;
    // A model whose calls are all unpriced spent nobody knows how much, which is not nothing.
    if row.unpriced_tokens < row.input_tokens + row.output_tokens || row.unpriced_tokens == 0 {
        item.cost_usd = Some(item.cost_usd.unwrap_or_default() + row.cost_usd);
    }
    if let Some(saved) = saved {
        item.prompt_cache_saved_usd = Some(item.prompt_cache_saved_usd.unwrap_or_default() + saved);
    }
}
