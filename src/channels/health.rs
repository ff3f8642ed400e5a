//! What the bridge knows of its connection, from exchanges only.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::channels::http::CallError;
use crate::channels::sync::lock;
use crate::client::channel_port::ChannelPort;
use crate::clock::{Clock, Timestamp};
use crate::protocol::channel::ChannelHealth;
use crate::protocol::enums::ChannelState;
use crate::protocol::problem::Problem;

#[derive(Debug, Default)]
struct Activity {
    exchanged: Option<Timestamp>,
    inbound: Option<Timestamp>,
    outbound: Option<Timestamp>,
    limited_until: Option<Timestamp>,
    receive_problem: Option<String>,
    send_problem: Option<String>,
    /// Optional calls that fail, with why.
    optional: BTreeMap<&'static str, String>,
    /// What works less well than it could, by what it is about.
    notes: BTreeMap<&'static str, String>,
    /// Updates that could not be taken in, and why the newest could not.
    skipped: Option<(u32, String)>,
    /// Messages of a time away that were read, and how many there are where that is known.
    missed: Option<(usize, Option<usize>)>,
    account: Option<String>,
    /// Others call us, so silence means nothing.
    listening: bool,
    /// Nothing can be received yet, whatever can be sent.
    connecting: bool,
}

/// Collects exchanges and reports them. Receiving and sending fail apart from each other: the state is
/// connected only while neither has a problem.
pub struct HealthLog {
    port: Arc<dyn ChannelPort>,
    clock: Clock,
    seen: Mutex<Activity>,
}

impl HealthLog {
    /// Nothing seen yet.
    pub fn new(port: Arc<dyn ChannelPort>, clock: Clock) -> Self {
        Self {
            port,
            clock,
            seen: Mutex::new(Activity::default()),
        }
    }

    /// The platform told us our name there.
    pub fn known_as(&self, account: String) {
        self.update(|seen, now| {
            seen.exchanged = Some(now);
            seen.account = Some(account);
        });
    }

    /// A connection over which things come is being made: until something came, a send does not make the channel well.
    pub fn connecting(&self) {
        lock(&self.seen).connecting = true;
    }

    /// Others call us: well without an exchange, as long as nothing fails. `place` is where they call.
    pub fn listening(&self, place: String) {
        self.update(|seen, _| {
            seen.listening = true;
            seen.account = Some(place);
        });
    }

    /// The platform answered or spoke, and `items` inbound items came with it: a poll, a frame, an answered heartbeat.
    pub fn received(&self, items: usize) {
        self.update(|seen, now| {
            seen.exchanged = Some(now);
            seen.connecting = false;
            seen.receive_problem = None;
            if items > 0 {
                seen.inbound = Some(now);
            }
        });
    }

    /// Receiving has a problem, in words with what to do.
    pub fn receive_failing(&self, problem: String) {
        self.update(|seen, _| seen.receive_problem = Some(problem));
    }

    /// What came cannot be stored, so it stays where it is.
    pub fn cannot_store(&self, platform: &str, problem: &Problem) {
        self.receive_failing(format!(
            "messages cannot be stored, so they stay at {platform}: {problem}"
        ));
    }

    /// A message, edit or action was accepted.
    pub fn sent(&self) {
        self.update(|seen, now| {
            seen.exchanged = Some(now);
            seen.outbound = Some(now);
            seen.send_problem = None;
        });
    }

    /// The platform answered a send with a refusal: an exchange, but no delivery.
    pub fn refused(&self) {
        self.update(|seen, now| {
            seen.exchanged = Some(now);
            seen.send_problem = None;
        });
    }

    /// A send got no (good) answer.
    pub fn send_failing(&self, problem: String) {
        self.update(|seen, _| seen.send_problem = Some(problem));
    }

