//! Words and amounts of Cache & cost. An amount that is not known is `$?`, never zero.

use crate::console::format;
use crate::console::world::session_name;
use crate::protocol::cache::{CacheCounts, CacheStats};
use crate::protocol::costs::{BudgetUsage, CostItem, Costs};
use crate::protocol::enums::{CacheMissReason, CostGrouping};
use crate::tui::state::app::State;
use crate::tui::state::cache_cost::Known;
use crate::tui::theme::roles::Role;
use crate::tui::view::paint::Row;

/// Percent of a budget from which somebody should look.
const NEARLY: f64 = 80.0;

/// What stands in place of something that is not known.
pub fn unknown<T>(known: Known<&T>) -> Result<&T, Row> {
    match known {
        Some(Ok(value)) => Ok(value),
        Some(Err(why)) => Err((Role::NoticeError, format!("not known: {why}"))),
        None => Err((Role::TextMuted, "asking …".to_owned())),
    }
}

/// What is known of spending by what is chosen.
pub fn known_costs(state: &State) -> Result<&Costs, Row> {
    let costs = state
        .screens
        .cache_cost
        .costs
        .get(&state.screens.cache_cost.by);
    unknown(costs.map(|known| known.as_deref().map_err(Clone::clone)))
}

/// What is known of the cache.
pub fn known_cache(state: &State) -> Result<&CacheStats, Row> {
    let cache = state.screens.cache_cost.cache.as_ref();
    unknown(cache.map(|known| known.as_deref().map_err(Clone::clone)))
}

/// Money of an item: `$?` where nothing had a price, `$1.20 + $?` where not everything had.
pub fn spent(item: &CostItem) -> String {
    match item.cost_usd {
        Some(_) if item.unpriced_tokens > 0 => format!("{} + $?", format::money(item.cost_usd)),
        known => format::money(known),
    }
}

/// Money that an estimate says was saved, in the same way.
pub fn saved(counts: &CacheCounts) -> String {
    let given = counts.hits + counts.coalesced;
    if counts.unpriced > 0 && counts.unpriced >= given {
        return "$?".to_owned();
    }
    let more = if counts.unpriced > 0 { " + $?" } else { "" };
    format!("~{}{more}", format::money(Some(counts.cost_usd_saved)))
}

/// Percent; none = there is nothing to take it of.
pub fn percent(part: u64, of: u64) -> Option<u64> {
    part.saturating_mul(100).checked_div(of)
}

/// Percent of what was looked up that needed no model call.
pub fn rate(counts: &CacheCounts) -> Option<u64> {
    percent(counts.hits + counts.coalesced, counts.lookups)
}

/// `42 % of 120 questions answered: 40 cached, 10 shared`.
pub fn rate_words(counts: &CacheCounts) -> String {
    match rate(counts) {
        None => "nothing was looked up".to_owned(),
        Some(rate) => format!(
            "{rate} % of {} answered: {} cached, {} shared",
            counts.lookups, counts.hits, counts.coalesced
        ),
    }
}

/// `74 % of input read from the providers' prompt caches, saved ~$0.40`.
pub fn prompt_cache(total: &CostItem) -> String {
    match percent(total.cached_input_tokens, total.input_tokens) {
        None => "no input yet".to_owned(),
        Some(part) => {
            let saved = match total.prompt_cache_saved_usd {
                None => "$?".to_owned(),
                Some(usd) if usd < 0.0 => format!("-{}", format::money(Some(-usd))),
                Some(usd) => format!("~{}", format::money(Some(usd))),
            };
            format!(
                "{part} % of {} input tokens, saved {saved}",
                format::count(total.input_tokens)
            )
        }
    }
}

/// Whose budget it is: a session by what it is called.
pub fn budget_name(state: &State, budget: &BudgetUsage) -> String {
    match (&budget.session_id, &budget.channel) {
        (Some(id), _) => state.model.world().sessions.get(id).map_or_else(
            || format!("session {id}"),
            |session| {
                let name = session_name(session);
                format!("session {name}")
            },
        ),
        (None, Some(name)) => format!("{name} today"),
        (None, None) => "all today".to_owned(),
    }
}

