//! Hooks: what is called around turns, in which order, and what follows from what it says.
//!
//! The registry holds one entry for each hook at each of its points, in the order they are called in. Modifying
//! points are asked one after the other and fail closed: what could not be checked does not happen. Nothing here
//! stores or publishes anything; the callers do, in the transaction of what they store anyway.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::clock::{Clock, Timestamp};
use crate::config::settings::{HookSettings, RateLimits, Secret};
use crate::engine::hooks::breaker::Breaker;
use crate::engine::hooks::document::About;
use crate::engine::hooks::limiter::{Limiter, Over};
use crate::engine::hooks::stats::HookStats;
use crate::engine::lock::lock;
use crate::protocol::approval::Requester;
use crate::protocol::enums::HookPoint;
use crate::protocol::hook::{Hook, HookNote, HookVerdict};
use crate::text::redact::Redactor;

mod ask;
pub mod breaker;
pub mod document;
pub mod dry_run;
pub mod exec_permissions;
pub mod limiter;
pub mod observe;
pub mod process;
pub mod stats;
pub mod turn;

/// Most bytes of a value that a note, an event or the audit shows whole.
const MAX_SHOWN: usize = 8 * 1024;
/// Secrets are taken out before anybody else sees anything.
const REDACTION_PRIORITY: i32 = -10_000;
/// What is too much costs no other hook's time.
const RATE_LIMIT_PRIORITY: i32 = -9_000;
/// What was done is written down when it is done.
const AUDIT_PRIORITY: i32 = 10_000;

/// What a hook is.
#[derive(Debug)]
enum Kind {
    Redaction,
    RateLimit,
    Audit,
    Command {
        command: Vec<String>,
        environment: Vec<(String, Secret)>,
    },
}

/// One hook, at all its points.
#[derive(Debug)]
struct Named {
    name: String,
    kind: Kind,
    priority: i32,
    timeout: Duration,
    channels: Vec<String>,
    tools: Vec<String>,
    dry_run: bool,
    breaker: Mutex<Breaker>,
}

/// One hook at one point.
#[derive(Debug)]
struct Entry {
    hook: Arc<Named>,
    point: HookPoint,
    stats: Mutex<HookStats>,
}

#[derive(Debug)]
pub struct Hooks {
    entries: Vec<Arc<Entry>>,
    limits: RateLimits,
    limiter: Mutex<Limiter>,
    workspaces: Vec<PathBuf>,
    clock: Clock,
    redactor: Redactor,
}

/// Why something does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Which hook stops it.
    pub hook: String,
    /// It said so; else it could not be asked or gave no verdict.
    pub said: bool,
    /// Why: outside text, redacted.
    pub reason: String,
}

/// What all hooks at a point came to.
#[derive(Debug)]
pub struct PointOutcome {
    /// The value to go on with.
    pub value: Value,
    /// What was changed, cancelled or failed, in order.
    pub notes: Vec<HookNote>,
    /// Set when it does not happen.
    pub stop: Option<Stop>,
    /// What the audit hook wants written down: indexes of `notes`.
    pub audited: Vec<usize>,
}

/// Frees the one trial of a breaker when a call is given up before its end.
struct TrialGuard<'a> {
    breaker: &'a Mutex<Breaker>,
    ended: bool,
}

impl Drop for TrialGuard<'_> {
    fn drop(&mut self) {
        if !self.ended {
            lock(self.breaker).given_up();
        }
    }
}

impl Named {
    fn built_in(name: &str, kind: Kind, priority: i32) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            priority,
            timeout: Duration::ZERO,
            channels: Vec::new(),
            tools: Vec::new(),
            dry_run: false,
            breaker: Mutex::default(),
        }
    }

    fn concerns(&self, channel: Option<&str>, tool: Option<&str>) -> bool {
        let has = |list: &[String], word: Option<&str>| {
            list.is_empty() || word.is_some_and(|word| list.iter().any(|item| item == word))
        };
        has(&self.channels, channel) && has(&self.tools, tool)
    }

    fn is_command(&self) -> bool {
        matches!(self.kind, Kind::Command { .. })
    }
}

/// Whether hooks at this point are asked, and not only told.
pub const fn modifies(point: HookPoint) -> bool {
    document::field(point).is_some()
}

/// A value as it is shown: a long one is cut.
fn shown(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() <= MAX_SHOWN {
        return value.clone();
    }
    let mut end = MAX_SHOWN;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Value::String(format!("{}…", text.get(..end).unwrap_or_default()))
}

