//! The screens of the console, each with its title and its keys.
//!
//! A screen is a name here; what it shows is known elsewhere.

use crate::tui::action::Action;
use crate::tui::keymap::context::Context;

/// Every screen: its word after `:`, its title, the action that goes to it, whether it asks, and what it is for. Its
/// keymap table has its name.
macro_rules! screens {
    ($($variant:ident = $word:literal, $title:literal, $action:ident, $asks:literal, $about:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Screen { $(#[doc = $about] $variant),+ }

        impl Screen {
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }

            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }

            /// Whether it shows what the engine answers, beside the snapshot and the events.
            pub const fn asks(self) -> bool {
                match self { $(Self::$variant => $asks),+ }
            }

            /// The action that goes to it.
            pub const fn action(self) -> Action {
                match self { $(Self::$variant => Action::$action),+ }
            }

            /// Its keymap table.
            pub const fn context(self) -> Context {
                match self { $(Self::$variant => Context::$variant),+ }
            }
        }
    };
}

screens! {
    Queue = "queue", "Queue", ScreenQueue, false, "What needs a person.";
    Live = "live", "Live", ScreenLive, false, "Every session.";
    Session = "session", "Session", ScreenSession, false, "One transcript.";
    Channels = "channels", "Channels", ScreenChannels, false, "Channels.";
    Continuations = "continuations", "Continuations", ScreenContinuations, true, "What runs, waits, was interrupted or has ended.";
    Rules = "rules", "Rules", ScreenRules, true, "Rules and session grants, and what they match.";
    CacheCost = "cache", "Cache & cost", ScreenCacheCost, true, "Cached responses, spending, budgets.";
    Memory = "memory", "Memory", ScreenMemory, true, "What is remembered, and what goes.";
    Audit = "audit", "Audit & log", ScreenAudit, true, "Who did what.";
    Doctor = "doctor", "Doctor", ScreenDoctor, true, "Checks with fixes, hooks, models.";
    Resources = "resources", "Resources", ScreenResources, true, "Tools, people, and whatever else is listed and nothing more.";
    Datasets = "datasets", "Datasets", ScreenDatasets, true, "Tables that people sent.";
    Servers = "servers", "Servers", ScreenServers, true, "Servers of tools.";
    Stats = "stats", "Statistics", ScreenStats, true, "Cost and health over time.";
    Fleet = "fleet", "Fleet", ScreenFleet, true, "Every channel of every daemon.";
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
}
