//! Noticing that the user wrote a theme or keymap. The system says when; nothing here wakes an idle console otherwise.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

use crate::console::time::Millis;
use crate::tui::assets::{self, Fingerprint};

/// Least milliseconds between two looks where the system does not say when something is written.
const PAUSE_MS: u64 = 1_000;

/// What the user's files looked like last.
#[derive(Debug)]
pub struct Watch {
    user_dir: Option<PathBuf>,
    known: Fingerprint,
    looked: Millis,
    written: Arc<Notify>,
    // None where the system does not say: then the console looks when it is awake anyway.
    watcher: Option<RecommendedWatcher>,
}

impl Watch {
    /// Watches `themes/` and `keymaps/` in here; none = nothing is the user's own.
    pub fn new(user_dir: Option<PathBuf>) -> Self {
        let written = Arc::new(Notify::new());
        let watcher = user_dir.as_deref().and_then(|user_dir| {
            watch(user_dir, Arc::clone(&written))
                .inspect_err(|error| tracing::info!(%error, "themes and keymaps are not watched"))
                .ok()
        });
        Self {
            known: user_dir
                .as_deref()
                .map(assets::fingerprint)
                .unwrap_or_default(),
            user_dir,
            looked: Millis(0),
            written,
            watcher,
        }
    }

    /// Waits until something is written in the user's directory.
    pub async fn written(&self) {
        self.written.notified().await;
    }

    /// Whether a theme or keymap is not what it was, after [`Watch::written`].
    pub fn changed(&mut self) -> bool {
        let Some(user_dir) = &self.user_dir else {
            return false;
        };
        let found = assets::fingerprint(user_dir);
        let changed = found != self.known;
        self.known = found;
        changed
    }

    /// The same where the system says nothing; at most once a second.
    pub fn changed_unsaid(&mut self, now: Millis) -> bool {
        if self.watcher.is_some() || now.since(self.looked) < PAUSE_MS {
            return false;
        }
        self.looked = now;
        self.changed()
    }
}

fn watch(user_dir: &Path, written: Arc<Notify>) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading the files is an event too, and the console reads them.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            written.notify_one();
        }
    })?;
    watcher.watch(user_dir, RecursiveMode::Recursive)?;
    Ok(watcher)
}
