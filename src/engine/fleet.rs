//! The fleet board: how each channel stands, and what it did lately.

use crate::clock::Day;
use crate::engine::core::Engine;
use crate::engine::costs;
use crate::engine::views::channel;
use crate::protocol::costs::BudgetUsage;
use crate::protocol::enums::CostGrouping;
use crate::protocol::fleet::FleetChannel;
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::Page;

/// A row for each channel, by name.
pub async fn list(engine: &Engine) -> Result<Page<FleetChannel>, Problem> {
    let now = engine.clock.now();
    let (rows, oldest, mut turns) = engine
        .read(move |reader| {
            Ok((
                reader.channel_rows()?,
                reader.oldest_waiting()?,
                reader.turns_by_hour(now)?,
            ))
        })
        .await?;
    let today = Day::local(now);
    let costs = costs::costs(engine, CostGrouping::Channel, Some(today), Some(today)).await?;
    let items = rows.into_iter().map(|row| {
        let channel = channel(engine, row);
        let counts = turns.remove(&channel.name).unwrap_or_default();
        let spent = costs.items.iter().find(|item| item.name == channel.name);
        FleetChannel {
            state: channel.state_word().to_owned(),
            waiting: channel.pending_approvals,
            oldest_waiting_at: oldest.get(&channel.name).copied(),
            spent_usd: spent.map_or(Some(0.0), |item| item.cost_usd),
            budget: furthest(&costs.budgets, &channel.name),
            last_reply_at: channel.health.last_outbound_at,
            turns: counts.turns.to_vec(),
            errors: counts.errors.to_vec(),
            name: channel.name,
        }
    });
    Ok(items.collect::<Vec<_>>().into())
}

/// The budget of a channel that is used up the furthest.
fn furthest(budgets: &[BudgetUsage], channel: &str) -> Option<BudgetUsage> {
    let own = budgets
        .iter()
        .filter(|budget| budget.channel.as_deref() == Some(channel));
    own.max_by(|one, other| one.percent.total_cmp(&other.percent))
        .cloned()
}
