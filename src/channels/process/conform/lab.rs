//! What the cases share: the program, and where its account stands.

use std::sync::Mutex;

use crate::channels::sync::lock;
use crate::client::program::{LogLine, ProgramStarter};

/// What cases share: the program, and where its account stands.
pub struct Lab<'a> {
    /// Starts it.
    pub program: &'a dyn ProgramStarter,
    /// Hears its standard error.
    pub log: LogLine,
    /// Position after the last item that was acknowledged.
    cursor: Mutex<Option<String>>,
    /// Numbers of texts, so that no two are the same.
    texts: Mutex<u32>,
}

impl<'a> Lab<'a> {
    /// Nothing was tried yet.
    pub fn new(program: &'a dyn ProgramStarter, log: LogLine) -> Self {
        Self {
            program,
            log,
            cursor: Mutex::default(),
            texts: Mutex::default(),
        }
    }

    /// Position after the last item that was acknowledged.
    pub fn cursor(&self) -> Option<String> {
        let cursor = lock(&self.cursor);
        cursor.clone()
    }

    /// An item was acknowledged whose position is this.
    pub fn move_to(&self, cursor: Option<String>) {
        if cursor.is_some() {
            *lock(&self.cursor) = cursor;
        }
    }

    /// A text that was not sent before.
    pub fn text(&self, about: &str) -> String {
        let mut texts = lock(&self.texts);
        *texts += 1;
        format!("{about} {texts}")
    }
}
