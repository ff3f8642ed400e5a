//! Signals that end the process in order.

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM, SIGINT and SIGHUP, as one stream.
pub struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl EndSignals {
    /// Starts listening; from here on these signals do not kill the process by themselves.
    pub fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("listening for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("listening for SIGINT")?,
            hang_up: signal(SignalKind::hangup()).context("listening for SIGHUP")?,
        })
    }

    /// Waits for the next one; its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.hang_up.recv() => "SIGHUP",
        }
    }
}
