//! Noticing that the user wrote a theme or keymap. Looks at names, times and sizes, at most once a second
//! and only when the console is awake anyway; it never wakes it.

use std::path::PathBuf;

use crate::tui::assets::{self, Fingerprint};
use crate::tui::message::Millis;

/// Least milliseconds between two looks.
const PAUSE_MS: u64 = 1_000;

/// What the user's files looked like last.
#[derive(Debug)]
pub struct Watch {
    user_dir: Option<PathBuf>,
    known: Fingerprint,
    looked: Millis,
}

impl Watch {
    /// Watches `themes/` and `keymaps/` in here; none = nothing is the user's own.
    pub fn new(user_dir: Option<PathBuf>) -> Self {
        Self {
            known: user_dir
                .as_deref()
                .map(assets::fingerprint)
                .unwrap_or_default(),
            user_dir,
            looked: Millis(0),
        }
    }

    /// Whether something was written since the last look that said so.
    pub fn changed(&mut self, now: Millis) -> bool {
        let Some(user_dir) = &self.user_dir else {
            return false;
        };
        if now.since(self.looked) < PAUSE_MS {
            return false;
        }
        self.looked = now;
        let found = assets::fingerprint(user_dir);
        let changed = found != self.known;
        self.known = found;
        changed
    }
}