impl Hooks {
    /// The built-in hooks and those of the settings. `workspaces` are where tools write.
    pub fn new(
        settings: &HookSettings,
        workspaces: Vec<PathBuf>,
        clock: Clock,
        redactor: Redactor,
    ) -> Self {
        let before = [HookPoint::BeforeLlmCall, HookPoint::BeforeToolCall];
        let redaction = Named::built_in("redaction", Kind::Redaction, REDACTION_PRIORITY);
        let rate_limit = Named::built_in("rate_limit", Kind::RateLimit, RATE_LIMIT_PRIORITY);
        let audit = Named::built_in("audit", Kind::Audit, AUDIT_PRIORITY);
        let mut all: Vec<(Arc<Named>, Vec<HookPoint>)> = vec![
            (
                Arc::new(redaction),
                vec![before[0], before[1], HookPoint::AfterToolCall],
            ),
            (
                Arc::new(rate_limit),
                vec![before[1], HookPoint::MessageReceived],
            ),
            (Arc::new(audit), before.to_vec()),
        ];
        for (name, hook) in &settings.commands {
            let named = Named {
                name: name.clone(),
                kind: Kind::Command {
                    command: hook.command.clone(),
                    environment: hook.environment.clone(),
                },
                priority: hook.priority,
                timeout: Duration::from_millis(hook.timeout_ms),
                channels: hook.channels.clone(),
                tools: hook.tools.clone(),
                dry_run: hook.dry_run,
                breaker: Mutex::default(),
            };
            all.push((Arc::new(named), hook.points.clone()));
        }
        let mut entries: Vec<Arc<Entry>> = all
            .iter()
            .flat_map(|(hook, points)| {
                points.iter().map(|point| {
                    Arc::new(Entry {
                        hook: Arc::clone(hook),
                        point: *point,
                        stats: Mutex::default(),
                    })
                })
            })
            .collect();
        entries.sort_by(|one, other| {
            let key = |entry: &Entry| (entry.point, entry.hook.priority);
            key(one)
                .cmp(&key(other))
                .then_with(|| one.hook.name.cmp(&other.hook.name))
        });
        Self {
            entries,
            limits: settings.rate_limit.clone(),
            limiter: Mutex::default(),
            workspaces,
            clock,
            redactor,
        }
    }

    fn at(&self, point: HookPoint) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries
            .iter()
            .filter(move |entry| entry.point == point)
    }

    /// Every hook at every point, in the order they are called in.
    pub fn list(&self) -> Vec<Hook> {
        let now = self.clock.now();
        self.entries
            .iter()
            .map(|entry| {
                let hook = &entry.hook;
                let stats = lock(&entry.stats);
                let refused = match &hook.kind {
                    Kind::Command { command, .. } => {
                        exec_permissions::check(command, &self.workspaces).err()
                    }
                    Kind::Redaction | Kind::RateLimit | Kind::Audit => None,
                };
                Hook {
                    name: hook.name.clone(),
                    point: entry.point,
                    priority: hook.priority,
                    built_in: !hook.is_command(),
                    dry_run: hook.dry_run,
                    channels: hook.channels.clone(),
                    tools: hook.tools.clone(),
                    timeout_ms: u64::try_from(hook.timeout.as_millis()).unwrap_or(u64::MAX),
                    counts: stats.counts(),
                    broken_until: lock(&hook.breaker)
                        .open_until()
                        .filter(|until| *until > now),
                    refused,
                    last_error: stats.last_error().map(str::to_owned),
                }
            })
            .collect()
    }

    fn redacted(&self, point: HookPoint, value: &Value) -> HookVerdict {
        let mut clean = value.clone();
        self.redactor.redact_json(&mut clean);
        if clean == *value {
            return HookVerdict::Pass;
        }
        HookVerdict::Change {
            field: document::field(point).unwrap_or_default().to_owned(),
            value: clean,
        }
    }

    fn limited_call(&self, about: &About<'_>, tool: &str) -> HookVerdict {
        let limits = limiter::of_call(&self.limits, about.channel, about.person(), tool);
        match lock(&self.limiter).take(self.clock.now(), &limits) {
            Ok(()) => HookVerdict::Pass,
            Err(over) => HookVerdict::Cancel {
                reason: over.reason,
            },
        }
    }

    /// Whether a message is one too many. An [`Over`] that is the first within a minute is to be told.
    pub fn limit_message(&self, channel: &str, requester: &Requester) -> Result<(), Over> {
        let Some(entry) = self
            .at(HookPoint::MessageReceived)
            .find(|entry| matches!(entry.hook.kind, Kind::RateLimit))
        else {
            return Ok(());
        };
        let began = Instant::now();
        let now = self.clock.now();
        let limits = limiter::of_message(&self.limits, channel, document::person(requester));
        let taken = {
            let mut limiter = lock(&self.limiter);
            let taken = limiter.take(now, &limits);
            if taken.as_ref().is_err_and(|over| over.first) {
                limiter.told(now, &limits);
            }
            taken
        };
        let verdict = match &taken {
            Ok(()) => HookVerdict::Pass,
            Err(over) => HookVerdict::Cancel {
                reason: over.reason.clone(),
            },
        };
        lock(&entry.stats).ran(&verdict, began.elapsed());
        taken
    }

    /// A tool's result without secrets, and whether there were any.
    pub fn clean_result(&self, content: &str) -> (String, bool) {
        let began = Instant::now();
        let clean = self.redactor.redact(content).into_owned();
        let changed = clean != content;
        if let Some(entry) = self
            .at(HookPoint::AfterToolCall)
            .find(|entry| matches!(entry.hook.kind, Kind::Redaction))
        {
            let verdict = if changed {
                HookVerdict::Change {
                    field: "result".to_owned(),
                    value: Value::Null,
                }
            } else {
                HookVerdict::Pass
            };
            lock(&entry.stats).ran(&verdict, began.elapsed());
        }
        (clean, changed)
    }

    /// Whether any program is asked before a call of this tool starts.
    pub fn looks_at_start(&self, channel: &str, tool: &str) -> bool {
        self.at(HookPoint::BeforeToolCall)
            .any(|entry| entry.hook.is_command() && entry.hook.concerns(Some(channel), Some(tool)))
    }

    /// The time by the engine's clock.
    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
