//! One scrape: what the store counted, and how everything stands now. Nothing here is kept between two scrapes, and
//! reading changes nothing.

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::counter::{Atomic as _, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::clock::{Day, Timestamp};
use crate::engine::core::Engine;
use crate::engine::process_facts;
use crate::engine::views::health;
use crate::protocol::budget::Limit;
use crate::protocol::enums::{ApprovalKind, ChannelState, ContinuationState};
use crate::protocol::metrics::Metrics;
use crate::protocol::problem::Problem;
use crate::store::files;
use crate::store::metrics::{Labels, PREFIX};
use crate::store::queries::metrics::MetricRows;

type Numbers<const N: usize> = Family<Labels<N>, Gauge<f64, AtomicU64>>;

/// Everything at once.
pub async fn metrics(engine: &Engine) -> Result<Metrics, Problem> {
    let today = Day::local(engine.clock.now());
    let rows = engine
        .read(move |reader| reader.metric_rows(today.0))
        .await?;
    let text = write(engine, &rows).map_err(|error| Problem::internal(error.to_string()))?;
    Ok(Metrics { text })
}

fn write(engine: &Engine, rows: &MetricRows) -> Result<String, fmt::Error> {
    let mut text = engine.store.metrics().text()?;
    let mut of_engine = Gauges(Registry::with_prefix(PREFIX));
    about(engine, &mut of_engine);
    channels(engine, rows, &mut of_engine);
    work(rows, &mut of_engine);
    budgets(&engine.settings.budgets.day, rows, &mut of_engine);
    storage(engine, rows, &mut of_engine);
    telemetry(engine, &mut of_engine);
    prometheus_text::encode(&mut text, &of_engine.0)?;
    prometheus_text::encode(&mut text, &process(engine))?;
    Ok(text)
}

/// The gauges of one scrape.
struct Gauges(Registry);

impl Gauges {
    /// One without labels. Without a value it is not written.
    fn one(&mut self, name: &str, help: &str, value: impl Into<Option<f64>>) {
        let Some(value) = value.into() else { return };
        let gauge = Gauge::<f64, AtomicU64>::default();
        gauge.set(value);
        self.0.register(name, help, gauge);
    }

    fn flag(&mut self, name: &str, help: &str, value: bool) {
        self.one(name, help, f64::from(u8::from(value)));
    }

    /// One a label set. A name without any is not written.
    fn many<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels<N>, f64)>,
    ) {
        let family = Numbers::<N>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(value);
        }
        self.0.register(name, help, family);
    }
}

fn seconds(at: Timestamp) -> f64 {
    at.as_millis() as f64 / 1000.0
}

fn about(engine: &Engine, gauges: &mut Gauges) {
    gauges.many(
        "build_info",
        "The version that runs; always 1",
        [([("version", env!("CARGO_PKG_VERSION").to_owned())], 1.0)],
    );
    gauges.flag(
        "emergency_stop_engaged",
        "Whether an emergency stop is in force",
        engine.is_held(),
    );
    gauges.flag(
        "quarantine",
        "Whether a restored database waits for its release",
        engine.emergency.is_quarantined(),
    );
    gauges.flag(
        "draining",
        "Whether the process begins nothing new because it ends",
        engine.sessions.draining().is_some(),
    );
    gauges.one(
        "certificate_expiry_timestamp_seconds",
        "When the certificate of the listener ends; absent where it has none",
        engine.listener.certificate_ends().map(seconds),
    );
    listener(engine, gauges);
    gauges.one(
        "problems",
        "Problems that prevent normal work, in the words of `leverframe doctor`",
        engine.problems().len() as f64,
    );
}

fn listener(engine: &Engine, gauges: &mut Gauges) {
    let Some((open, most)) = engine.listener.connections() else {
        return;
    };
    gauges.one(
        "listener_connections",
        "TCP connections that are open; absent where nothing listens over TCP",
        open as f64,
    );
    gauges.one(
        "listener_connections_limit",
        "TCP connections that can be open",
        most as f64,
    );
    let refusals = Family::<Labels<1>, Counter>::default();
    for (why, count) in engine.listener.refusals() {
        let labels = [("reason", why.as_str().to_owned())];
        refusals.get_or_create(&labels).inner().inc_by(count);
    }
    gauges.0.register(
        "listener_refusals",
        "Connections and requests that the TCP listener turned away, by reason",
        refusals,
    );
}

fn channels(engine: &Engine, rows: &MetricRows, gauges: &mut Gauges) {
    let known: Vec<_> = rows
        .channels
        .iter()
        .map(|row| {
            let labels = [
                ("channel", row.name.clone()),
                ("kind", row.kind.as_str().to_owned()),
            ];
            let health = health(engine, &row.name, row.kind, row.paused, row.last);
            (labels, row, health)
        })
        .collect();
    gauges.many(
        "channel_up",
        "Whether a channel talks to its platform; those without a platform are always up",
        known.iter().map(|(labels, _, health)| {
            let up = match health.state {
                ChannelState::Connected | ChannelState::Local => 1.0,
                ChannelState::Starting
                | ChannelState::Degraded
                | ChannelState::Failed
                | ChannelState::Paused => 0.0,
            };
            (labels.clone(), up)
        }),
    );
    gauges.many(
        "channel_paused",
        "Whether an operator paused a channel",
        known
            .iter()
            .map(|(labels, row, _)| (labels.clone(), f64::from(u8::from(row.paused)))),
    );
    gauges.many(
        "channel_last_exchange_timestamp_seconds",
        "When a platform last answered a channel",
        known.iter().filter_map(|(labels, _, health)| {
            Some((labels.clone(), seconds(health.last_exchange_at?)))
        }),
    );
    let reconnects = Family::<Labels<2>, Counter>::default();
    for (labels, row, health) in &known {
        if row.kind.has_bridge() {
            let times = u64::from(health.reconnects);
            reconnects.get_or_create(labels).inner().inc_by(times);
        }
    }
    gauges.0.register(
        "channel_reconnects",
        "Times a channel connected to its platform again",
        reconnects,
    );
}

