//! What the process under test says about itself, one line a system call, so that the trace holds it in its true order
//! with everything that reached the disk.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::power_loss::logical::Logical;
use crate::support::world::Watcher;

/// A line.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub enum Line {
    /// Commit `n` was answered: written at once, before anything else is done.
    Answered { n: u64, what: String, durable: bool },
    /// What the database says after commit `n`.
    State(State),
    /// Until the next state, commits are grouped as it comes: their single states are not known.
    Together,
}

/// What the database says after a commit.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct State {
    /// Which commit.
    pub n: u64,
    /// Over everything.
    pub state: u64,
    /// Newest event, and the sum up to it.
    pub event: Option<(u64, u64)>,
    /// Newest audit row, and the sum up to it.
    pub audit: Option<(u64, u64)>,
    /// Runs of tools.
    pub attempts: u64,
    /// Of the process.
    pub epoch: u64,
}

/// Appends lines.
pub struct Journal {
    file: Mutex<File>,
    next: AtomicU64,
}

impl Journal {
    /// Goes on behind `next` lines of earlier processes.
    pub fn open(path: &Path, next: u64) -> Self {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        Self {
            file: Mutex::new(file),
            next: AtomicU64::new(next),
        }
    }

    fn put(&self, line: &Line) {
        let text = serde_json::to_string(line).unwrap() + "\n";
        self.file
            .lock()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }
}

impl Watcher for Journal {
    fn answered(&self, what: &str, durable: bool) -> u64 {
        let n = self.next.fetch_add(1, Ordering::SeqCst);
        let what = what.rsplit("::").next().unwrap_or(what).to_owned();
        self.put(&Line::Answered { n, what, durable });
        n
    }

    fn state(&self, n: u64, epoch: u64, conn: &rusqlite::Connection) {
        let logical = Logical::read(conn).unwrap();
        self.put(&Line::State(State {
            n,
            state: logical.state,
            event: logical.events.last().copied(),
            audit: logical.audit.last().copied(),
            attempts: logical.attempts,
            epoch,
        }));
    }

    fn together(&self) {
        self.put(&Line::Together);
    }
}
