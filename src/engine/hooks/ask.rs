//! Asking hooks at a modifying point, one after the other, and what follows from what each says.
//!
//! What could not be checked does not happen: a hook that fails stops it like one that says no.

use std::time::Instant;

use serde_json::Value;

use crate::engine::hooks::breaker::BreakerVerdict;
use crate::engine::hooks::document::{self, About};
use crate::engine::hooks::{
    Entry, Hooks, Kind, Named, PointOutcome, Stop, TrialGuard, exec_permissions, modifies, process,
    shown,
};
use crate::engine::lock::lock;
use crate::protocol::enums::HookPoint;
use crate::protocol::hook::{HookNote, HookVerdict};
use crate::text::untrusted::limit_line;

/// Longest error of a hook, in characters.
const MAX_ERROR: usize = 500;
/// Longest line of a program's standard error that is logged, in cells.
const MAX_LOGGED: usize = 400;

impl Hooks {
    /// Asks the hooks at a modifying point, in order. `at_start` is the second look, where they may only veto.
    ///
    /// Cancel-safe: programs that run are killed with their groups.
    pub async fn ask(
        &self,
        point: HookPoint,
        at_start: bool,
        about: &About<'_>,
        value: Value,
    ) -> PointOutcome {
        let mut asked = PointOutcome {
            value,
            notes: Vec::new(),
            stop: None,
            audited: Vec::new(),
        };
        let tool = about.call.map(|(_, tool)| tool);
        for entry in self.at(point) {
            let hook = &entry.hook;
            if matches!(hook.kind, Kind::Audit) {
                write_down(entry, &mut asked);
                continue;
            }
            if asked.stop.is_some()
                || (at_start && !hook.is_command())
                || !hook.concerns(Some(about.channel), tool)
            {
                continue;
            }
            let verdict = self.verdict(entry, at_start, about, &asked.value).await;
            self.follow(hook, point, at_start, verdict, &mut asked);
        }
        asked
    }

    /// What one hook says, counted.
    async fn verdict(
        &self,
        entry: &Entry,
        at_start: bool,
        about: &About<'_>,
        value: &Value,
    ) -> HookVerdict {
        let hook = &entry.hook;
        let began = Instant::now();
        let verdict = match &hook.kind {
            Kind::Redaction => self.redacted(entry.point, value),
            Kind::RateLimit => match about.call {
                Some((_, tool)) => self.limited_call(about, tool),
                None => HookVerdict::Pass,
            },
            Kind::Audit => HookVerdict::Pass,
            Kind::Command { .. } => {
                let now = self.clock.now();
                if let BreakerVerdict::Wait(until) = lock(&hook.breaker).enter(now) {
                    lock(&entry.stats).skipped();
                    return HookVerdict::Failed {
                        error: format!("it failed too often and is not asked until {until}"),
                    };
                }
                let document =
                    document::question(&hook.name, entry.point, at_start, now, about, value);
                let said = self.call(hook, entry.point, document).await;
                settle(said, at_start, value)
            }
        };
        lock(&entry.stats).ran(&verdict, began.elapsed());
        verdict
    }

    /// Runs a program that may be called now, and tells its breaker how that went.
    pub(super) async fn call(
        &self,
        hook: &Named,
        point: HookPoint,
        document: Value,
    ) -> Result<HookVerdict, String> {
        let mut entered = TrialGuard {
            breaker: &hook.breaker,
            ended: false,
        };
        let said = self.run(hook, point, document).await;
        entered.ended = true;
        let mut breaker = lock(&hook.breaker);
        match &said {
            Ok(_) => breaker.succeeded(),
            Err(error) => {
                breaker.failed(self.clock.now());
                tracing::warn!(hook = %hook.name, %point, %error, "a hook failed");
            }
        }
        said
    }

