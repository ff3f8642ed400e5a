//! State that outlives a connection of a bridge, but not its process. Nothing here is needed after a restart.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::channels::fields::text_at;
use crate::channels::http::CallError;
use crate::channels::slack::api::Api;
use crate::channels::sync::lock;
use crate::protocol::ids::OutboxId;

/// How long it is remembered that a send was lost: far longer than one may still arrive.
const KEEP: Duration = Duration::from_mins(10);

/// What outlives a connection.
#[derive(Debug, Default)]
pub struct Memory {
    /// The direct message with a user.
    directs: Mutex<HashMap<String, String>>,
    /// When the end of a send was not told.
    lost: Mutex<HashMap<OutboxId, Instant>>,
    /// Channels that show no status.
    without_status: Mutex<HashSet<String>>,
}

impl Memory {
    /// A send of this part was lost now.
    pub fn lose(&self, id: OutboxId) {
        let mut lost = lock(&self.lost);
        lost.retain(|_, at| at.elapsed() < KEEP);
        lost.insert(id, Instant::now());
    }

    /// Whether a channel may show a status.
    pub fn shows_status(&self, channel: &str) -> bool {
        !lock(&self.without_status).contains(channel)
    }

    /// A channel shows no status.
    pub fn without_status(&self, channel: &str) {
        lock(&self.without_status).insert(channel.to_owned());
    }

    /// When a send of this part was last lost by this process.
    pub fn lost_at(&self, id: OutboxId) -> Option<Instant> {
        let lost = lock(&self.lost);
        lost.get(&id).copied()
    }

    /// The direct message with a user, asked for once.
    pub async fn direct(&self, api: &Api, user: &str) -> Result<String, CallError> {
        let known = {
            let directs = lock(&self.directs);
            directs.get(user).cloned()
        };
        if let Some(channel) = known {
            return Ok(channel);
        }
        let said = api
            .call("conversations.open", &json!({ "users": user }))
            .await
            // It makes nothing that shows, so it may be asked again whatever came of it.
            .map_err(CallError::of_hidden_call)?;
        let channel = text_at(&said, "/channel/id").ok_or_else(|| {
            CallError::refused(200, "Slack names no direct message with this user")
        })?;
        let mut directs = lock(&self.directs);
        directs.insert(user.to_owned(), channel.to_owned());
        Ok(channel.to_owned())
    }
}

/// Whether a conversation is named by the user whom it is with.
pub fn is_user(channel: &str) -> bool {
    channel.starts_with(['U', 'W'])
}
