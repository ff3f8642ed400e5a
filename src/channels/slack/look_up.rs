//! Whether a send of unknown outcome arrived: its key is in the history of its conversation, or it is not.
//!
//! "Not there" is said only of a history that was read back to before the send, that shows the keys of our messages,
//! and that was read when the send could not arrive any more: its connection is dead by then.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::channels::fields::text_at;
use crate::channels::http::CallError;
use crate::channels::slack::api::Api;
use crate::channels::slack::deliver::METADATA;
use crate::channels::slack::fields::parse_conversation;
use crate::channels::slack::files::BLOCK;
use crate::channels::slack::items::is_own;
use crate::channels::slack::me::Me;
use crate::channels::slack::memory::{Memory, is_user};
use crate::channels::slack::render;
use crate::channels::slack::ts;
use crate::clock::Clock;
use crate::protocol::bridge::{Delivery, Outbound, OutboundBody};

/// Messages of one answer, and answers that are read.
const PAGE: &str = "100";
const MAX_PAGES: usize = 20;
/// How far our clock may have been ahead when a part was queued.
const CLOCK_MARGIN_MS: i64 = 3 * 24 * 3_600_000;
/// How far our clock may be from Slack's for its times to be used at all.
const CLOCK_DIFFERENCE_MS: i64 = 3_600_000;

/// What a look works with.
pub struct LookUp<'a> {
    /// Platform side.
    pub api: &'a Api,
    /// Who we are.
    pub me: &'a Me,
    /// What is known of lost sends.
    pub memory: &'a Memory,
    /// When this process began: sends of earlier ones ended before.
    pub born: Instant,
    /// How long after its end a send may still arrive.
    pub settle: Duration,
    /// Our clock.
    pub clock: &'a Clock,
}

impl LookUp<'_> {
    /// Looks for a part.
    pub async fn look(&self, part: &Outbound) -> Delivery {
        let first = self.search(part).await;
        let last_sign = self.memory.lost_at(part.id).unwrap_or(self.born);
        let rest = self.settle.saturating_sub(last_sign.elapsed());
        match first {
            Delivery::NotSent if !rest.is_zero() => {
                tokio::time::sleep(rest).await;
                self.search(part).await
            }
            shown => shown,
        }
    }

    async fn search(&self, part: &Outbound) -> Delivery {
        self.try_search(part)
            .await
            .unwrap_or_else(|error| unclear(format!("the history cannot be read: {error}")))
    }

    async fn try_search(&self, part: &Outbound) -> Result<Delivery, CallError> {
        let (channel, thread) = parse_conversation(&part.conversation);
        let channel = if is_user(channel) {
            self.memory.direct(self.api, channel).await?
        } else {
            channel.to_owned()
        };
        let since = self.since(part).await;
        let mut params = vec![
            ("channel", channel.as_str()),
            ("limit", PAGE),
            ("include_all_metadata", "true"),
        ];
        if let Some(since) = &since {
            params.push(("oldest", since));
        }
        let method = match thread {
            Some(thread) => {
                params.push(("ts", thread));
                "conversations.replies"
            }
            None => "conversations.history",
        };
        let mut found = History::default();
        let mut cursor = String::new();
        let mut whole = false;
        for _ in 0..MAX_PAGES {
            let mut params = params.clone();
            if !cursor.is_empty() {
                params.push(("cursor", cursor.as_str()));
            }
            let page = self.api.call_form(method, &params).await?;
            for message in page["messages"].as_array().into_iter().flatten() {
                found.look_at(message, part, self.me, since.as_deref());
            }
            let next = text_at(&page, "/response_metadata/next_cursor").unwrap_or_default();
            whole = next.is_empty() || page["has_more"] == false;
            if whole {
                break;
            }
            next.clone_into(&mut cursor);
        }
        Ok(found.shown(part, whole))
    }

    /// A time of Slack's from before the part was sent; none = nothing certain is known.
    async fn since(&self, part: &Outbound) -> Option<String> {
        // What it answers is older, on Slack's own clock.
        if let Some(asked) = part.reply_to.as_deref().filter(|asked| ts::is_time(asked)) {
            return Some(asked.to_owned());
        }
        let slack = self.api.clock().await.ok().flatten()?;
        let difference = self.clock.now().as_millis() - slack;
        let queued = queued_at(part);
        (difference.abs() <= CLOCK_DIFFERENCE_MS).then(|| ts::from_millis(queued - CLOCK_MARGIN_MS))
    }
}

