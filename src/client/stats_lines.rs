//! Statistics as CSV and as rows of a table. What is not known is an empty cell there and `?` here. Names are revealed in
//! rows, and as they are in CSV.

use crate::protocol::enums::{StatsGrouping, StatsStep};
use crate::protocol::stats::{Stats, StatsNumbers, StatsSpan};
use crate::text::csv;
use crate::text::untrusted::limit_line;

/// Columns of the CSV before the numbers.
const PLACE: [&str; 4] = ["from", "until", "time_zone", "group"];
/// Columns of the bar of a row.
const BAR: usize = 10;

/// Heads of the rows; the first is the span, or the group.
pub const HEADS: [&str; 14] = [
    "", "USD", "", "CALLS", "IN", "OUT", "CACHED", "TURNS", "FAILED", "ASKED", "WAIT", "TOOLS",
    "ERRORS", "SENT",
];

/// The numbers by their names; none = not known.
fn numbers(of: &StatsNumbers) -> [(&'static str, Option<String>); 23] {
    let models = of.models.as_ref();
    let (turns, approvals) = (of.turns.as_ref(), of.approvals.as_ref());
    let (tools, sent) = (of.tools.as_ref(), of.deliveries.as_ref());
    let count = |known: Option<u64>| known.map(|count| count.to_string());
    [
        ("model_calls", count(models.map(|one| one.calls))),
        ("model_failed", count(models.map(|one| one.failed))),
        ("input_tokens", count(models.map(|one| one.input_tokens))),
        ("output_tokens", count(models.map(|one| one.output_tokens))),
        (
            "cached_input_tokens",
            count(models.map(|one| one.cached_input_tokens)),
        ),
        (
            "cache_write_tokens",
            count(models.map(|one| one.cache_write_tokens)),
        ),
        (
            "cache_hit_percent",
            models
                .and_then(|one| one.cache_hit_percent())
                .map(|percent| format!("{percent:.1}")),
        ),
        (
            "cost_usd",
            models
                .and_then(|one| one.cost_usd)
                .map(|usd| format!("{usd:.6}")),
        ),
        (
            "unpriced_tokens",
            count(models.map(|one| one.unpriced_tokens)),
        ),
        ("turns_completed", count(turns.map(|one| one.completed))),
        ("turns_failed", count(turns.map(|one| one.failed))),
        ("turns_stopped", count(turns.map(|one| one.stopped))),
        ("approvals_asked", count(approvals.map(|one| one.asked))),
        ("approvals_allowed", count(approvals.map(|one| one.allowed))),
        ("approvals_denied", count(approvals.map(|one| one.denied))),
        ("approvals_expired", count(approvals.map(|one| one.expired))),
        (
            "approval_median_wait_ms",
            count(approvals.and_then(|one| one.median_wait_ms)),
        ),
        ("tool_calls", count(tools.map(|one| one.calls))),
        ("tool_failed", count(tools.map(|one| one.failed))),
        ("tool_median_ms", count(tools.and_then(|one| one.median_ms))),
        ("deliveries_sent", count(sent.map(|one| one.sent))),
        ("deliveries_failed", count(sent.map(|one| one.failed))),
        ("deliveries_unknown", count(sent.map(|one| one.unknown))),
    ]
}

/// A line for each span of each group; times are in UTC.
pub fn csv(stats: &Stats) -> String {
    let names = numbers(&StatsNumbers::default());
    let mut text = csv::line(PLACE.into_iter().chain(names.iter().map(|(name, _)| *name)));
    for group in &stats.groups {
        for (span, point) in stats.spans.iter().zip(&group.points) {
            let (from, until) = (span.from.to_string(), span.until.to_string());
            let place = [from.as_str(), &until, &stats.time_zone, &group.name];
            let numbers = numbers(point);
            let cells = numbers
                .iter()
                .map(|(_, known)| known.as_deref().unwrap_or_default());
            text.push_str(&csv::line(place.into_iter().chain(cells)));
        }
    }
    text
}

/// What is said above the rows: the time, and from when on what is known.
pub fn notes(stats: &Stats) -> Vec<String> {
    let (Some(first), Some(last)) = (stats.spans.first(), stats.spans.last()) else {
        return Vec::new();
    };
    let mut notes = vec![format!(
        "{} to {}, time zone {}",
        first.from.in_zone(),
        last.until.in_zone(),
        limit_line(&stats.time_zone, 64)
    )];
    if stats.recorded_since > first.from {
        let made = stats.recorded_since.in_zone();
        notes.push(format!("nothing is recorded from before {made}"));
    }
    if let Some(kept) = stats.kept_since
        && kept > first.from
        && kept > stats.recorded_since
    {
        let kept = kept.in_zone();
        notes.push(format!(
            "? = not known: what was before {kept} is no longer kept"
        ));
    }
    notes
}

/// The rows: a span each, or, where something is grouped, a group each with all of its spans together.
pub fn rows(stats: &Stats) -> Vec<Vec<String>> {
    let labelled: Vec<(String, StatsNumbers)> = if stats.by == StatsGrouping::All {
        let points = stats.groups.iter().flat_map(|group| &group.points);
        let spans = stats.spans.iter().zip(points);
        // What is before the first record has a note, and no rows.
        spans
            .filter(|(span, _)| span.until > stats.recorded_since)
            .map(|(span, point)| (span_label(stats.step, *span), *point))
            .collect()
    } else {
        let groups = stats.groups.iter();
        groups
            .map(|group| (limit_line(&group.name, 40), group.total))
            .collect()
    };
    let most = labelled
        .iter()
        .map(|(_, of)| weight(of))
        .fold(0.0, f64::max);
    labelled
        .into_iter()
        .map(|(label, of)| row(label, &of, most))
        .collect()
}

/// What the bar of a row is long by: money, or what was done where there is none.
fn weight(of: &StatsNumbers) -> f64 {
    match (&of.models, &of.tools) {
        (Some(models), _) => models.cost_usd.unwrap_or_default(),
        (None, Some(tools)) => tools.calls as f64,
        (None, None) => 0.0,
    }
}

/// The day, or the day and the hour, at which a span begins.
pub fn span_label(step: StatsStep, span: StatsSpan) -> String {
    let at = span.from.in_zone();
    let mut words = at.split(' ').skip(1);
    let (day, time) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    match step {
        StatsStep::Hour => format!("{day} {time}"),
        StatsStep::Day | StatsStep::Week => day.to_owned(),
    }
}

fn row(label: String, of: &StatsNumbers, most: f64) -> Vec<String> {
    let unknown = || "?".to_owned();
    let count = |known: Option<u64>| known.map_or_else(unknown, |count| count.to_string());
    let (models, turns, approvals) = (of.models, of.turns, of.approvals);
    let dollars = models.map_or_else(unknown, |one| {
        one.cost_usd
            .map_or_else(|| "n/a".to_owned(), |usd| format!("{usd:.2}"))
    });
    let cached = models.map_or_else(unknown, |one| {
        let percent = one.cache_hit_percent();
        percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.0}%"))
    });
    let wait = approvals.map_or_else(unknown, |one| {
        one.median_wait_ms
            .map_or_else(|| "-".to_owned(), wait_words)
    });
    let unsent = of
        .deliveries
        .map_or_else(unknown, |one| match one.failed + one.unknown {
            0 => one.sent.to_string(),
            lost => format!("{} ({lost} lost)", one.sent),
        });
    vec![
        label,
        dollars,
        bar(weight(of), most),
        count(models.map(|one| one.calls)),
        count(models.map(|one| one.input_tokens)),
        count(models.map(|one| one.output_tokens)),
        cached,
        count(turns.map(|one| one.completed)),
        count(turns.map(|one| one.failed)),
        count(approvals.map(|one| one.asked)),
        wait,
        count(of.tools.map(|one| one.calls)),
        count(of.tools.map(|one| one.failed)),
        unsent,
    ]
}

/// A bar of signs that every terminal has. Something is never drawn as nothing.
fn bar(value: f64, most: f64) -> String {
    if value <= 0.0 || most <= 0.0 {
        return String::new();
    }
    let long = (value / most * BAR as f64).round() as usize;
    "#".repeat(long.clamp(1, BAR))
}

/// How long somebody waited: `45s`, `3m`, `2h`, `4d`.
pub fn wait_words(millis: u64) -> String {
    match millis / 1000 {
        seconds @ 0..=99 => format!("{seconds}s"),
        seconds @ 100..=5_999 => format!("{}m", seconds / 60),
        seconds @ 6_000..=172_799 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}
