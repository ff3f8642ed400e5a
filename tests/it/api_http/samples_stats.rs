//! Samples of statistics.

use leverframe::protocol::enums::{StatsGrouping, StatsStep};
use leverframe::protocol::request::{Answer, GetStats, Query};
use leverframe::protocol::stats::{
    Stats, StatsApprovals, StatsDeliveries, StatsGroup, StatsModels, StatsNumbers, StatsSpan,
    StatsTools, StatsTurns,
};

use crate::api_http::samples::{NASTY, at};

/// Something of everything.
pub fn numbers() -> StatsNumbers {
    StatsNumbers {
        models: Some(StatsModels {
            calls: 4,
            failed: 1,
            input_tokens: 1000,
            output_tokens: 50,
            cached_input_tokens: 750,
            cache_write_tokens: 20,
            cost_usd: Some(0.125),
            unpriced_tokens: 7,
        }),
        turns: Some(StatsTurns {
            completed: 3,
            failed: 1,
            stopped: 2,
        }),
        approvals: Some(StatsApprovals {
            asked: 5,
            allowed: 2,
            denied: 1,
            expired: 1,
            median_wait_ms: Some(45_000),
        }),
        tools: Some(StatsTools {
            calls: 9,
            failed: 2,
            median_ms: Some(12),
        }),
        deliveries: Some(StatsDeliveries {
            sent: 8,
            failed: 1,
            unknown: 1,
        }),
    }
}

/// Two hours of a group with this name; nothing is known of the first.
pub fn stats(name: &str) -> Stats {
    let span = |hour: i64| StatsSpan {
        from: at().plus_seconds(hour * 3600),
        until: at().plus_seconds(hour * 3600 + 3600),
    };
    Stats {
        step: StatsStep::Hour,
        by: StatsGrouping::Channel,
        time_zone: "Europe/Berlin".to_owned(),
        recorded_since: at(),
        kept_since: Some(at().plus_seconds(3600)),
        spans: vec![span(0), span(1)],
        groups: vec![StatsGroup {
            name: name.to_owned(),
            day_budget_usd: Some(2.5),
            total: numbers(),
            points: vec![StatsNumbers::default(), numbers()],
        }],
        more_groups: 3,
    }
}

pub fn query() -> (Query, Answer) {
    (
        Query::GetStats(GetStats {
            since: Some(at()),
            until: Some(at().plus_seconds(7200)),
            step: StatsStep::Hour,
            by: StatsGrouping::Channel,
        }),
        Answer::GetStats(stats(NASTY)),
    )
}
