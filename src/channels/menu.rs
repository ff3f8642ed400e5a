//! The menu of commands of an account: set once, and tried again, ever more rarely, where it could not be set.
//!
//! Messages come and go without it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::clock::backoff::doubled;

/// The first and the longest wait before the menu is tried again.
const REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_mins(30);

/// Whether the menu of one account is set. Outlives a reconnect.
#[derive(Debug, Default)]
pub struct Menu(AtomicBool);

impl Menu {
    /// Sets it once, by `call`, whose name is `method`; whether that is settled, for good or by a refusal.
    pub async fn set(
        &self,
        channel: &str,
        health: &HealthLog,
        method: &'static str,
        call: impl Future<Output = Result<Value, CallError>>,
    ) -> bool {
        if self.is_set() {
            return true;
        }
        let answer = call.await;
        let settled = matches!(answer, Ok(_) | Err(CallError::Refused { .. }));
        self.0.store(answer.is_ok(), Ordering::Relaxed);
        if let Err(error) = &answer {
            tracing::warn!(channel, %error, "cannot set the command menu");
        }
        health.optional(method, &answer);
        settled
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Rests before a menu is set again that could not be set `failures` times.
pub async fn rest(failures: u32) {
    tokio::time::sleep(doubled(REST, failures, LONGEST_REST)).await;
}
