//! Cost and health over time, from what the database holds.
//!
//! Nothing is counted twice, and nothing that is not known becomes a zero: `kinds` says of which numbers a span
//! knows all.

mod kinds;
pub mod spans;
mod tally;

use jiff::tz::TimeZone;

use crate::clock::{Day, Timestamp};
use crate::engine::core::Engine;
use crate::engine::stats::kinds::{Kinds, by_day, kinds};
use crate::engine::stats::tally::Tallies;
use crate::protocol::enums::{StatsGrouping, StatsStep};
use crate::protocol::problem::Problem;
use crate::protocol::request::GetStats;
use crate::protocol::stats::{Stats, StatsSpan};
use crate::store::error::StoreError;
use crate::store::queries::stats::ModelCallRow;
use crate::store::reader::Reader;

/// Cost and health over time.
pub async fn stats(engine: &Engine, query: GetStats) -> Result<Stats, Problem> {
    let GetStats {
        since,
        until,
        step,
        by,
    } = query;
    let zone = TimeZone::system();
    let now = engine.clock.now();
    let until = until.map_or(now, |until| until.min(now));
    let spans = spans::spans(step, since, until, &zone)?;
    let day_budget = |group: &str| match by {
        StatsGrouping::All => engine.settings.budgets.day.max_cost_usd,
        StatsGrouping::Channel => {
            let channel = engine.settings.channels.get(group)?;
            channel.budget.max_cost_usd
        }
        StatsGrouping::Model | StatsGrouping::Tool | StatsGrouping::Person => None,
    };
    let (tallies, made, kept) = engine
        .read(move |reader| {
            let (made, kept) = reader.recorded()?;
            let tallies = count(reader, step, by, spans)?;
            Ok((tallies, made.unwrap_or(now), kept))
        })
        .await?;
    let known: Vec<Kinds> = tallies
        .spans
        .iter()
        .map(|span| kinds(step, by, *span, made, kept))
        .collect();
    let spans = tallies.spans.clone();
    let (mut groups, more_groups) = tallies.groups(by, &known);
    for group in &mut groups {
        group.day_budget_usd = day_budget(&group.name);
    }
    Ok(Stats {
        step,
        by,
        time_zone: zone_name(&zone, now),
        recorded_since: made,
        kept_since: kept,
        spans,
        groups,
        more_groups,
    })
}

/// The name of a zone, or, where it has none, how far it is from UTC now.
fn zone_name(zone: &TimeZone, now: Timestamp) -> String {
    match (zone.iana_name(), jiff::Timestamp::from_millisecond(now.0)) {
        (Some(name), _) => name.to_owned(),
        (None, Ok(at)) => at.to_zoned(zone.clone()).strftime("UTC%:z").to_string(),
        (None, Err(_)) => "UTC".to_owned(),
    }
}

/// Reads everything once.
fn count(
    reader: &Reader<'_>,
    step: StatsStep,
    by: StatsGrouping,
    spans: Vec<StatsSpan>,
) -> Result<Tallies, StoreError> {
    let (Some(first), Some(last)) = (spans.first().copied(), spans.last().copied()) else {
        return Ok(Tallies::new(spans));
    };
    let range = [first.from, last.until];
    let mut tallies = Tallies::new(spans);
    if by_day(step, by) {
        let [from, to] = range.map(Day::local);
        for row in reader.spend(from, to)? {
            let Some(at) = row.day.begins() else { continue };
            let name = match by {
                StatsGrouping::Channel => row.channel.clone(),
                StatsGrouping::Model => row.model.clone(),
                StatsGrouping::All | StatsGrouping::Tool | StatsGrouping::Person => String::new(),
            };
            tallies.day_of_models(name, at, &row);
        }
    } else if by != StatsGrouping::Tool {
        reader.model_calls(by, range, |name, call: ModelCallRow| {
            tallies.model_call(name, &call);
        })?;
    }
    reader.turn_ends(by, range, |name, at, state| tallies.turn(name, at, state))?;
    reader.questions_since(by, first.from, |name, question| {
        tallies.question(name, &question);
    })?;
    reader.tool_ends(by, range, |name, at, state, took| {
        tallies.tool(name, at, state, took);
    })?;
    reader.delivery_ends(by, range, |name, at, state| {
        tallies.delivery(name, at, state);
    })?;
    Ok(tallies)
}