fn work(rows: &MetricRows, gauges: &mut Gauges) {
    gauges.one(
        "sessions_active",
        "Sessions that are active",
        rows.active_sessions as f64,
    );
    let states = [
        ContinuationState::Pending,
        ContinuationState::Running,
        ContinuationState::AwaitingApproval,
        ContinuationState::Interrupted,
    ];
    gauges.many(
        "continuations",
        "Turns that have not ended, by state",
        states.iter().map(|state| {
            let found = rows.continuations.iter().find(|(known, _)| known == state);
            let count = found.map_or(0, |(_, count)| *count);
            ([("state", state.as_str().to_owned())], count as f64)
        }),
    );
    gauges.many(
        "approvals_pending",
        "Questions that wait for a person; resolve_unknown and resend are outcomes that nobody knows",
        ApprovalKind::ALL.iter().map(|kind| {
            let found = rows.approvals.iter().find(|row| row.kind == *kind);
            let count = found.map_or(0, |row| row.count);
            ([("kind", kind.as_str().to_owned())], count as f64)
        }),
    );
    gauges.many(
        "approvals_oldest_pending_timestamp_seconds",
        "When the oldest question that waits was asked",
        rows.approvals.iter().map(|row| {
            (
                [("kind", row.kind.as_str().to_owned())],
                seconds(row.oldest),
            )
        }),
    );
    gauges.many(
        "deliveries",
        "Parts of messages that are not sent, by channel and state",
        rows.deliveries.iter().map(|(channel, state, count)| {
            let labels = [
                ("channel", channel.clone()),
                ("state", state.as_str().to_owned()),
            ];
            (labels, *count as f64)
        }),
    );
}

fn budgets(day: &Limit, rows: &MetricRows, gauges: &mut Gauges) {
    let usage = &rows.usage_today;
    let (tokens_added, cost_added) = rows.added_today;
    gauges.one(
        "day_tokens",
        "Tokens used since local midnight, calls under way included",
        (usage.input_tokens + usage.output_tokens) as f64,
    );
    gauges.one(
        "day_tokens_limit",
        "Tokens that the day allows",
        day.max_tokens.map(|limit| limit as f64 + tokens_added),
    );
    gauges.one(
        "day_cost_usd",
        "Cost since local midnight, calls under way included; absent where a price is unknown",
        usage.cost_usd,
    );
    gauges.one(
        "day_cost_limit_usd",
        "Cost that the day allows",
        day.max_cost_usd.map(|limit| limit + cost_added),
    );
}

fn storage(engine: &Engine, rows: &MetricRows, gauges: &mut Gauges) {
    let store = &engine.store;
    gauges.flag(
        "store_writable",
        "Whether the database can be written; while it cannot, nothing is acknowledged, started or sent",
        store.problem().is_none(),
    );
    gauges.one(
        "store_queue_length",
        "Commands that wait for the writer of the database",
        store.queue_length() as f64,
    );
    gauges.one(
        "event_log_head",
        "Number of the newest event",
        store.last_seq() as f64,
    );
    gauges.one(
        "audit_head",
        "Number of the newest row of the audit",
        rows.audit_seq as f64,
    );
    let found = files::sizes(&engine.settings.paths.data_dir.join("leverframe.db"));
    gauges.one(
        "database_size_bytes",
        "Size of the database file",
        found.size.unwrap_or(0) as f64,
    );
    gauges.one(
        "database_log_size_bytes",
        "Size of its write-ahead log",
        found.log_size as f64,
    );
    gauges.one(
        "data_free_bytes",
        "Bytes that can still be written beside the database",
        found.free.map(|free| free as f64),
    );
    gauges.one(
        "backup_last_success_timestamp_seconds",
        "When the newest backup was made; absent where none is known",
        rows.last_backup.map(seconds),
    );
}

fn telemetry(engine: &Engine, gauges: &mut Gauges) {
    let items = Family::<Labels<2>, Counter>::default();
    for (signal, outcome, count) in engine.telemetry.counts() {
        let labels = [
            ("signal", signal.as_str().to_owned()),
            ("outcome", outcome.as_str().to_owned()),
        ];
        items.get_or_create(&labels).inner().inc_by(count);
    }
    gauges.0.register(
        "telemetry_items",
        "Spans and log records for the collector, by what became of them",
        items,
    );
}

/// The metrics that every process has, under the names that every dashboard knows.
fn process(engine: &Engine) -> Registry {
    let facts = process_facts::look();
    let mut gauges = Gauges(Registry::with_prefix("process"));
    gauges.one(
        "start_time_seconds",
        "When the process started",
        seconds(engine.started_at),
    );
    let cpu = Counter::<f64, AtomicU64>::default();
    cpu.inc_by(facts.cpu_seconds);
    gauges
        .0
        .register("cpu_seconds", "Processor time, user and system", cpu);
    for (name, help, value) in [
        (
            "resident_memory_bytes",
            "Memory in use",
            facts.resident_bytes,
        ),
        ("open_fds", "Descriptors that are open", facts.open_fds),
        ("max_fds", "Descriptors that may be open", facts.max_fds),
    ] {
        gauges.one(name, help, value.map(|value| value as f64));
    }
    gauges.0
}
