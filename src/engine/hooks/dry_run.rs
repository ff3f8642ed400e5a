//! Trying a hook out, and asking one again that failed too often. Nothing follows from what a trial says, and it is
//! not counted.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use crate::engine::hooks::{Entry, Hooks, Kind, document, limiter};
use crate::engine::lock::lock;
use crate::protocol::enums::HookPoint;
use crate::protocol::hook::{HookTrial, HookVerdict};
use crate::protocol::problem::Problem;

impl Hooks {
    fn named(&self, name: &str) -> Result<Vec<&Arc<Entry>>, Problem> {
        let found: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| entry.hook.name == name)
            .collect();
        if found.is_empty() {
            let mut known: Vec<&str> = self
                .entries
                .iter()
                .map(|entry| entry.hook.name.as_str())
                .collect();
            known.sort_unstable();
            known.dedup();
            return Err(
                Problem::not_found("hook", name).hint(format!("hooks: {}", known.join(", ")))
            );
        }
        Ok(found)
    }

    /// Calls a hook with an example, or with `input`.
    pub async fn try_out(
        &self,
        name: &str,
        point: Option<HookPoint>,
        input: Option<Value>,
    ) -> Result<HookTrial, Problem> {
        let found = self.named(name)?;
        let entry = match point {
            None => found.first(),
            Some(point) => found.iter().find(|entry| entry.point == point),
        };
        let Some(entry) = entry else {
            let points: Vec<&str> = found.iter().map(|entry| entry.point.as_str()).collect();
            return Err(Problem::invalid(format!(
                "hook `{name}` is not called there; its points: {}",
                points.join(", ")
            )));
        };
        let document = match input {
            None => document::example(name, entry.point, self.now()),
            Some(document @ Value::Object(_)) => document,
            Some(_) => {
                return Err(Problem::invalid(
                    "`input` is a JSON object: the document that the hook reads",
                ));
            }
        };
        let began = Instant::now();
        let verdict = match &entry.hook.kind {
            Kind::Redaction => {
                let field = document::field(entry.point).unwrap_or("result");
                let value = document.get(field).cloned().unwrap_or_default();
                match self.redacted(entry.point, &value) {
                    HookVerdict::Change { value, .. } => HookVerdict::Change {
                        field: field.to_owned(),
                        value,
                    },
                    other @ (HookVerdict::Pass
                    | HookVerdict::Cancel { .. }
                    | HookVerdict::Failed { .. }) => other,
                }
            }
            Kind::RateLimit => self.try_limits(entry.point, &document),
            Kind::Audit => HookVerdict::Pass,
            Kind::Command { .. } => match self.run(&entry.hook, entry.point, document).await {
                Ok(verdict) => verdict,
                Err(error) => HookVerdict::Failed { error },
            },
        };
        Ok(HookTrial {
            verdict,
            duration_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        })
    }

    fn try_limits(&self, point: HookPoint, document: &Value) -> HookVerdict {
        let text = |keys: &[&str]| {
            keys.iter()
                .try_fold(document, |value, key| value.get(key))
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let linked = text(&["requester", "person"]);
        let person = if linked.is_empty() {
            text(&["requester", "id"])
        } else {
            linked
        };
        let channel = text(&["channel"]);
        let limits = if point == HookPoint::MessageReceived {
            limiter::of_message(&self.limits, channel, person)
        } else {
            limiter::of_call(&self.limits, channel, person, text(&["tool"]))
        };
        match lock(&self.limiter).look(self.now(), &limits) {
            Ok(()) => HookVerdict::Pass,
            Err(over) => HookVerdict::Cancel {
                reason: over.reason,
            },
        }
    }

    /// Asks a hook again at once although it failed too often; the limits of `rate_limit` begin anew.
    pub fn reset(&self, name: &str) -> Result<(), Problem> {
        for entry in self.named(name)? {
            lock(&entry.hook.breaker).succeeded();
            if matches!(entry.hook.kind, Kind::RateLimit) {
                lock(&self.limiter).clear();
            }
        }
        Ok(())
    }
}
