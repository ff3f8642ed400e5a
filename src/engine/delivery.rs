//! What the engine knows of its bridges: what each can do, how it is, and which parts it holds.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, broadcast, oneshot, watch};

use crate::clock::Timestamp;
use crate::engine::lock::lock;
use crate::protocol::bridge::ProgressMessage;
use crate::protocol::channel::{ChannelCapabilities, ChannelHealth};
use crate::protocol::doctor::Finding;
use crate::protocol::enums::ChannelState;
use crate::protocol::ids::{ContinuationId, OutboxId};

/// Milliseconds between two words about exchanges that brought nothing: the grain in which consoles show ages.
const EXCHANGE_NEWS_MS: u64 = 60_000;
/// Milliseconds between two writes of a channel's health.
const STORE_HEALTH_MS: u64 = 60_000;
/// Typing indicators that a slow bridge may leave; they are decoration.
const TYPING_KEPT: usize = 64;

/// The part of a conversation key that the platform knows; what follows `#` tells senders apart.
pub fn platform_conversation(conversation: &str) -> &str {
    conversation
        .split_once('#')
        .map_or(conversation, |(platform, _)| platform)
}

/// What a bridge told us about itself.
#[derive(Debug)]
struct Bridge {
    capabilities: ChannelCapabilities,
    health: Option<ChannelHealth>,
    /// The exchange that consoles were last told of.
    told_exchange_at: Option<Timestamp>,
    account: Option<String>,
    /// When its health was last kept; none = not by this process.
    stored_at: Option<Timestamp>,
}

/// The engine's end of one channel.
#[derive(Debug)]
pub struct Link {
    bridge: Mutex<Option<Bridge>>,
    /// Parts that the bridge holds. Rings when it holds one no more.
    leased: watch::Sender<HashSet<OutboxId>>,
    typing: broadcast::Sender<String>,
    paused: watch::Sender<bool>,
    /// Progress messages of turns that run, or whose message is to go.
    progress: Mutex<BTreeMap<ContinuationId, Progress>>,
    progress_changed: Notify,
    /// Rings when a file of a message is to be fetched.
    files_changed: Notify,
    /// Who waits for what the bridge finds out about its account.
    checks: Mutex<Vec<oneshot::Sender<Vec<Finding>>>>,
    checks_changed: Notify,
}

/// The progress message of a turn.
#[derive(Debug)]
struct Progress {
    message: ProgressMessage,
    /// Whether the bridge does not know yet what it says.
    is_news: bool,
    /// Whether the bridge ever knew of it.
    is_known: bool,
}

impl Link {
    fn new() -> Self {
        Self {
            bridge: Mutex::default(),
            leased: watch::Sender::new(HashSet::new()),
            typing: broadcast::Sender::new(TYPING_KEPT),
            paused: watch::Sender::new(false),
            progress: Mutex::default(),
            progress_changed: Notify::new(),
            files_changed: Notify::new(),
            checks: Mutex::default(),
            checks_changed: Notify::new(),
        }
    }

    /// What the bridge can do. What it says before that is not heard.
    pub fn set_capabilities(&self, capabilities: ChannelCapabilities) {
        let mut bridge = lock(&self.bridge);
        match &mut *bridge {
            Some(bridge) => bridge.capabilities = capabilities,
            None => {
                *bridge = Some(Bridge {
                    capabilities,
                    health: None,
                    told_exchange_at: None,
                    account: None,
                    stored_at: None,
                });
            }
        }
    }

    /// What the bridge can do, if it ever said so.
    pub fn capabilities(&self) -> Option<ChannelCapabilities> {
        lock(&self.bridge)
            .as_ref()
            .map(|bridge| bridge.capabilities.clone())
    }

    /// Takes down how the bridge is; whether consoles should hear of it. They hear at once of states and messages; of
    /// exchanges that brought nothing (an empty poll) once a minute.
    pub fn report(&self, health: ChannelHealth, account: Option<String>) -> bool {
        let mut bridge = lock(&self.bridge);
        let Some(bridge) = &mut *bridge else {
            return false;
        };
        let is_news = bridge.health.as_ref().is_none_or(|old| {
            old.state != health.state
                || old.detail != health.detail
                || old.rate_limited_until != health.rate_limited_until
                || old.last_inbound_at != health.last_inbound_at
                || old.last_outbound_at != health.last_outbound_at
                || exchange_is_news(bridge.told_exchange_at, health.last_exchange_at)
        }) || (account.is_some() && bridge.account != account);
        if is_news {
            bridge.told_exchange_at = health.last_exchange_at;
        }
        bridge.health = Some(health);
        if account.is_some() {
            bridge.account = account;
        }
        is_news
    }

    /// The health that is to be kept for the next start, once a minute.
    pub fn health_to_store(&self, now: Timestamp) -> Option<ChannelHealth> {
        let mut bridge = lock(&self.bridge);
        let bridge = bridge.as_mut()?;
        let stored = bridge.stored_at;
        if stored.is_some_and(|at| now.millis_since(at) < STORE_HEALTH_MS) {
            return None;
        }
        let health = bridge.health.as_ref()?;
        health.last_exchange_at?;
        bridge.stored_at = Some(now);
        Some(health.clone())
    }

    /// How the bridge is, if it ever said so.
    pub fn health(&self) -> Option<ChannelHealth> {
        lock(&self.bridge)
            .as_ref()
            .and_then(|bridge| bridge.health.clone())
    }