fn unclear(detail: impl Into<String>) -> Delivery {
    Delivery::Unclear {
        detail: detail.into(),
    }
}

/// When a part was queued, in milliseconds since 1970: its id begins with that.
fn queued_at(part: &Outbound) -> i64 {
    let bytes = part.id.to_bytes();
    bytes
        .iter()
        .take(6)
        .fold(0, |time, byte| time << 8 | i64::from(*byte))
}

#[derive(Default)]
struct History {
    /// Ids of messages by piece.
    pieces: BTreeMap<u64, String>,
    /// A message of ours could be the one, and shows no key.
    keyless: bool,
}

impl History {
    fn look_at(&mut self, message: &Value, part: &Outbound, me: &Me, since: Option<&str>) {
        let Some(at) = text_at(message, "/ts").filter(|_| is_own(message, me)) else {
            return;
        };
        let key = part.idempotency_key.as_str();
        if let Some(files) = message["files"].as_array() {
            let block = format!("{BLOCK}{key}");
            let blocks = message["blocks"].as_array();
            let ours = |block: &Value| text_at(block, "/block_id").unwrap_or_default().to_owned();
            let blocks: Vec<String> = blocks.into_iter().flatten().map(ours).collect();
            if blocks.contains(&block) {
                let id = files.first().and_then(|file| text_at(file, "/id"));
                self.pieces.insert(0, id.unwrap_or(at).to_owned());
            } else if !blocks.iter().any(|block| block.starts_with(BLOCK)) {
                self.keyless |= files.iter().any(|file| is_this_file(file, part));
            }
            return;
        }
        if matches!(part.body, OutboundBody::File(_)) || has_kind(message) {
            return;
        }
        let metadata = &message["metadata"];
        if text_at(metadata, "/event_type") != Some(METADATA) {
            // The first message of a thread is always shown, however old it is.
            self.keyless |= since.is_none_or(|since| ts::is_older(since, at));
            return;
        }
        let payload = &metadata["event_payload"];
        if text_at(payload, "/key") == Some(key) {
            let piece = payload["piece"].as_u64().unwrap_or(0);
            self.pieces.insert(piece, at.to_owned());
        }
    }

    fn shown(self, part: &Outbound, whole: bool) -> Delivery {
        let expected = match &part.body {
            OutboundBody::Markdown { text } => render::messages(text).len(),
            OutboundBody::File(_) | OutboundBody::Card { .. } | OutboundBody::CardUpdate { .. } => {
                1
            }
        };
        match self.pieces.len() {
            0 if self.keyless => {
                unclear("a message of the bot is there that shows no key; it may be this one")
            }
            0 if !whole => unclear("the conversation is too long to be read back to it"),
            0 => Delivery::NotSent,
            there if there >= expected => Delivery::Sent {
                external_refs: self.pieces.into_values().collect(),
            },
            there => unclear(format!("{there} of {expected} pieces arrived")),
        }
    }
}

/// Whether a message tells of something that happened, and is nothing that was written.
fn has_kind(message: &Value) -> bool {
    text_at(message, "/subtype")
        .is_some_and(|kind| !matches!(kind, "bot_message" | "thread_broadcast"))
}

fn is_this_file(file: &Value, part: &Outbound) -> bool {
    match &part.body {
        OutboundBody::File(sent) => {
            text_at(file, "/name") == Some(sent.name.as_str())
                && file["size"]
                    .as_u64()
                    .is_none_or(|size| size == sent.artifact.size)
        }
        OutboundBody::Markdown { .. }
        | OutboundBody::Card { .. }
        | OutboundBody::CardUpdate { .. } => false,
    }
}
