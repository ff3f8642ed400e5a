//! What channels and threads are called, from what the gateway tells of servers.
//!
//! Decorative: a channel without a name works as well.

use std::collections::HashMap;

use serde_json::Value;

use crate::channels::discord::fields::id;
use crate::channels::fields::{list_at, text_at};

/// Channels that are remembered.
const MAX_CHANNELS: usize = 20_000;

/// Names of channels.
#[derive(Debug, Default)]
pub struct Names {
    channels: HashMap<u64, String>,
}

impl Names {
    /// Learns from an event; others say nothing.
    pub fn note(&mut self, name: &str, data: &Value) {
        match name {
            "GUILD_CREATE" => {
                let server = text_at(data, "/name");
                for channel in list_at(data, "/channels")
                    .iter()
                    .chain(list_at(data, "/threads"))
                {
                    self.learn(channel, server);
                }
            }
            "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE" => {
                self.learn(data, None);
            }
            "CHANNEL_DELETE" | "THREAD_DELETE" => {
                if let Some(channel) = id(data, "/id") {
                    self.channels.remove(&channel);
                }
            }
            _ => {}
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// The name of a channel, with that of its server where it is known.
    pub fn of(&self, channel: u64) -> Option<String> {
        self.channels.get(&channel).cloned()
    }

    fn learn(&mut self, channel: &Value, server: Option<&str>) {
        let (Some(number), Some(name)) = (id(channel, "/id"), text_at(channel, "/name")) else {
            return;
        };
        if self.channels.len() >= MAX_CHANNELS && !self.channels.contains_key(&number) {
            return;
        }
        // What an update does not say again stays.
        let server = server.or_else(|| {
            let known = self.channels.get(&number)?;
            known.split_once(" in ").map(|(_, server)| server)
        });
        let shown = match server {
            Some(server) => format!("#{name} in {server}"),
            None => format!("#{name}"),
        };
        self.channels.insert(number, shown);
    }
}