    /// The platform's name of the bot, once known.
    pub fn account(&self) -> Option<String> {
        lock(&self.bridge)
            .as_ref()
            .and_then(|bridge| bridge.account.clone())
    }

    /// Whether the bridge is connected.
    pub fn is_connected(&self) -> bool {
        self.health()
            .is_some_and(|health| health.state == ChannelState::Connected)
    }

    /// Asks the bridge whether its account is set up as it must be.
    pub fn check(&self) -> oneshot::Receiver<Vec<Finding>> {
        let (request, found) = oneshot::channel();
        lock(&self.checks).push(request);
        self.checks_changed.notify_one();
        found
    }

    /// The next one who asks. Cancel-safe.
    pub async fn next_check(&self) -> oneshot::Sender<Vec<Finding>> {
        loop {
            if let Some(request) = lock(&self.checks).pop() {
                return request;
            }
            self.checks_changed.notified().await;
        }
    }

    /// Says that a file of a message is to be fetched.
    pub fn announce_file(&self) {
        self.files_changed.notify_one();
    }

    /// Resolves after [`Link::announce_file`].
    pub async fn file_announced(&self) {
        self.files_changed.notified().await;
    }

    /// Asks for a typing indicator. Nobody listening means that no bridge runs.
    pub fn show_typing(&self, conversation: &str) {
        let _ = self.typing.send(conversation.to_owned());
    }

    /// Follows [`Link::show_typing`].
    pub fn typing(&self) -> broadcast::Receiver<String> {
        self.typing.subscribe()
    }

    /// What the chat is to see of how far a turn has come. What a slow bridge misses is never shown.
    pub fn show_progress(&self, message: ProgressMessage) {
        let mut progress = lock(&self.progress);
        match progress.get_mut(&message.continuation_id) {
            Some(one) => {
                one.is_news = one.message != message || one.is_news;
                one.message = message;
            }
            None => {
                let one = Progress {
                    is_news: true,
                    is_known: false,
                    message,
                };
                progress.insert(one.message.continuation_id, one);
            }
        }
        self.progress_changed.notify_one();
    }

    /// The turn is over: its progress message goes.
    pub fn end_progress(&self, id: ContinuationId) {
        let mut progress = lock(&self.progress);
        if let Some(one) = progress.get_mut(&id) {
            if one.is_known {
                one.message.text = None;
                one.is_news = true;
                self.progress_changed.notify_one();
            } else {
                progress.remove(&id);
            }
        }
    }

    /// The next progress message that says something else than before. Cancel-safe.
    pub async fn next_progress(&self) -> ProgressMessage {
        loop {
            if let Some(message) = self.take_progress() {
                return message;
            }
            self.progress_changed.notified().await;
        }
    }

    fn take_progress(&self) -> Option<ProgressMessage> {
        let mut progress = lock(&self.progress);
        let one = progress.values_mut().find(|one| one.is_news)?;
        one.is_news = false;
        one.is_known = true;
        let message = one.message.clone();
        if message.text.is_none() {
            progress.remove(&message.continuation_id);
        }
        Some(message)
    }

    /// Tells the bridge that an operator paused or resumed it.
    pub fn set_paused(&self, paused: bool) {
        self.paused.send_replace(paused);
    }

    /// Follows [`Link::set_paused`].
    pub fn pauses(&self) -> watch::Receiver<bool> {
        self.paused.subscribe()
    }

    /// The bridge holds a part: it is not handed out again before the answer is dropped.
    pub fn hand_out(self: &Arc<Self>, id: OutboxId) -> HeldPart {
        self.leased.send_if_modified(|leased| {
            leased.insert(id);
            // Nobody waits for less to be available.
            false
        });
        HeldPart {
            link: Arc::clone(self),
            id,
        }
    }

    /// Follows which parts the bridge holds.
    pub fn leased(&self) -> watch::Receiver<HashSet<OutboxId>> {
        self.leased.subscribe()
    }
}

/// The right to a part: nobody else gets it while this lives.
#[must_use]
#[derive(Debug)]
pub struct HeldPart {
    link: Arc<Link>,
    id: OutboxId,
}

impl Drop for HeldPart {
    fn drop(&mut self) {
        self.link
            .leased
            .send_if_modified(|leased| leased.remove(&self.id));
    }
}

/// Whether consoles should hear of an exchange that changed nothing else.
fn exchange_is_news(told: Option<Timestamp>, now: Option<Timestamp>) -> bool {
    match (told, now) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(told), Some(now)) => now.millis_since(told) >= EXCHANGE_NEWS_MS,
    }
}

/// The channels of an engine.
#[derive(Debug, Default)]
pub struct Delivery {
    links: Mutex<HashMap<String, Arc<Link>>>,
    /// Rings when a recording is to be transcribed.
    recordings: Notify,
}

impl Delivery {
    /// Says that a recording is to be transcribed.
    pub fn announce_recording(&self) {
        self.recordings.notify_one();
    }

    /// Resolves after [`Delivery::announce_recording`].
    pub async fn recording_announced(&self) {
        self.recordings.notified().await;
    }

    /// The engine's end of a channel. It is made when somebody asks first.
    pub fn link(&self, channel: &str) -> Arc<Link> {
        let mut links = lock(&self.links);
        if let Some(link) = links.get(channel) {
            return Arc::clone(link);
        }
        let link = Arc::new(Link::new());
        links.insert(channel.to_owned(), Arc::clone(&link));
        link
    }
}