/// `all today 63 % ok: $12.60 of $20.00 · anew in 11h`: what matters most comes first, for narrow screens.
pub fn budget_line(state: &State, budget: &BudgetUsage) -> Row {
    let text = format!(
        "{} {:.0} % {}: {} · {}",
        budget_name(state, budget),
        budget.percent,
        budget_word(budget),
        budget_amounts(budget),
        budget_reset(state, budget)
    );
    (budget_role(budget), text)
}

/// The budgets, the furthest used up first.
pub fn budgets(costs: &Costs) -> Vec<&BudgetUsage> {
    let mut budgets: Vec<&BudgetUsage> = costs.budgets.iter().collect();
    budgets.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    budgets
}

/// `$12.60 of $20.00, $0.40 of it reserved`.
pub fn budget_amounts(budget: &BudgetUsage) -> String {
    let money = budget.budget.ends_with("_cost");
    let amount = |value: f64| {
        if money {
            format::money(Some(value))
        } else {
            format!("{} tokens", format::count(value.max(0.0) as u64))
        }
    };
    let reserved = if budget.reserved > 0.0 {
        format!(", {} of it reserved", amount(budget.reserved))
    } else {
        String::new()
    };
    format!(
        "{} of {}{reserved}",
        amount(budget.used),
        amount(budget.limit)
    )
}

/// `anew in 11h`.
fn budget_reset(state: &State, budget: &BudgetUsage) -> String {
    budget.resets_at.map_or_else(
        || "for the whole session".to_owned(),
        |at| format!("anew in {}", format::left(state.model.now.wall, at)),
    )
}

/// The role of how far a budget is used up.
fn budget_role(budget: &BudgetUsage) -> Role {
    if budget.percent >= 100.0 {
        Role::NoticeError
    } else if budget.percent >= NEARLY {
        Role::NoticeWarning
    } else {
        Role::Text
    }
}

fn budget_word(budget: &BudgetUsage) -> &'static str {
    if budget.percent >= 100.0 {
        "USED UP"
    } else if budget.percent >= NEARLY {
        "nearly"
    } else {
        "ok"
    }
}

/// Why a cached response was not given, for people.
pub const fn miss_words(why: CacheMissReason) -> &'static str {
    match why {
        CacheMissReason::Off => "the channel caches none",
        CacheMissReason::Bypass => "new one wanted",
        CacheMissReason::NotFresh => "earlier turns",
        CacheMissReason::DifferentHistory => "other history",
        CacheMissReason::Tainted => "untrusted content",
        CacheMissReason::NoEntry => "not asked before",
        CacheMissReason::Expired => "too old",
        CacheMissReason::Changed => "setup changed",
        CacheMissReason::ToolsUsed => "used tools",
        CacheMissReason::Ineligible => "could not be kept",
        CacheMissReason::Disabled => "file not usable",
    }
}

/// Whether amounts are compared by money; by tokens where nothing had a price.
pub(crate) fn by_money(costs: &Costs) -> bool {
    costs.total.cost_usd.is_some_and(|usd| usd > 0.0)
}

/// What is compared; none = not known.
pub(crate) fn measure(item: &CostItem, money: bool) -> Option<f64> {
    if money {
        item.cost_usd
    } else {
        Some((item.input_tokens + item.output_tokens) as f64)
    }
}

/// The items, most first; days newest first.
pub(crate) fn ordered(costs: &Costs) -> Vec<&CostItem> {
    let money = by_money(costs);
    let mut items: Vec<&CostItem> = costs.items.iter().collect();
    match costs.by {
        CostGrouping::Day => items.reverse(),
        CostGrouping::Channel | CostGrouping::Model => items.sort_by(|a, b| {
            let of = |item| measure(item, money).unwrap_or(f64::MAX);
            of(b).total_cmp(&of(a))
        }),
    }
    items
}
