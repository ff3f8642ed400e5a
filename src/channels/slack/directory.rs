//! Names of users and channels, asked for once in a while.
//!
//! Nothing waits long for a name: a message whose sender's name Slack does not tell in time has the id in its place.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::channels::fields::text_at;
use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::slack::api::Api;
use crate::channels::slack::plain::Names;
use crate::channels::sync::lock;

/// How long a name is believed, and how long it is not asked for after a refusal.
const KEEP: Duration = Duration::from_hours(1);
const KEEP_NOTHING: Duration = Duration::from_mins(10);
/// Longest wait for one name: the acknowledgement of its message waits too.
const LONGEST: Duration = Duration::from_millis(1_500);
/// Names that are kept.
const MOST: usize = 2_000;
/// Names that are asked for because of one message.
const MOST_AT_ONCE: usize = 8;

/// What is known of a user or a channel.
#[derive(Debug, Clone)]
struct Entry {
    name: Option<String>,
    is_bot: bool,
    until: Instant,
}

/// The names that one account has seen. Outlives a reconnect.
#[derive(Debug, Default)]
pub struct Directory {
    entries: Mutex<HashMap<String, Entry>>,
}

impl Directory {
    /// The names of these, as far as Slack tells them soon.
    pub async fn names(
        &self,
        api: &Api,
        health: &HealthLog,
        (users, channels): (Vec<String>, Vec<String>),
    ) -> Names {
        let mut names = Names::default();
        for id in users.into_iter().take(MOST_AT_ONCE) {
            let entry = self.entry(api, health, "users.info", "user", &id).await;
            if entry.is_bot {
                names.bots.insert(id.clone());
            }
            if let Some(name) = entry.name {
                names.users.insert(id, name);
            }
        }
        for id in channels.into_iter().take(MOST_AT_ONCE) {
            let entry = self
                .entry(api, health, "conversations.info", "channel", &id)
                .await;
            if let Some(name) = entry.name {
                names.channels.insert(id, name);
            }
        }
        names
    }

    async fn entry(
        &self,
        api: &Api,
        health: &HealthLog,
        method: &'static str,
        field: &str,
        id: &str,
    ) -> Entry {
        let now = Instant::now();
        if let Some(entry) = self.known(id, now) {
            return entry;
        }
        let params = [(field, id)];
        let asked = tokio::time::timeout(LONGEST, api.call_form(method, &params)).await;
        let entry = match asked {
            Ok(Ok(said)) => {
                health.optional(method, &Ok::<(), CallError>(()));
                found(&said[field], now)
            }
            Ok(Err(error)) => {
                // Somebody of another workspace is not known here; that says nothing about us.
                let unknown = matches!(&error, CallError::Refused { name, .. }
                    if matches!(name.as_str(), "user_not_found" | "user_not_visible" | "channel_not_found"));
                if !unknown {
                    health.optional(method, &Err::<(), CallError>(error));
                }
                nothing(now + KEEP_NOTHING)
            }
            // Soon again: it may only be slow.
            Err(_) => nothing(now + LONGEST),
        };
        let mut entries = lock(&self.entries);
        if entries.len() >= MOST {
            entries.retain(|_, entry| entry.until > now);
        }
        if entries.len() < MOST {
            entries.insert(id.to_owned(), entry.clone());
        }
        entry
    }

    fn known(&self, id: &str, now: Instant) -> Option<Entry> {
        let entries = lock(&self.entries);
        entries.get(id).filter(|entry| entry.until > now).cloned()
    }
}

fn nothing(until: Instant) -> Entry {
    Entry {
        name: None,
        is_bot: false,
        until,
    }
}

fn found(said: &Value, now: Instant) -> Entry {
    const NAMES: &[&str] = &[
        "/profile/display_name",
        "/profile/real_name",
        "/real_name",
        "/name",
    ];
    let name = NAMES
        .iter()
        .filter_map(|place| text_at(said, place))
        .find(|name| !name.is_empty());
    Entry {
        name: name.map(str::to_owned),
        is_bot: said["is_bot"].as_bool().unwrap_or(false),
        until: now + KEEP,
    }
}
