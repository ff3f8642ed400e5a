//! Brings spans and lines of the log to the collector, beside everything else. A collector that is away is tried again,
//! later and later; meanwhile the queue and the log in memory fill, and what they have no room for is counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::client::console_client::ConsoleClient;
use crate::config::telemetry::TelemetrySettings;
use crate::protocol::request::GetLog;
use crate::protocol::telemetry::{ExportOutcome, Signal};
use crate::telemetry::observer::Observer;
use crate::telemetry::parents::Parents;
use crate::telemetry::report::TelemetryReport;
use crate::telemetry::sender::{Refusal, Sender};
use crate::telemetry::spans::Spans;
use crate::telemetry::{logs, payload};
use crate::text::redact::Redactor;

/// Time between two looks at what there is to send.
const TICK: Duration = Duration::from_secs(1);
/// Spans that wait at most.
const QUEUE: usize = 2048;
/// Spans of a request.
const SPANS: usize = 512;
/// Lines of a request.
const LINES: u32 = 500;
/// Time that what is left has at the end.
const FLUSH: Duration = Duration::from_secs(5);
/// Longest wait for a collector that is away, unless it says how long.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What an exporter is made of.
pub struct Parts {
    /// The collector.
    pub settings: TelemetrySettings,
    /// Name of this instance.
    pub instance: String,
    /// Names of providers in the semantic conventions, by their names in the configuration.
    pub providers: BTreeMap<String, String>,
    /// Where events and lines of the log come from.
    pub client: Arc<dyn ConsoleClient>,
    /// Takes secrets out of names.
    pub redactor: Redactor,
    /// Who hears how it does.
    pub report: Arc<dyn TelemetryReport>,
}

/// An exporter that runs.
pub struct Exporter {
    stop: CancellationToken,
    observer: JoinHandle<()>,
    pump: JoinHandle<()>,
}

impl Exporter {
    /// Follows events from now on.
    ///
    /// # Errors
    /// In words, why nothing can be sent.
    pub async fn start(parts: Parts) -> Result<Self, String> {
        let sender = Sender::new(&parts.settings)?;
        let events = Observer::subscribe(parts.client.as_ref())
            .await
            .map_err(|problem| problem.to_string())?;
        let share = parts.settings.sample_ratio;
        let spans = Spans::new(parts.providers, share, parts.redactor);
        let (queue, waiting) = mpsc::channel(QUEUE);
        let parents = Parents::new(parts.client.clone());
        let observer = Observer::new(
            parts.client.clone(),
            parents.clone(),
            spans,
            queue,
            parts.report.clone(),
        );
        let stop = CancellationToken::new();
        let pump = Pump {
            sender,
            resource: payload::resource(&parts.settings.service_name, &parts.instance),
            share,
            waiting,
            batch: Vec::new(),
            line: 0,
            client: parts.client,
            parents,
            report: parts.report,
            failures: 0,
            not_before: None,
        };
        Ok(Self {
            observer: tokio::spawn(observer.run(events, stop.clone())),
            pump: tokio::spawn(pump.run(stop.clone())),
            stop,
        })
    }

    /// Sends what is left, for a few seconds.
    pub async fn stop(self) {
        self.stop.cancel();
        let abort = (self.observer.abort_handle(), self.pump.abort_handle());
        let ended = async { (self.observer.await, self.pump.await) };
        match tokio::time::timeout(FLUSH, ended).await {
            Ok((Ok(()), Ok(()))) => {}
            Ok(_) => tracing::warn!("the exporter of traces and logs did not end well"),
            Err(_) => {
                abort.0.abort();
                abort.1.abort();
                tracing::warn!("the collector did not take the last traces and logs in time");
            }
        }
    }
}

/// Sends what waits.
struct Pump {
    sender: Sender,
    resource: Resource,
    share: f64,
    waiting: mpsc::Receiver<Span>,
    /// Spans that are about to be sent, or could not be sent yet.
    batch: Vec<Span>,
    /// Number of the last line that was sent; 0 = none yet.
    line: u64,
    client: Arc<dyn ConsoleClient>,
    parents: Parents,
    report: Arc<dyn TelemetryReport>,
    /// Requests in a row that the collector did not take.
    failures: u32,
    not_before: Option<Instant>,
}

