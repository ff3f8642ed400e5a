//! The tables of a keymap file.

/// Every context in file order: its table's name, whether `[global]` holds there too, and what it is.
macro_rules! contexts {
    ($($variant:ident = $name:literal, $sees_global:literal, $about:literal;)+) => {
        /// Where a binding holds.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Context { $(#[doc = $about] $variant),+ }

        impl Context {
            /// All, in file order.
            pub const ALL: &'static [Context] = &[$(Context::$variant),+];

            /// The table's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|c| c.name() == name)
            }

            /// Whether `[global]` holds here too.
            pub const fn sees_global(self) -> bool {
                match self { $(Self::$variant => $sees_global),+ }
            }
        }
    };
}

contexts! {
    Global = "global", false, "On every screen; not in dialogs and text fields (except the emergency stop).";
    Queue = "queue", true, "The Queue and its card. The only place for decisions.";
    Live = "live", true, "Live.";
    Session = "session", true, "Session.";
    Channels = "channels", true, "Channels.";
    Continuations = "continuations", true, "Continuations.";
    Rules = "rules", true, "Rules.";
    CacheCost = "cache-cost", true, "Cache & cost.";
    Memory = "memory", true, "Memory.";
    Audit = "audit", true, "Audit & log.";
    Doctor = "doctor", true, "Doctor.";
    Resources = "resources", true, "Resources.";
    Datasets = "datasets", true, "Datasets.";
    Servers = "servers", true, "Servers.";
    Stats = "stats", true, "Statistics.";
    Fleet = "fleet", true, "Fleet.";
    Replay = "replay", true, "A replay, in place of Session.";
    Dialog = "dialog", false, "Dialogs.";
    Text = "text", false, "Text fields.";
}
