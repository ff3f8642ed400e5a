//! Counting rows into spans and groups. Only what happened has a place: an idle hour of a group takes no memory.

use std::collections::{BTreeMap, HashMap};

use crate::clock::Timestamp;
use crate::engine::stats::kinds::Kinds;
use crate::protocol::enums::{
    ApprovalState, ContinuationState, OutboxState, StatsGrouping, ToolCallState,
};
use crate::protocol::stats::{
    OTHERS, StatsApprovals, StatsDeliveries, StatsGroup, StatsModels, StatsNumbers, StatsSpan,
    StatsTools, StatsTurns,
};
use crate::store::queries::costs::SpendRow;
use crate::store::queries::stats::{ModelCallRow, QuestionRow};

/// Groups of an answer.
const MOST_GROUPS: usize = 20;
/// Points of an answer, all groups together: fewer groups where there are many spans.
const MOST_POINTS: usize = 6_000;

/// Adds the named counts of one value to those of another.
macro_rules! add_counts {
    ($all:expr, $more:expr; $($count:ident),+) => {
        $($all.$count += $more.$count;)+
    };
}

/// What is counted of a group in a span.
#[derive(Debug, Clone, Default)]
struct Tally {
    models: StatsModels,
    spent_usd: f64,
    turns: StatsTurns,
    approvals: StatsApprovals,
    waits: Vec<u64>,
    tools: StatsTools,
    runs: Vec<u64>,
    deliveries: StatsDeliveries,
}

impl Tally {
    fn add(&mut self, other: &Self, known: Kinds) {
        if known.models {
            self.add_models(&other.models, other.spent_usd);
        }
        if known.turns {
            add_counts!(self.turns, other.turns; completed, failed, stopped);
        }
        if known.approvals {
            add_counts!(self.approvals, other.approvals; asked, allowed, denied, expired);
            self.waits.extend(&other.waits);
        }
        if known.tools {
            add_counts!(self.tools, other.tools; calls, failed);
            self.runs.extend(&other.runs);
        }
        if known.deliveries {
            add_counts!(self.deliveries, other.deliveries; sent, failed, unknown);
        }
    }

    fn add_models(&mut self, more: &StatsModels, spent_usd: f64) {
        add_counts!(self.models, more; calls, failed, input_tokens, output_tokens);
        add_counts!(self.models, more; cached_input_tokens, cache_write_tokens, unpriced_tokens);
        self.spent_usd += spent_usd;
    }

    /// What it did, for an order of groups without money.
    fn deeds(&self) -> u64 {
        let turns = self.turns.completed + self.turns.failed + self.turns.stopped;
        let sent = self.deliveries.sent + self.deliveries.failed + self.deliveries.unknown;
        self.models.calls + turns + self.approvals.asked + self.tools.calls + sent
    }

    fn numbers(mut self, known: Kinds) -> StatsNumbers {
        let models = &mut self.models;
        let tokens = models.input_tokens + models.output_tokens;
        // Calls that are all unpriced cost nobody knows how much, which is not nothing.
        let unpriced = models.unpriced_tokens > 0 && models.unpriced_tokens == tokens;
        models.cost_usd = (!unpriced).then_some(self.spent_usd);
        self.approvals.median_wait_ms = median(self.waits);
        self.tools.median_ms = median(self.runs);
        StatsNumbers {
            models: known.models.then_some(self.models),
            turns: known.turns.then_some(self.turns),
            approvals: known.approvals.then_some(self.approvals),
            tools: known.tools.then_some(self.tools),
            deliveries: known.deliveries.then_some(self.deliveries),
        }
    }
}

/// The one in the middle; of two, the smaller one.
fn median(mut values: Vec<u64>) -> Option<u64> {
    let middle = values.len().checked_sub(1)? / 2;
    let (_, median, _) = values.select_nth_unstable(middle);
    Some(*median)
}