    /// Runs a program, whatever its breaker says. Nothing of it comes back that was not redacted.
    pub(super) async fn run(
        &self,
        hook: &Named,
        point: HookPoint,
        mut document: Value,
    ) -> Result<HookVerdict, String> {
        let Kind::Command {
            command,
            environment,
        } = &hook.kind
        else {
            return Ok(HookVerdict::Pass);
        };
        let clean = |error: String| -> String {
            self.redactor
                .redact(&error)
                .chars()
                .take(MAX_ERROR)
                .collect()
        };
        exec_permissions::check(command, &self.workspaces).map_err(clean)?;
        self.redactor.redact_json(&mut document);
        let document = document.to_string();
        let ran = process::run(command, environment, &document, hook.timeout)
            .await
            .map_err(|error| clean(error.to_string()))?;
        if !ran.errors.is_empty() {
            let text = String::from_utf8_lossy(&ran.errors);
            let text = self.redactor.redact(&text);
            let said = limit_line(&text, MAX_LOGGED);
            tracing::info!(hook = %hook.name, %said, "on standard error");
        }
        if !ran.status.success() {
            return Err(format!("it ended badly ({})", ran.status));
        }
        if !modifies(point) {
            return Ok(HookVerdict::Pass);
        }
        match document::verdict(point, &ran.answer).map_err(clean)? {
            HookVerdict::Change { field, mut value } => {
                self.redactor.redact_json(&mut value);
                Ok(HookVerdict::Change { field, value })
            }
            HookVerdict::Cancel { reason } => Ok(HookVerdict::Cancel {
                reason: self.redactor.redact(&reason).into_owned(),
            }),
            other @ (HookVerdict::Pass | HookVerdict::Failed { .. }) => Ok(other),
        }
    }

    /// What follows from a verdict.
    fn follow(
        &self,
        hook: &Named,
        point: HookPoint,
        at_start: bool,
        verdict: HookVerdict,
        asked: &mut PointOutcome,
    ) {
        let mut before = None;
        match &verdict {
            HookVerdict::Pass => return,
            HookVerdict::Change { value, .. } => {
                // What was redacted is shown nowhere.
                before = hook.is_command().then(|| shown(&asked.value));
                if !hook.dry_run {
                    asked.value = value.clone();
                }
            }
            HookVerdict::Cancel { reason } | HookVerdict::Failed { error: reason } => {
                let stop = Stop {
                    hook: hook.name.clone(),
                    said: matches!(verdict, HookVerdict::Cancel { .. }),
                    reason: reason.clone(),
                };
                asked.stop = Some(stop).filter(|_| !hook.dry_run);
            }
        }
        asked.notes.push(HookNote {
            hook: hook.name.clone(),
            point,
            at_start,
            dry_run: hook.dry_run,
            verdict: match verdict {
                HookVerdict::Change { field, value } => HookVerdict::Change {
                    field,
                    value: shown(&value),
                },
                other @ (HookVerdict::Pass
                | HookVerdict::Cancel { .. }
                | HookVerdict::Failed { .. }) => other,
            },
            before,
            at: self.clock.now(),
        });
    }
}

/// A verdict as it counts: a change to what is there already is none, and at the start it is a veto.
fn settle(said: Result<HookVerdict, String>, at_start: bool, current: &Value) -> HookVerdict {
    match said {
        Err(error) => HookVerdict::Failed { error },
        Ok(HookVerdict::Change { value, .. }) if value == *current => HookVerdict::Pass,
        Ok(HookVerdict::Change { field, .. }) if at_start => HookVerdict::Cancel {
            reason: format!("it wants other {field} than those that were allowed"),
        },
        Ok(verdict) => verdict,
    }
}

/// The audit hook: everything that had an effect.
fn write_down(entry: &Entry, asked: &mut PointOutcome) {
    let began = Instant::now();
    asked.audited = asked
        .notes
        .iter()
        .enumerate()
        .filter(|(_, note)| !note.dry_run)
        .map(|(index, _)| index)
        .collect();
    lock(&entry.stats).ran(&HookVerdict::Pass, began.elapsed());
}
