//! The daemons of a console, and what is known of each. One of them has the focus: an index, and nothing moves when it
//! changes. There is always at least one.

use std::collections::BTreeSet;

use crate::clock::Timestamp;
use crate::console::drafts::Drafts;
use crate::console::format;
use crate::console::ids::HostId;
use crate::console::item;
use crate::console::item::QueueKey;
use crate::console::rehearsals::Rehearsals;
use crate::console::undo::Undo;
use crate::console::world::World;
use crate::protocol::enums::Scope;
use crate::protocol::ids::ApprovalId;

/// At most this many daemons at once: their names must fit where they are shown.
pub const MOST: usize = 16;

/// Whether the engine can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// Not yet.
    Connecting,
    /// Yes.
    Live { since: Timestamp },
    /// Not any more; it is tried again in the background.
    Lost { why: String, since: Timestamp },
    /// No, and nothing is tried: somebody else may have its place. A person has to look.
    Refused { why: String, since: Timestamp },
}

/// What came of an emergency stop on one host; none = no answer yet.
pub type StopResult = Option<Result<(), String>>;

/// A daemon to be attached to beside others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAddress {
    /// What the operator calls it; none = what it calls itself.
    pub name: Option<String>,
    /// Its address, without a credential.
    pub address: String,
}

/// A daemon and everything that is its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    given_name: Option<String>,
    /// Stands for its name for as long as nothing better is known.
    address: String,
    name: String,
    /// Words for the header: `local`, `attached to …`.
    pub place: String,
    /// Whether it can be reached.
    pub link: Link,
    /// What the credential may do there; none = everything.
    pub scopes: Option<Vec<Scope>>,
    /// What is known of its engine.
    pub world: World,
    /// Texts for it that were left without being sent.
    pub drafts: Drafts,
    /// Decisions on their way to it.
    pub deciding: BTreeSet<ApprovalId>,
    /// What was done there and can perhaps be taken back.
    pub undo: Undo,
    /// Commands that were rehearsed there.
    pub rehearsals: Rehearsals,
}

impl Host {
    /// Whether the daemon runs on this machine.
    pub fn is_here(&self) -> bool {
        !self.address.contains("://")
    }

    fn new(address: HostAddress, place: String) -> Self {
        Self {
            given_name: address.name,
            name: address.address.clone(),
            address: address.address,
            place,
            link: Link::Connecting,
            scopes: None,
            world: World::default(),
            drafts: Drafts::default(),
            deciding: BTreeSet::new(),
            undo: Undo::default(),
            rehearsals: Rehearsals::default(),
        }
    }

    /// Whether its engine can be reached.
    pub fn is_live(&self) -> bool {
        matches!(self.link, Link::Live { .. })
    }

    /// The connection in words: `whole`, or only where it is not as it should be.
    pub fn link_word(&self, now: Timestamp, whole: bool) -> String {
        match &self.link {
            Link::Connecting => "connecting".to_owned(),
            Link::Lost { since, .. } if whole => format!("LOST {}", format::age(now, *since)),
            Link::Lost { .. } => "LOST".to_owned(),
            Link::Refused { .. } => "REFUSED".to_owned(),
            Link::Live { since } if whole => format!("connected {}", format::age(now, *since)),
            Link::Live { .. } => String::new(),
        }
    }
}

/// The daemons of a console.
#[derive(Debug, Clone, PartialEq)]
pub struct Hosts {
    first: Host,
    others: Vec<Host>,
    focused: HostId,
}

impl Hosts {
    /// One daemon, reached at this place.
    pub fn one(place: String) -> Self {
        let address = HostAddress {
            name: None,
            address: place.clone(),
        };
        Self {
            first: Host::new(address, place),
            others: Vec::new(),
            focused: HostId::default(),
        }
    }

    /// Several daemons; the first has the focus. None where there are fewer than two.
    pub fn several_of(hosts: Vec<HostAddress>) -> Option<Self> {
        let mut hosts = hosts.into_iter().take(MOST).map(|host| {
            let place = format!("attached to {}", host.address);
            Host::new(host, place)
        });
        let first = hosts.next()?;
        let others: Vec<Host> = hosts.collect();
        if others.is_empty() {
            return None;
        }
        let mut hosts = Self {
            first,
            others,
            focused: HostId::default(),
        };
        hosts.rename();
        Some(hosts)
    }