/// What is counted, by group and span.
#[derive(Debug)]
pub(super) struct Tallies {
    /// The spans, oldest first, without a gap.
    pub(super) spans: Vec<StatsSpan>,
    counted: HashMap<String, BTreeMap<usize, Tally>>,
}

impl Tallies {
    pub(super) fn new(spans: Vec<StatsSpan>) -> Self {
        Self {
            spans,
            counted: HashMap::new(),
        }
    }

    /// Where something counts; none = outside of all spans.
    fn place(&mut self, name: String, at: Timestamp) -> Option<&mut Tally> {
        let after = self.spans.partition_point(|span| span.from <= at);
        let span = after.checked_sub(1)?;
        if at >= self.spans.get(span)?.until {
            return None;
        }
        let group = self.counted.entry(name).or_default();
        Some(group.entry(span).or_default())
    }

    /// The sums of a day, which begins at `at`.
    pub(super) fn day_of_models(&mut self, name: String, at: Timestamp, row: &SpendRow) {
        let Some(tally) = self.place(name, at) else {
            return;
        };
        let models = StatsModels {
            calls: row.calls,
            failed: row.failed,
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            cached_input_tokens: row.cached_tokens,
            cache_write_tokens: row.cache_write_tokens,
            unpriced_tokens: row.unpriced_tokens,
            ..StatsModels::default()
        };
        tally.add_models(&models, row.cost_usd);
    }

    pub(super) fn model_call(&mut self, name: String, call: &ModelCallRow) {
        let Some(tally) = self.place(name, call.at) else {
            return;
        };
        let tokens = call.input_tokens + call.output_tokens;
        let models = StatsModels {
            calls: 1,
            failed: u64::from(call.failed),
            input_tokens: call.input_tokens,
            output_tokens: call.output_tokens,
            cached_input_tokens: call.cached_tokens,
            cache_write_tokens: call.cache_write_tokens,
            unpriced_tokens: call.cost_usd.map_or(tokens, |_| 0),
            ..StatsModels::default()
        };
        tally.add_models(&models, call.cost_usd.unwrap_or_default());
    }

    pub(super) fn turn(&mut self, name: String, at: Timestamp, state: ContinuationState) {
        let Some(tally) = self.place(name, at) else {
            return;
        };
        match state {
            ContinuationState::Completed => tally.turns.completed += 1,
            ContinuationState::Failed => tally.turns.failed += 1,
            ContinuationState::Cancelled | ContinuationState::Expired => tally.turns.stopped += 1,
            ContinuationState::Pending
            | ContinuationState::Running
            | ContinuationState::Streaming
            | ContinuationState::AwaitingApproval
            | ContinuationState::Interrupted => {}
        }
    }

    pub(super) fn question(&mut self, name: String, question: &QuestionRow) {
        if let Some(tally) = self.place(name.clone(), question.requested_at) {
            tally.approvals.asked += 1;
        }
        let decided = question.decided_at.unwrap_or(question.updated_at);
        let counts = match question.state {
            ApprovalState::Pending | ApprovalState::Revoked => return,
            ApprovalState::Approved | ApprovalState::Consumed => |all: &mut StatsApprovals| {
                all.allowed += 1;
            },
            ApprovalState::Denied => |all: &mut StatsApprovals| all.denied += 1,
            ApprovalState::Expired => |all: &mut StatsApprovals| all.expired += 1,
        };
        if let Some(tally) = self.place(name, decided) {
            counts(&mut tally.approvals);
            if question.decided_at.is_some() {
                tally
                    .waits
                    .push(decided.millis_since(question.requested_at));
            }
        }
    }