impl Pump {
    async fn run(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(TICK) => {}
                () = stop.cancelled() => break,
            }
            if self.not_before.is_some_and(|at| Instant::now() < at) {
                continue;
            }
            // What a stop cuts off stays in the batch and in the log.
            tokio::select! {
                _ = self.round() => {}
                () = stop.cancelled() => break,
            }
        }
        // The observer ends, and with it the queue. Each request has one more try.
        while !(self.waiting.is_closed() && self.waiting.is_empty()) {
            let more = SPANS.saturating_sub(self.batch.len());
            self.waiting.recv_many(&mut self.batch, more).await;
            if self.batch.len() >= SPANS && !self.spans().await {
                return;
            }
        }
        self.round().await;
    }

    /// Sends everything that is there; whether the collector took it.
    async fn round(&mut self) -> bool {
        loop {
            while self.batch.len() < SPANS
                && let Ok(span) = self.waiting.try_recv()
            {
                self.batch.push(span);
            }
            if self.batch.is_empty() {
                break;
            }
            if !self.spans().await {
                return false;
            }
        }
        loop {
            match self.lines().await {
                Some(true) => {}
                Some(false) => return true,
                None => return false,
            }
        }
    }

    /// Sends the batch; whether the next one may follow.
    async fn spans(&mut self) -> bool {
        let count = self.batch.len() as u64;
        let body = payload::traces(&self.resource, &self.batch);
        let answer = self.sender.send(Signal::Spans, body).await;
        let done = self.settle(Signal::Spans, count, answer);
        if done {
            self.batch.clear();
        }
        done
    }

    /// Sends lines of the log that were not sent; whether there are more. None = the collector did not take them.
    async fn lines(&mut self) -> Option<bool> {
        let query = GetLog {
            level: None,
            after: Some(self.line),
            limit: Some(LINES),
        };
        let Ok(log) = self.client.call(query).await else {
            return Some(false);
        };
        let Some((first, count)) = log.lines.first().map(|line| (line.number, log.lines.len()))
        else {
            return Some(false);
        };
        let mut records = Vec::with_capacity(count);
        for line in &log.lines {
            let parent = match logs::turn_of(line) {
                Some(turn) => self.parents.of(turn).await,
                None => None,
            };
            records.push(logs::record(line, parent, self.share));
        }
        let body = payload::logs(&self.resource, records);
        let answer = self.sender.send(Signal::Logs, body).await;
        if !self.settle(Signal::Logs, count as u64, answer) {
            return None;
        }
        // Lines have consecutive numbers. The log in memory has lost those between.
        if self.line > 0 && first > self.line + 1 {
            let lost = first - self.line - 1;
            self.report
                .count(Signal::Logs, ExportOutcome::Dropped, lost);
        }
        self.line = log.lines.last().map_or(self.line, |line| line.number);
        Some(count as u32 >= LINES)
    }

    /// Takes down what became of a request; whether its things are done with.
    fn settle(&mut self, signal: Signal, count: u64, answer: Result<u64, Refusal>) -> bool {
        let kind = signal.as_str();
        match answer {
            Ok(rejected) => {
                let rejected = rejected.min(count);
                self.report
                    .count(signal, ExportOutcome::Sent, count - rejected);
                if rejected > 0 {
                    self.report.count(signal, ExportOutcome::Dropped, rejected);
                    tracing::warn!(kind, rejected, "the collector refused a part");
                }
                if self.failures > 0 {
                    tracing::info!("the collector takes traces and logs again");
                }
                self.failures = 0;
                self.not_before = None;
                self.report.problem(None);
                true
            }
            Err(Refusal::Later { why, after }) => {
                if self.failures == 0 {
                    tracing::warn!(%why, "the collector takes no traces and logs; tried again later");
                }
                let doubled = TICK.saturating_mul(1 << self.failures.min(6));
                let wait = after.unwrap_or(doubled.min(LONGEST_WAIT));
                self.failures = self.failures.saturating_add(1);
                self.not_before = Some(Instant::now() + wait);
                self.report
                    .problem(Some(&format!("the collector takes nothing: {why}")));
                false
            }
            Err(Refusal::Never(why)) => {
                self.report.count(signal, ExportOutcome::Dropped, count);
                // Each line about it would make the next request.
                if self.failures == 0 {
                    tracing::warn!(kind, %why, "the collector refuses");
                }
                self.failures = self.failures.saturating_add(1);
                self.report.problem(Some(&format!("{kind}: {why}")));
                true
            }
        }
    }
}
