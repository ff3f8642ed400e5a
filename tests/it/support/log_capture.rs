//! What the code of a test logs, at every level.

use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Takes what this thread logs while it is there.
pub struct LogCapture {
    lines: Lines,
    _guard: DefaultGuard,
    /// `tracing` asks a single subscriber through the thread that reaches a log line first. Another test may be that
    /// thread, and has none, so the line would be off for this one too. With two, `tracing` asks both.
    _second: Dispatch,
}

impl LogCapture {
    /// Begins.
    pub fn start() -> Self {
        let lines = Lines::default();
        let writer = lines.clone();
        let second = Dispatch::new(tracing::subscriber::NoSubscriber::new());
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        Self {
            lines,
            _guard: tracing::subscriber::set_default(subscriber),
            _second: second,
        }
    }

    /// What was logged so far; there is something at a level that nobody sees by default.
    pub fn text(&self) -> String {
        let text = String::from_utf8(self.lines.0.lock().unwrap().clone()).unwrap();
        assert!(
            text.contains("TRACE") || text.contains("DEBUG"),
            "logs were taken"
        );
        text
    }
}
