//! What a call may cost before it is made, which limits hold for it, and what people are asked where one is used up.
//! Pure; the store evaluates in the transaction that reserves.

use crate::config::settings::Settings;
use crate::protocol::session::Usage;
use crate::store::commands::reserve_model::BudgetStop;
use crate::store::input::{BudgetKind, SharedLimits};
use crate::store::queries::turn::TurnRows;

/// The limits that hold for a call on this channel and day, beside those of its turn.
pub fn shared_limits(settings: &Settings, channel: &str, day: i64) -> SharedLimits {
    let budgets = &settings.budgets;
    SharedLimits {
        day,
        session: budgets.session,
        channel: settings
            .channels
            .get(channel)
            .map_or(budgets.channel, |channel| channel.budget),
        all: budgets.day,
    }
}

/// The most that a call is expected to use: its input as estimated and a fifth more, because an estimate by length is
/// that far off at times, and all the output it may give. All input counts as written to the prompt cache, which is
/// the dearest that input can be.
pub fn most(estimated_input_tokens: u64, max_output_tokens: u32) -> Usage {
    let input = estimated_input_tokens.saturating_add(estimated_input_tokens.div_ceil(5));
    Usage {
        input_tokens: input,
        output_tokens: u64::from(max_output_tokens),
        cache_write_tokens: input,
        ..Usage::default()
    }
}

/// A question about a used-up budget.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetQuestion {
    pub budget: BudgetKind,
    /// How much it allows.
    pub limit: f64,
    /// How much is used or reserved.
    pub used: f64,
    /// What an approval without an amount adds: enough for the call that did not fit.
    pub extra: f64,
    /// The day it is for, where it begins anew every day.
    pub day: Option<i64>,
    pub text: String,
}

/// Why the store refused a call, for people.
pub fn refusal(stop: &BudgetStop) -> String {
    let kind = stop.budget;
    let name = name(kind);
    let limit = amount(kind, stop.limit);
    let asked = amount(kind, stop.asked);
    if stop.asked > stop.limit {
        format!("{name}: one call may use {asked}, more than the whole budget of {limit}")
    } else {
        format!(
            "{name}: {} of {limit} are used or reserved, and the next call may use {asked}",
            amount(kind, stop.used)
        )
    }
}

/// What is asked where the store refused a call.
pub fn of_stop(stop: &BudgetStop) -> BudgetQuestion {
    let kind = stop.budget;
    let missing = stop.used + stop.asked - stop.limit;
    let extra = round_up(kind, stop.limit.max(missing));
    BudgetQuestion {
        budget: kind,
        limit: stop.limit,
        used: stop.used,
        extra,
        day: kind.is_of_a_day().then_some(stop.day),
        text: format!("{}. Continue with +{}?", refusal(stop), amount(kind, extra)),
    }
}

/// What is asked where a turn has used up one of its own limits.
pub fn of_turn(kind: BudgetKind, rows: &TurnRows) -> BudgetQuestion {
    let (limit, used) = match kind {
        BudgetKind::Steps => (f64::from(rows.limits.max_steps), f64::from(rows.used.steps)),
        BudgetKind::ToolCalls => (
            f64::from(rows.limits.max_tool_calls),
            f64::from(rows.used.tool_calls),
        ),
        // People are asked in seconds.
        BudgetKind::ActiveMs => (
            (rows.limits.max_active_ms / 1000) as f64,
            (rows.used.active_ms / 1000) as f64,
        ),
        BudgetKind::Tokens => (rows.limits.max_tokens as f64, rows.used.tokens as f64),
        BudgetKind::Cost => {
            let limit = rows.limits.max_cost_usd.unwrap_or_default();
            (limit, limit)
        }
        // Only the store knows how those stand, and it says so with a refusal.
        BudgetKind::SessionTokens
        | BudgetKind::SessionCost
        | BudgetKind::ChannelTokens
        | BudgetKind::ChannelCost
        | BudgetKind::DayTokens
        | BudgetKind::DayCost => (0.0, 0.0),
    };
    let extra = limit.max(1.0);
    BudgetQuestion {
        budget: kind,
        limit,
        used,
        extra,
        day: None,
        text: format!(
            "{}: {} used up. Continue with +{}?",
            name(kind),
            amount(kind, limit),
            amount(kind, extra)
        ),
    }
}

/// Whose limit of what, for people.
fn name(kind: BudgetKind) -> &'static str {
    match kind {
        BudgetKind::Steps => "max_steps of this turn",
        BudgetKind::ToolCalls => "max_tool_calls of this turn",
        BudgetKind::ActiveMs => "max_duration_seconds of this turn",
        BudgetKind::Tokens => "max_tokens of this turn",
        BudgetKind::Cost => "max_cost_usd of this turn",
        BudgetKind::SessionTokens => "max_tokens of this session",
        BudgetKind::SessionCost => "max_cost_usd of this session",
        BudgetKind::ChannelTokens => "max_tokens of this channel today",
        BudgetKind::ChannelCost => "max_cost_usd of this channel today",
        BudgetKind::DayTokens => "max_tokens of all channels today",
        BudgetKind::DayCost => "max_cost_usd of all channels today",
    }
}

/// An amount with its unit.
fn amount(kind: BudgetKind, value: f64) -> String {
    match kind {
        BudgetKind::Steps => format!("{value} model calls"),
        BudgetKind::ToolCalls => format!("{value} tool calls"),
        BudgetKind::ActiveMs => format!("{value} s"),
        BudgetKind::Tokens
        | BudgetKind::SessionTokens
        | BudgetKind::ChannelTokens
        | BudgetKind::DayTokens => format!("{value} tokens"),
        BudgetKind::Cost
        | BudgetKind::SessionCost
        | BudgetKind::ChannelCost
        | BudgetKind::DayCost => dollars(value),
    }
}

/// Cents, and more digits where a cent would hide the amount.
fn dollars(value: f64) -> String {
    if value == 0.0 || value >= 0.1 {
        format!("${value:.2}")
    } else {
        format!("${value:.4}")
    }
}

/// Up to a number that people can read: what is offered must be enough.
fn round_up(kind: BudgetKind, value: f64) -> f64 {
    if kind.is_money() {
        (value * 10_000.0).ceil() / 10_000.0
    } else {
        value.ceil()
    }
}