    pub(super) fn tool(
        &mut self,
        name: String,
        at: Timestamp,
        state: ToolCallState,
        took: Option<u64>,
    ) {
        let failed = match state {
            ToolCallState::Succeeded | ToolCallState::SucceededByNote => false,
            ToolCallState::Failed | ToolCallState::Indeterminate => true,
            // It did not run, or runs.
            ToolCallState::Proposed
            | ToolCallState::Blocked
            | ToolCallState::Denied
            | ToolCallState::Ready
            | ToolCallState::Awaiting
            | ToolCallState::Approved
            | ToolCallState::Started
            | ToolCallState::Abandoned
            | ToolCallState::Cancelled
            | ToolCallState::Expired => return,
        };
        if let Some(tally) = self.place(name, at) {
            tally.tools.calls += 1;
            tally.tools.failed += u64::from(failed);
            tally.runs.extend(took);
        }
    }

    pub(super) fn delivery(&mut self, name: String, at: Timestamp, state: OutboxState) {
        let Some(tally) = self.place(name, at) else {
            return;
        };
        match state {
            OutboxState::Sent => tally.deliveries.sent += 1,
            OutboxState::Failed => tally.deliveries.failed += 1,
            OutboxState::Unknown => tally.deliveries.unknown += 1,
            // Nobody was to read it any more, or it waits.
            OutboxState::Pending
            | OutboxState::Sending
            | OutboxState::Superseded
            | OutboxState::Abandoned => {}
        }
    }

    /// The groups, what cost or did most first, and how many the last one holds where that is `(others)`.
    pub(super) fn groups(mut self, by: StatsGrouping, known: &[Kinds]) -> (Vec<StatsGroup>, u64) {
        if by == StatsGrouping::All {
            let points = self.counted.remove("").unwrap_or_default();
            return (vec![group("all".to_owned(), points, known)], 0);
        }
        let mut named: Vec<(f64, u64, String)> = Vec::new();
        for (name, points) in &self.counted {
            let mut total = Tally::default();
            for (span, tally) in points {
                total.add(tally, known.get(*span).copied().unwrap_or_default());
            }
            let deeds = total.deeds();
            // Without a name: a model call of a continuation that is gone, or a question about no tool.
            if deeds > 0 && !name.is_empty() {
                named.push((total.spent_usd, deeds, name.clone()));
            }
        }
        named.sort_by(|one, other| {
            let money = other.0.total_cmp(&one.0);
            money
                .then(other.1.cmp(&one.1))
                .then_with(|| one.2.cmp(&other.2))
        });
        let most = (MOST_POINTS / known.len().max(1)).clamp(1, MOST_GROUPS);
        let rest = named.split_off(named.len().min(most));
        let mut groups: Vec<StatsGroup> = named
            .into_iter()
            .map(|(_, _, name)| {
                let points = self.counted.remove(&name).unwrap_or_default();
                group(name, points, known)
            })
            .collect();
        if !rest.is_empty() {
            let mut others: BTreeMap<usize, Tally> = BTreeMap::new();
            for (_, _, name) in &rest {
                for (span, tally) in self.counted.remove(name).unwrap_or_default() {
                    let known = known.get(span).copied().unwrap_or_default();
                    others.entry(span).or_default().add(&tally, known);
                }
            }
            groups.push(group(OTHERS.to_owned(), others, known));
        }
        (groups, rest.len() as u64)
    }
}

fn group(name: String, mut points: BTreeMap<usize, Tally>, known: &[Kinds]) -> StatsGroup {
    let (mut total, mut any) = (Tally::default(), Kinds::default());
    let mut of_spans = Vec::with_capacity(known.len());
    for (span, known) in known.iter().enumerate() {
        let tally = points.remove(&span).unwrap_or_default();
        total.add(&tally, *known);
        any.models |= known.models;
        any.turns |= known.turns;
        any.approvals |= known.approvals;
        any.tools |= known.tools;
        any.deliveries |= known.deliveries;
        of_spans.push(tally.numbers(*known));
    }
    StatsGroup {
        name,
        day_budget_usd: None,
        total: total.numbers(any),
        points: of_spans,
    }
}
