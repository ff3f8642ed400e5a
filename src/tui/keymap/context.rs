//! The tables of a keymap file.

/// Where a binding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// On every screen; not in dialogs and text fields (except the emergency stop).
    Global,
    /// The Queue and its card. The only place for decisions.
    Queue,
    /// Live.
    Live,
    /// Session.
    Session,
    /// Channels.
    Channels,
    /// Continuations.
    Continuations,
    /// Rules.
    Rules,
    /// Cache & cost.
    CacheCost,
    /// Memory.
    Memory,
    /// Audit & log.
    Audit,
    /// Doctor.
    Doctor,
    /// Resources.
    Resources,
    /// Datasets.
    Datasets,
    /// Servers.
    Servers,
    /// Statistics.
    Stats,
    /// Fleet.
    Fleet,
    /// A replay, in place of Session.
    Replay,
    /// Dialogs.
    Dialog,
    /// Text fields.
    Text,
}

impl Context {
    /// All, in file order.
    pub const ALL: &'static [Context] = &[
        Context::Global,
        Context::Queue,
        Context::Live,
        Context::Session,
        Context::Channels,
        Context::Continuations,
        Context::Rules,
        Context::CacheCost,
        Context::Memory,
        Context::Audit,
        Context::Doctor,
        Context::Resources,
        Context::Datasets,
        Context::Servers,
        Context::Stats,
        Context::Fleet,
        Context::Replay,
        Context::Dialog,
        Context::Text,
    ];

    /// The table's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Queue => "queue",
            Self::Live => "live",
            Self::Session => "session",
            Self::Channels => "channels",
            Self::Continuations => "continuations",
            Self::Rules => "rules",
            Self::CacheCost => "cache-cost",
            Self::Memory => "memory",
            Self::Audit => "audit",
            Self::Doctor => "doctor",
            Self::Resources => "resources",
            Self::Datasets => "datasets",
            Self::Servers => "servers",
            Self::Stats => "stats",
            Self::Fleet => "fleet",
            Self::Replay => "replay",
            Self::Dialog => "dialog",
            Self::Text => "text",
        }
    }

    /// The context of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|c| c.name() == name)
    }

    /// Whether `[global]` holds here too.
    pub const fn sees_global(self) -> bool {
        match self {
            Self::Queue
            | Self::Live
            | Self::Session
            | Self::Channels
            | Self::Continuations
            | Self::Rules
            | Self::CacheCost
            | Self::Memory
            | Self::Audit
            | Self::Doctor
            | Self::Resources
            | Self::Datasets
            | Self::Servers
            | Self::Stats
            | Self::Fleet
            | Self::Replay => true,
            Self::Global | Self::Dialog | Self::Text => false,
        }
    }
}
