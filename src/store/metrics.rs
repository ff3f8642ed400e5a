//! Counters and latencies, from the events as they are committed. Nothing is counted anywhere else: what no event and no
//! commit says is not here.
//!
//! Counting wakes nobody, and no label holds text of people: a name that outsiders can choose (a tool that a model makes
//! up) counts as [`OTHER`] until it proved to be one of ours.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use crate::protocol::approval::Approval;
use crate::protocol::enums::{ApprovalState, CacheMissReason};
use crate::protocol::event::{BudgetLevel, Event, EventBody};
use crate::protocol::session::Usage;
use crate::store::command::Durability;
use crate::store::open_turns::OpenTurn;

/// What the names of all metrics begin with, beside those of the process.
pub const PREFIX: &str = "leverframe";
/// Label in place of a name that is not known.
pub const OTHER: &str = "other";
/// Names of one kind that become labels; more count as [`OTHER`].
const MOST_NAMES: usize = 200;
/// Longest such name, in bytes.
const LONGEST_NAME: usize = 128;

/// Upper bounds in seconds: of commits, of sends and tools, of model calls and turns, of people.
const COMMITS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0,
];
const CALLS: &[f64] = &[
    0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];
const TURNS: &[f64] = &[
    0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 900.0,
];
const PEOPLE: &[f64] = &[
    5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 43_200.0, 86_400.0,
];

