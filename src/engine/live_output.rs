//! Output of a running tool on its way to people who watch, without secrets, however it is cut into pieces.

use std::sync::Mutex;

use crate::engine::lock::lock;
use crate::text::redact::Redactor;
use crate::text::redact::seam::{End, Seam};

/// The output of one run. Held back is only what may be the beginning of a secret.
#[derive(Debug)]
pub struct LiveOutput(Mutex<Seam>);

impl LiveOutput {
    /// Nothing came yet.
    pub fn new(redactor: &Redactor) -> Self {
        Self(Mutex::new(Seam::new(redactor.clone())))
    }

    /// Takes the next piece and shows what can be shown by now.
    pub fn push(&self, piece: &str, show: impl FnOnce(String)) {
        self.step(|seam| seam.push(piece), show);
    }

    /// Notes that something is left out here.
    pub fn omit(&self, show: impl FnOnce(String)) {
        self.step(Seam::omit, show);
    }

    /// Shows the rest at the end of the run. The run may have been cut off.
    pub fn finish(&self, show: impl FnOnce(String)) {
        self.step(|seam| seam.finish(End::BrokenOff), show);
    }

    /// Shows while it holds the lock: pieces stay in order.
    fn step(&self, step: impl FnOnce(&mut Seam) -> String, show: impl FnOnce(String)) {
        let mut seam = lock(&self.0);
        let text = step(&mut seam);
        if !text.is_empty() {
            show(text);
        }
    }
}
