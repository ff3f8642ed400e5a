//! What every console knows: its daemons, the Queue over all of them, and whether it may change anything.

use crate::clock::Timestamp;
use crate::console::access::{Access, Hosting};
use crate::console::format;
use crate::console::hosts::{Host, Hosts};
use crate::console::ids::HostId;
use crate::console::item;
use crate::console::item::{ItemKey, QueueKey};
use crate::console::queue::QueueState;
use crate::console::time::Now;
use crate::console::world::World;
use crate::protocol::approval::Approval;
use crate::protocol::enums::Scope;

/// How serious a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It went well.
    Info,
    /// Something was refused.
    Warning,
    /// Something failed.
    Error,
}

/// Something to be told to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub tone: Tone,
    /// The words: outside text may stand in them.
    pub text: String,
}

/// The console without a screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Now, as of the last message.
    pub now: Now,
    pub hosting: Hosting,
    /// Whether commands may be sent at all.
    pub access: Access,
    pub hosts: Hosts,
    /// What needs a person, of all of them.
    pub queue: QueueState,
    /// What is to be told; whoever shows it takes it.
    pub notices: Vec<Notice>,
}

impl Model {
    /// A console that has heard nothing yet, of one daemon at this place.
    pub fn new(hosting: Hosting, access: Access, place: String, now: Now) -> Self {
        Self {
            now,
            hosting,
            access,
            hosts: Hosts::one(place),
            queue: QueueState::default(),
            notices: Vec::new(),
        }
    }

    /// The host that has the focus.
    pub fn host(&self) -> &Host {
        self.hosts.here()
    }

    /// The host that has the focus, to change it.
    pub fn host_mut(&mut self) -> &mut Host {
        self.hosts.here_mut()
    }

    /// What is known of the host that has the focus.
    pub fn world(&self) -> &World {
        &self.host().world
    }

    /// What is known of the host that has the focus, to change it.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.host_mut().world
    }

    /// Whether the engine that has the focus can be reached.
    pub fn is_live(&self) -> bool {
        self.host().is_live()
    }

    /// Notes something to be told.
    pub fn notice(&mut self, tone: Tone, text: impl Into<String>) {
        let text = text.into();
        self.notices.push(Notice { tone, text });
    }

    /// An item of the host that has the focus.
    pub fn key(&self, item: ItemKey) -> QueueKey {
        QueueKey::new(self.hosts.focused(), item)
    }

    /// The selected item of the queue, where it is of the host that has the focus.
    pub fn selected(&self) -> Option<&ItemKey> {
        let key = self.queue.selected.as_ref()?;
        (key.host == self.hosts.focused()).then_some(&key.item)
    }

    pub fn selected_approval(&self) -> Option<&Approval> {
        let id = self.selected()?.approval()?;
        self.world().approvals.get(&id)
    }

    /// Brings the queue in line with what is known; how many items need a person who did not before.
    pub fn refresh_queue(&mut self) -> usize {
        self.queue
            .refresh(&self.hosts, self.now.steady, self.now.wall)
    }

    /// Queue items that need a person now, and since when the oldest waits.
    pub fn needs(&self) -> (usize, Option<Timestamp>) {
        let mut count = 0;
        let mut oldest: Option<Timestamp> = None;
        for key in self.queue.waiting(&self.hosts) {
            count += 1;
            let world = self.hosts.world(key.host);
            if let Some(since) = world.and_then(|world| item::since(world, &key.item)) {
                oldest = Some(oldest.map_or(since, |known| known.min(since)));
            }
        }
        (count, oldest)
    }

    /// What of a host needs a person now.
    pub fn needs_of(&self, id: HostId) -> usize {
        let open = |key: &&QueueKey| key.host == id && self.hosts.is_open(key);
        self.queue.order.iter().filter(open).count()
    }

    /// How long an approved call can still be taken back before it starts, in milliseconds; none = it is not held.
    pub fn starts_in(&self, approval: &Approval) -> Option<u64> {
        item::starts_in(self.now.wall, approval)
    }

    /// Why nothing that needs this scope can be sent with the credential of this console.
    pub fn lacks(&self, scope: Scope) -> Option<String> {
        let scopes = self.host().scopes.as_ref()?;
        if scopes.contains(&scope) {
            return None;
        }
        let has: Vec<String> = scopes.iter().map(ToString::to_string).collect();
        let has = format::names(&has);
        Some(format!(
            "the token lacks the scope `{scope}` (it has {has})"
        ))
    }
}
