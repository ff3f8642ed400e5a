//! Everything that Cache & cost knows, as lines: what the overview has no room for.

use crate::console::format;
use crate::protocol::cache::{CacheCounts, CacheGroup, CacheStats};
use crate::protocol::costs::{CostItem, Costs};
use crate::protocol::enums::CacheScope;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::theme::roles::Role;
use crate::tui::view::cost_words;
use crate::tui::view::paint::Row;

/// Columns from which spending is a table.
const TABLE: usize = 76;

pub fn rows(state: &State, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    match cost_words::known_costs(state) {
        Ok(costs) => spending(state, costs, width, &mut rows),
        Err(row) => rows.push(row),
    }
    rows.push((Role::Text, String::new()));
    match cost_words::known_cache(state) {
        Ok(stats) => cache(stats, &mut rows),
        Err(row) => rows.push(row),
    }
    // A line that is too long goes on below, so that nothing is out of reach on a small screen.
    rows.into_iter()
        .flat_map(|(role, text)| {
            let lines = sanitize::block(&text, width);
            lines.into_iter().map(move |line| (role, line))
        })
        .collect()
}

fn head(text: String) -> Row {
    (Role::TextStrong, text)
}

fn spending(state: &State, costs: &Costs, width: usize, rows: &mut Vec<Row>) {
    rows.push(head(format!(
        "Spending by {}, {} to {}",
        costs.by, costs.since, costs.until
    )));
    let name = width.saturating_sub(58).clamp(12, 32);
    if width >= TABLE {
        rows.push((
            Role::TableHead,
            format!(
                "{:name$}{:>7}{:>7}{:>8}{:>8}{:>8}{:>7}{:>13}",
                costs.by.as_str(),
                "calls",
                "failed",
                "in",
                "out",
                "cached",
                "part",
                "cost"
            ),
        ));
    }
    let mut total = costs.total.clone();
    "in all".clone_into(&mut total.name);
    let items = cost_words::ordered(costs);
    for item in items.into_iter().chain([&total]) {
        rows.push((Role::Text, item_line(item, name, width >= TABLE)));
    }
    let prompt = cost_words::prompt_cache(&costs.total);
    rows.push((Role::Text, format!("prompt cache: {prompt}")));
    if costs.total.unpriced_tokens > 0 {
        let tokens = format::count(costs.total.unpriced_tokens);
        let text = format!("{tokens} tokens have no known price: that part is $?");
        rows.push((Role::NoticeWarning, text));
    }
    let text = format!(
        "savings are estimates at the prices of {}",
        costs.prices_as_of
    );
    rows.push((Role::TextMuted, text));
    rows.push((Role::Text, String::new()));
    rows.push(head("Budgets".to_owned()));
    if costs.budgets.is_empty() {
        let text = "no budget is set: [budgets.day], [budgets.session], [channels.NAME.budget]";
        rows.push((Role::TextMuted, text.to_owned()));
    }
    for budget in cost_words::budgets(costs) {
        rows.push(cost_words::budget_line(state, budget));
        if let Some(id) = &budget.session_id {
            rows.push((Role::TextMuted, format!("  {id}")));
        }
    }
    if costs.more_sessions > 0 {
        let more = costs.more_sessions;
        let text = format!("and {more} more open sessions, less used up than these");
        rows.push((Role::TextMuted, text));
    }
}

fn item_line(item: &CostItem, name: usize, table: bool) -> String {
    let cached = cost_words::percent(item.cached_input_tokens, item.input_tokens);
    let part = cached.map_or_else(|| "-".to_owned(), |part| format!("{part} %"));
    let spent = cost_words::spent(item);
    let [input, output, read] = [
        item.input_tokens,
        item.output_tokens,
        item.cached_input_tokens,
    ]
    .map(format::count);
    if table {
        format!(
            "{}{:>7}{:>7}{input:>8}{output:>8}{read:>8}{part:>7}{spent:>13}",
            sanitize::column(&item.name, name),
            item.calls,
            item.failed
        )
    } else {
        let name = sanitize::whole_line(&item.name);
        format!(
            "{name}: {spent}, {} calls, {} failed, {input} in, {output} out, {part} cached",
            item.calls, item.failed
        )
    }
}

