//! The screens of the console, each with its title and its keys.
//!
//! A screen is a name here; what it shows is known elsewhere.

use crate::tui::action::Action;
use crate::tui::keymap::context::Context;

/// A screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    /// What needs a person.
    Queue,
    /// Every session.
    Live,
    /// One transcript.
    Session,
    /// Channels.
    Channels,
    /// What runs, waits, was interrupted or has ended.
    Continuations,
    /// Rules and session grants, and what they match.
    Rules,
    /// Cached responses, spending, budgets.
    CacheCost,
    /// What is remembered, and what goes.
    Memory,
    /// Who did what.
    Audit,
    /// Checks with fixes, hooks, models.
    Doctor,
    /// Tools, people, and whatever else is listed and nothing more.
    Resources,
    /// Tables that people sent.
    Datasets,
    /// Servers of tools.
    Servers,
    /// Cost and health over time.
    Stats,
    /// Every channel of every daemon.
    Fleet,
}

impl Screen {
    /// Those with a number, in its order.
    pub const ALL: &'static [Screen] = &[
        Screen::Queue,
        Screen::Live,
        Screen::Session,
        Screen::Channels,
        Screen::Continuations,
        Screen::Rules,
        Screen::CacheCost,
        Screen::Memory,
        Screen::Audit,
        Screen::Doctor,
    ];

    /// Its title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Queue => "Queue",
            Self::Live => "Live",
            Self::Session => "Session",
            Self::Channels => "Channels",
            Self::Continuations => "Continuations",
            Self::Rules => "Rules",
            Self::CacheCost => "Cache & cost",
            Self::Memory => "Memory",
            Self::Audit => "Audit & log",
            Self::Doctor => "Doctor",
            Self::Resources => "Resources",
            Self::Datasets => "Datasets",
            Self::Servers => "Servers",
            Self::Stats => "Statistics",
            Self::Fleet => "Fleet",
        }
    }

    /// Whether it shows what the engine answers, beside the snapshot and the events.
    pub const fn asks(self) -> bool {
        match self {
            Self::Queue | Self::Live | Self::Session | Self::Channels => false,
            Self::Continuations
            | Self::Rules
            | Self::CacheCost
            | Self::Memory
            | Self::Audit
            | Self::Doctor
            | Self::Resources
            | Self::Datasets
            | Self::Servers
            | Self::Stats
            | Self::Fleet => true,
        }
    }

    /// The action that goes to it.
    pub const fn action(self) -> Action {
        match self {
            Self::Queue => Action::ScreenQueue,
            Self::Live => Action::ScreenLive,
            Self::Session => Action::ScreenSession,
            Self::Channels => Action::ScreenChannels,
            Self::Continuations => Action::ScreenContinuations,
            Self::Rules => Action::ScreenRules,
            Self::CacheCost => Action::ScreenCacheCost,
            Self::Memory => Action::ScreenMemory,
            Self::Audit => Action::ScreenAudit,
            Self::Doctor => Action::ScreenDoctor,
            Self::Resources => Action::ScreenResources,
            Self::Datasets => Action::ScreenDatasets,
            Self::Servers => Action::ScreenServers,
            Self::Stats => Action::ScreenStats,
            Self::Fleet => Action::ScreenFleet,
        }
    }

    /// Its keymap table.
    pub const fn context(self) -> Context {
        match self {
            Self::Queue => Context::Queue,
            Self::Live => Context::Live,
            Self::Session => Context::Session,
            Self::Channels => Context::Channels,
            Self::Continuations => Context::Continuations,
            Self::Rules => Context::Rules,
            Self::CacheCost => Context::CacheCost,
            Self::Memory => Context::Memory,
            Self::Audit => Context::Audit,
            Self::Doctor => Context::Doctor,
            Self::Resources => Context::Resources,
            Self::Datasets => Context::Datasets,
            Self::Servers => Context::Servers,
            Self::Stats => Context::Stats,
            Self::Fleet => Context::Fleet,
        }
    }
}