    /// How a failed send ended, which is `said` in words.
    pub fn send_failed(&self, error: &CallError, said: impl FnOnce() -> String) {
        match error {
            CallError::NotSent { .. } | CallError::Lost { .. } | CallError::Server { .. } => {
                self.send_failing(said());
            }
            CallError::Limited { retry_after, .. } => {
                self.limited(*retry_after);
            }
            CallError::Refused { .. } => self.refused(),
        }
    }

    /// How an optional call ended, one without which messages still come and go.
    pub fn optional<T, E: std::fmt::Display>(&self, method: &'static str, result: &Result<T, E>) {
        self.update(|seen, _| match result {
            Ok(_) => {
                seen.optional.remove(method);
            }
            Err(error) => {
                seen.optional.insert(method, error.to_string());
            }
        });
    }

    /// Something works less well than it could, in words with what to do; none = it is over. Messages still come and go.
    pub fn note(&self, about: &'static str, problem: Option<String>) {
        self.update(|seen, _| match problem {
            Some(problem) => {
                seen.notes.insert(about, problem);
            }
            None => {
                seen.notes.remove(about);
            }
        });
    }

    /// An update could not be taken in and was passed over.
    pub fn skipped(&self, why: String) {
        self.update(|seen, _| {
            let count = seen.skipped.as_ref().map_or(0, |(count, _)| *count);
            seen.skipped = Some((count.saturating_add(1), why));
        });
    }

    /// Messages of a time away are read: how many were, and of how many where that is known. None = it is over.
    pub fn reading_missed(&self, missed: Option<(usize, Option<usize>)>) {
        self.update(|seen, now| {
            seen.exchanged = Some(now);
            seen.missed = missed;
        });
    }

    /// The platform asked us to wait.
    pub fn limited(&self, rest: Duration) -> Timestamp {
        let until = self
            .clock
            .now()
            .plus_millis(i64::try_from(rest.as_millis()).unwrap_or(i64::MAX));
        self.update(|seen, now| {
            seen.exchanged = Some(now);
            seen.limited_until = seen.limited_until.max(Some(until));
        });
        until
    }

    /// Now, from the clock this log uses.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn update(&self, change: impl FnOnce(&mut Activity, Timestamp)) {
        let now = self.clock.now();
        let (health, account) = {
            let mut seen = lock(&self.seen);
            change(&mut seen, now);
            if seen.limited_until.is_some_and(|until| until <= now) {
                seen.limited_until = None;
            }
            let failing = seen
                .receive_problem
                .clone()
                .or_else(|| seen.send_problem.clone());
            let lesser = seen
                .skipped
                .as_ref()
                .map(|(count, why)| {
                    format!(
                        "{count} updates could not be stored and were skipped (pause and resume the channel to clear \
                         this); the newest: {why}"
                    )
                })
                .or_else(|| {
                    let (about, problem) = seen.notes.first_key_value()?;
                    Some(format!("{about}: {problem}"))
                })
                .or_else(|| {
                    let (method, problem) = seen.optional.first_key_value()?;
                    Some(format!("{method} fails, messages still work: {problem}"))
                });
            let reading = seen.missed.map(|(read, all)| {
                let of = all.map_or_else(|| " so far".to_owned(), |all| format!(" of {all}"));
                format!("reading missed messages: {read}{of}")
            });
            let is_well = failing.is_none() && lesser.is_none();
            let detail = failing.or(reading).or(lesser);
            let state = match (is_well, seen.exchanged) {
                (false, _) => ChannelState::Degraded,
                (true, _) if seen.connecting => ChannelState::Starting,
                (true, Some(_)) => ChannelState::Connected,
                (true, None) if seen.listening => ChannelState::Connected,
                (true, None) => ChannelState::Starting,
            };
            (
                ChannelHealth {
                    state,
                    detail,
                    last_exchange_at: seen.exchanged,
                    last_inbound_at: seen.inbound,
                    last_outbound_at: seen.outbound,
                    reconnects: 0,
                    rate_limited_until: seen.limited_until,
                },
                seen.account.clone(),
            )
        };
        self.port.health().report(health, account);
    }
}