fn cache(stats: &CacheStats, rows: &mut Vec<Row>) {
    rows.push(head("Cached responses".to_owned()));
    let on: Vec<String> = stats
        .scopes
        .iter()
        .filter(|(_, scope)| **scope != CacheScope::Off)
        .map(|(channel, scope)| format!("{channel} for each {scope}"))
        .collect();
    rows.push((
        Role::Text,
        if on.is_empty() {
            "off: no channel caches responses".to_owned()
        } else {
            format!("on: {}", on.join(", "))
        },
    ));
    if let Some(problem) = &stats.problem {
        rows.push((Role::NoticeWarning, format!("not usable: {problem}")));
    }
    rows.push((
        Role::Text,
        format!(
            "{} of at most {} answers, {} pinned, {} of {}, each for {} min",
            stats.entries,
            stats.max_entries,
            stats.pinned,
            format::bytes(stats.bytes),
            format::bytes(stats.max_bytes),
            stats.ttl_minutes
        ),
    ));
    rows.push((
        Role::Text,
        if stats.tool_channels.is_empty() {
            "results of tools: off on every channel".to_owned()
        } else {
            format!(
                "results of tools: on for {}; {} of at most {}, {} of {}",
                stats.tool_channels.join(", "),
                stats.results,
                stats.max_results,
                format::bytes(stats.result_bytes),
                format::bytes(stats.max_result_bytes)
            )
        },
    ));
    counts("today", &stats.today, rows);
    counts("in all", &stats.total, rows);
    for (title, groups) in [
        ("By channel", &stats.channels),
        ("By model", &stats.models),
        ("By day", &stats.days),
    ] {
        if groups.is_empty() {
            continue;
        }
        rows.push((Role::Text, String::new()));
        rows.push(head(format!("Cache: {}", title.to_lowercase())));
        rows.extend(groups.iter().map(group_line));
    }
}

fn group_line(group: &CacheGroup) -> Row {
    let words = cost_words::rate_words(&group.counts);
    let saved = cost_words::saved(&group.counts);
    let text = format!("{}: {words}, saved {saved}", group.name);
    (Role::Text, text)
}

fn reasons<'r>(reasons: impl Iterator<Item = (&'r str, u64)>) -> String {
    let parts: Vec<String> = reasons
        .map(|(reason, times)| format!("{} {times}", reason.replace('_', " ")))
        .collect();
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}

fn counts(title: &str, counts: &CacheCounts, rows: &mut Vec<Row>) {
    rows.push((Role::Text, String::new()));
    rows.push(head(format!(
        "Cache {title}: {}",
        cost_words::rate_words(counts)
    )));
    let misses = counts.misses.iter();
    let misses = reasons(misses.map(|(why, n)| (cost_words::miss_words(*why), *n)));
    let refused = reasons(counts.not_kept.iter().map(|(why, n)| (why.as_str(), *n)));
    let gone = reasons(counts.evictions.iter().map(|(why, n)| (why.as_str(), *n)));
    let tools = &counts.tools;
    let ran = reasons(tools.misses.iter().map(|(why, n)| (why.as_str(), *n)));
    let tools_refused = reasons(tools.not_kept.iter().map(|(why, n)| (why.as_str(), *n)));
    let unpriced = if counts.unpriced > 0 {
        format!(", {} answers without a known price", counts.unpriced)
    } else {
        String::new()
    };
    let lines = [
        format!("missed: {misses}"),
        format!("{} stored; not stored: {refused}", counts.stores),
        format!("removed: {gone}"),
        format!(
            "saved: {} input and {} output tokens, {}{unpriced}",
            format::count(counts.input_tokens_saved),
            format::count(counts.output_tokens_saved),
            cost_words::saved(counts)
        ),
        format!(
            "tool results: {} cached; ran: {ran}; {} stored; not stored: {tools_refused}",
            tools.hits, tools.stores
        ),
    ];
    rows.extend(lines.map(|line| (Role::Text, line)));
}