/// Labels: name and value of each.
pub type Labels<const N: usize> = [(&'static str, String); N];
type Counts<const N: usize> = Family<Labels<N>, Counter>;
type Sums<const N: usize> = Family<Labels<N>, Counter<f64, AtomicU64>>;
type Times<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// Names that become labels.
#[derive(Default)]
struct Names(Mutex<HashSet<String>>);

impl Names {
    /// The label of a name that is one of ours. It is known from now on.
    fn learn(&self, name: &str) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@".contains(&byte);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(plain) {
            return OTHER.to_owned();
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(name) {
            if known.len() >= MOST_NAMES {
                return OTHER.to_owned();
            }
            known.insert(name.to_owned());
        }
        name.to_owned()
    }

    /// The label of a name that may be anything.
    fn known(&self, name: &str) -> String {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(name) { name } else { OTHER }.to_owned()
    }
}

/// The metrics, in the order in which they are written: type, beginning, name and help of each. Counters get the ending
/// `_total` when they are written.
macro_rules! metrics {
    ($($field:ident: $type:ty = $metric:expr, $name:literal, $help:literal;)+) => {
        /// Everything that is counted. Since the start of the process: who scrapes it sees the start as a reset.
        pub struct Metrics {
            registry: Registry,
            models: Names,
            tools: Names,
            $($field: $type,)+
        }

        impl Default for Metrics {
            fn default() -> Self {
                let mut registry = Registry::with_prefix(PREFIX);
                Self {
                    models: Names::default(),
                    tools: Names::default(),
                    $($field: add(&mut registry, $name, $help, $metric),)+
                    registry,
                }
            }
        }
    };
}

metrics! {
    messages: Counts<1> = Counts::default(), "messages_received", "Messages that were accepted";
    turns: Counts<2> = Counts::default(), "turns", "Turns that ended, or were interrupted, by how";
    turn_times: Times<1> = times(of_turns), "turn_duration_seconds",
        "From a message to its complete answer, waiting for people included";
    model_requests: Counts<2> = Counts::default(), "model_requests", "Calls of models, by outcome";
    model_times: Times<1> = times(of_turns), "model_request_duration_seconds", "Time of a call of a model";
    model_tokens: Counts<2> = Counts::default(), "model_tokens",
        "Tokens of calls of models; cached_input and cache_write are parts of input";
    model_cost: Sums<1> = Sums::default(), "model_cost_usd", "Cost of calls of models whose price is known";
    tool_calls: Counts<2> = Counts::default(), "tool_calls", "Calls of tools that are settled, by how";
    tool_times: Times<1> = times(of_calls), "tool_duration_seconds", "Time that a tool ran";
    verdicts: Counts<1> = Counts::default(), "policy_verdicts", "What the policy said of proposed calls";
    approvals_requested: Counts<1> = Counts::default(), "approvals_requested", "Questions that people were asked";
    approvals_decided: Counts<3> = Counts::default(), "approvals_decided",
        "Answers of people, and questions that expired, by surface";
    approval_times: Times<1> = times(of_people), "approval_wait_seconds", "From a question to its answer or its end";
    escalation_steps: Counts<2> = Counts::default(), "escalation_steps",
        "Steps of escalations whose end is known, by channel and outcome";
    sends: Counts<2> = Counts::default(), "sends", "Parts of messages that were sent, by outcome";
    send_times: Times<1> = times(of_calls), "send_duration_seconds",
        "Time until the platform accepted or refused a part";
    cache_lookups: Counts<1> = Counts::default(), "response_cache_lookups",
        "Look-ups in the response cache, by outcome";
    budgets: Counts<2> = Counts::default(), "budgets_reached", "Times that a budget was nearly or wholly used up";
    backups: Counts<1> = Counts::default(), "backups", "Backups that the daemon began, by outcome";
    commits: Counts<1> = Counts::default(), "store_commits", "Commits of the database, by class";
    commands: Counter = Counter::default(), "store_commands", "Commands that commits held";
    commit_failures: Counter = Counter::default(), "store_commit_failures",
        "Transactions of the database that were lost";
    commit_times: Histogram = Histogram::new(COMMITS.iter().copied()), "store_commit_duration_seconds",
        "Time of a commit, its commands included";
    streams: Gauge = Gauge::default(), "event_streams", "Streams of events that consoles and programs follow";
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// A stream of events that somebody follows; it counts while this lives.
#[derive(Debug)]
pub struct OpenStream(Gauge);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn times<const N: usize>(constructor: fn() -> Histogram) -> Times<N> {
    Family::new_with_constructor(constructor)
}

fn of_calls() -> Histogram {
    Histogram::new(CALLS.iter().copied())
}

fn of_turns() -> Histogram {
    Histogram::new(TURNS.iter().copied())
}

fn of_people() -> Histogram {
    Histogram::new(PEOPLE.iter().copied())
}

fn level_word(level: BudgetLevel) -> &'static str {
    match level {
        BudgetLevel::Warning => "warning",
        BudgetLevel::Reached => "reached",
    }
}

fn label(name: &'static str, value: &str) -> (&'static str, String) {
    (name, value.to_owned())
}

fn seconds(millis: u64) -> f64 {
    millis as f64 / 1000.0
}

fn add<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

impl Metrics {
    /// Counts an event that was committed; `ended` is the turn that it ends or interrupts.
    pub(crate) fn note(&self, event: &Event, ended: Option<&OpenTurn>) {
        if let Some(turn) = ended
            && let Some(state) = event.body.continuation_state()
        {
            let labels = [
                label("channel", &turn.channel),
                label("state", state.as_str()),
            ];
            self.turns.get_or_create(&labels).inc();
            if matches!(event.body, EventBody::ContinuationCompleted { .. }) {
                let took = seconds(event.at.millis_since(turn.since));
                let labels = [label("channel", &turn.channel)];
                self.turn_times.get_or_create(&labels).observe(took);
            }
        }
        match &event.body {
            EventBody::MessageReceived { channel, .. } => {
                self.messages
                    .get_or_create(&[label("channel", channel)])
                    .inc();
            }
            EventBody::ModelFinished {
                model,
                usage,
                latency_ms,
                error,
                ..
            } => self.model_call(model, usage, *latency_ms, error.is_some()),
            EventBody::ToolProposed { verdict, .. } => {
                let labels = [label("verdict", verdict.decision.as_str())];
                self.verdicts.get_or_create(&labels).inc();
            }
            EventBody::ToolStarted { name, .. } => drop(self.tools.learn(name)),
            EventBody::ToolFinished {
                name,
                state,
                duration_ms,
                cached,
                ..
            } => {
                let tool = if cached.is_some() {
                    self.tools.learn(name)
                } else {
                    self.tools.known(name)
                };
                if let Some(took) = duration_ms {
                    let labels = [("tool", tool.clone())];
                    self.tool_times
                        .get_or_create(&labels)
                        .observe(seconds(*took));
                }
                let labels = [("tool", tool), label("state", state.as_str())];
                self.tool_calls.get_or_create(&labels).inc();
            }
            // It is sent again after an edit.
            EventBody::ApprovalRequested { approval } if approval.requested_at == event.at => {
                let labels = [label("kind", approval.kind.as_str())];
                self.approvals_requested.get_or_create(&labels).inc();
            }
            EventBody::ApprovalEscalation { approval } => {
                let steps = approval.escalation.iter().flat_map(|one| &one.steps);
                for step in steps.filter(|step| step.settled_at == Some(event.at)) {
                    let outcome = label("outcome", step.outcome.as_str());
                    let labels = [label("channel", &approval.channel), outcome];
                    self.escalation_steps.get_or_create(&labels).inc();
                }
            }
            EventBody::ApprovalDecided { approval } => self.decision(event, approval),
            EventBody::ApprovalExpired { approval } => {
                self.answer(event, approval, "expired", "engine");
            }
            EventBody::ReplySent { channel, .. } => self.send(channel, "sent"),
            EventBody::ReplyFailed { channel, .. } => self.send(channel, "failed"),
            EventBody::ReplyUnknown { channel, .. } => self.send(channel, "unknown"),
            EventBody::CacheHit { .. } => self.cache_lookup("hit"),
            EventBody::BudgetReached { budget, level, .. } => {
                let labels = [label("budget", budget), label("level", level_word(*level))];
                self.budgets.get_or_create(&labels).inc();
            }
            _ => {}
        }
    }

    /// Counts an event that is not kept.
    pub(crate) fn note_ephemeral(&self, body: &EventBody) {
        if let EventBody::CacheMiss { reason, .. } = body
            && *reason != CacheMissReason::Off
        {
            self.cache_lookup("miss");
        }
    }

    fn model_call(&self, model: &str, usage: &Usage, latency_ms: u64, failed: bool) {
        let model = self.models.learn(model);
        let outcome = if failed { "error" } else { "ok" };
        let labels = [("model", model.clone()), label("outcome", outcome)];
        self.model_requests.get_or_create(&labels).inc();
        let of_model = [("model", model.clone())];
        let took = seconds(latency_ms);
        self.model_times.get_or_create(&of_model).observe(took);
        for (kind, tokens) in [
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cached_input", usage.cached_input_tokens),
            ("cache_write", usage.cache_write_tokens),
        ] {
            let labels = [("model", model.clone()), label("kind", kind)];
            self.model_tokens.get_or_create(&labels).inc_by(tokens);
        }
        if let Some(cost) = usage.cost_usd {
            self.model_cost.get_or_create(&of_model).inc_by(cost);
        }
    }

    fn decision(&self, event: &Event, approval: &Approval) {
        // The same event says that an approval was used, or taken back.
        if let Some(decision) = &approval.decision
            && decision.at == event.at
            && approval.state != ApprovalState::Consumed
        {
            let surface = decision.surface.as_str();
            self.answer(event, approval, decision.decision.as_str(), surface);
        }
    }

    fn answer(&self, event: &Event, approval: &Approval, decision: &str, surface: &str) {
        let kind = label("kind", approval.kind.as_str());
        if approval.state != ApprovalState::Pending {
            let waited = seconds(event.at.millis_since(approval.requested_at));
            let labels = [kind.clone()];
            self.approval_times.get_or_create(&labels).observe(waited);
        }
        let labels = [kind, label("decision", decision), label("surface", surface)];
        self.approvals_decided.get_or_create(&labels).inc();
    }

    fn send(&self, channel: &str, outcome: &str) {
        let labels = [label("channel", channel), label("outcome", outcome)];
        self.sends.get_or_create(&labels).inc();
    }

    fn cache_lookup(&self, outcome: &str) {
        let labels = [label("outcome", outcome)];
        self.cache_lookups.get_or_create(&labels).inc();
    }

    /// Counts a transaction and the commands in it.
    pub(crate) fn commit(&self, class: Durability, commands: usize, took: Duration, kept: bool) {
        if !kept {
            self.commit_failures.inc();
            return;
        }
        let class = match class {
            Durability::Relaxed => "relaxed",
            Durability::Durable => "durable",
        };
        self.commits.get_or_create(&[label("class", class)]).inc();
        self.commands.inc_by(commands as u64);
        self.commit_times.observe(took.as_secs_f64());
    }

    /// Takes down how long the platform of a channel took for a part.
    pub fn send_took(&self, channel: &str, took: Duration) {
        let labels = [label("channel", channel)];
        let times = self.send_times.get_or_create(&labels);
        times.observe(took.as_secs_f64());
    }

    /// Counts a backup.
    pub fn backup(&self, outcome: &str) {
        self.backups
            .get_or_create(&[label("outcome", outcome)])
            .inc();
    }

    /// Counts somebody who follows events.
    pub fn open_stream(&self) -> OpenStream {
        self.streams.inc();
        OpenStream(self.streams.clone())
    }

    /// All of it in Prometheus' text format, version 0.0.4.
    ///
    /// # Errors
    /// Never: writing to a string cannot fail.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
