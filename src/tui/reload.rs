//! Notices that the user changed a theme or keymap. The system says when; nothing else here wakes an idle console.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::console::time::Millis;
use crate::tui::assets::{self, Fingerprint};

/// Least milliseconds between two looks where the system does not say when something is written.
const PAUSE_MS: u64 = 1_000;

/// How long a file rests before it is read. An editor empties a file first, and a half of it says other things.
const QUIET: Duration = Duration::from_millis(150);

/// What the user's files looked like last.
#[derive(Debug)]
pub struct Watch {
    user_dir: Option<PathBuf>,
    known: Fingerprint,
    looked: Millis,
    written: Arc<Notify>,
    // When the last write has rested long enough; none = no write since the last look.
    quiet_at: Option<Instant>,
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
            quiet_at: None,
            watcher,
        }
    }

    /// Waits until something is written in the user's directory, and the writer rests. A caller may drop the future
    /// and call again: the time of the last write stays known.
    pub async fn written(&mut self) {
        loop {
            let Some(quiet_at) = self.quiet_at else {
                self.written.notified().await;
                self.quiet_at = Some(Instant::now() + QUIET);
                continue;
            };
            tokio::select! {
                () = self.written.notified() => self.quiet_at = Some(Instant::now() + QUIET),
                () = sleep_until(quiet_at) => {
                    self.quiet_at = None;
                    return;
                }
            }
        }
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