    /// Whether there is more than one.
    pub fn several(&self) -> bool {
        !self.others.is_empty()
    }

    pub fn count(&self) -> usize {
        self.others.len() + 1
    }

    /// All, in the order of the command line.
    pub fn iter(&self) -> impl Iterator<Item = (HostId, &Host)> {
        let hosts = std::iter::once(&self.first).chain(&self.others);
        (0..=u8::MAX).map(HostId).zip(hosts)
    }

    pub fn ids(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..u8::try_from(self.count()).unwrap_or(u8::MAX)).map(HostId)
    }

    /// Which one the screens show.
    pub fn focused(&self) -> HostId {
        self.focused
    }

    /// Gives a host the focus; one that does not exist leaves it where it is.
    pub fn focus(&mut self, id: HostId) {
        if self.get(id).is_some() {
            self.focused = id;
        }
    }

    /// A host; none = there is no such host.
    pub fn get(&self, id: HostId) -> Option<&Host> {
        match usize::from(id.0).checked_sub(1) {
            None => Some(&self.first),
            Some(other) => self.others.get(other),
        }
    }

    pub fn get_mut(&mut self, id: HostId) -> Option<&mut Host> {
        match usize::from(id.0).checked_sub(1) {
            None => Some(&mut self.first),
            Some(other) => self.others.get_mut(other),
        }
    }

    /// The host that has the focus.
    pub fn here(&self) -> &Host {
        self.get(self.focused).unwrap_or(&self.first)
    }

    /// The host that has the focus, to change it.
    pub fn here_mut(&mut self) -> &mut Host {
        match usize::from(self.focused.0).checked_sub(1) {
            Some(other) if other < self.others.len() => self.others.get_mut(other),
            Some(_) | None => None,
        }
        .unwrap_or(&mut self.first)
    }

    pub fn world(&self, id: HostId) -> Option<&World> {
        self.get(id).map(|host| &host.world)
    }

    /// What is known of every host.
    pub fn worlds(&self) -> impl Iterator<Item = &World> {
        self.iter().map(|(_, host)| &host.world)
    }

    /// The name of a host; no two are the same. Outside text, when the daemon says it.
    pub fn name(&self, id: HostId) -> &str {
        self.get(id).map_or("", |host| host.name.as_str())
    }

    /// The names of all hosts; of the only one, what it calls itself.
    pub fn names(&self) -> String {
        if !self.several() {
            let engine = self.first.world.engine.as_ref();
            return engine.map_or_else(|| "the engine".to_owned(), |e| e.instance.clone());
        }
        let names: Vec<&str> = self.iter().map(|(_, host)| host.name.as_str()).collect();
        names.join(", ")
    }

    /// Whether an item of the queue needs a person now.
    pub fn is_open(&self, key: &QueueKey) -> bool {
        self.world(key.host)
            .is_some_and(|world| item::is_open(world, &key.item))
    }

    /// Names follow what the daemons call themselves, where the operator gave none. No two become the same: a later
    /// one is numbered, and what the operator chose is never taken by another.
    pub fn rename(&mut self) {
        let mut used: BTreeSet<String> = BTreeSet::new();
        let mut names = Vec::new();
        for (_, host) in self.iter() {
            used.extend(host.given_name.clone());
        }
        for (id, host) in self.iter() {
            if let Some(given) = &host.given_name {
                names.push(given.clone());
                continue;
            }
            let engine = host.world.engine.as_ref();
            let says = engine
                .map(|engine| engine.instance.trim())
                .filter(|instance| !instance.is_empty());
            let base = says.unwrap_or(&host.address);
            let mut name = base.to_owned();
            let mut n = usize::from(id.0) + 1;
            while !used.insert(name.clone()) {
                name = format!("{base}-{n}");
                n += 1;
            }
            names.push(name);
        }
        let hosts = std::iter::once(&mut self.first).chain(&mut self.others);
        for (host, name) in hosts.zip(names) {
            host.name = name;
        }
    }
}
