//! Signals that end the process in order, and the one that stops its engine.

use anyhow::Context as _;
use rustix::process::getuid;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::protocol::command::Actor;
use crate::protocol::enums::Surface;
use crate::protocol::request::{Command, Envelope};

/// SIGTERM, SIGINT and, where a terminal is the reason to run, SIGHUP, as one stream.
pub struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Option<Signal>,
}

impl EndSignals {
    /// Starts listening; from here on these signals do not kill the process by themselves.
    pub fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            hang_up: Some(hang_up()?),
            ..Self::listen_as_daemon()?
        })
    }

    /// The same for a daemon: SIGHUP does not end it.
    pub fn listen_as_daemon() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("listening for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("listening for SIGINT")?,
            hang_up: None,
        })
    }

    /// Waits for the next one; its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            () = received(self.hang_up.as_mut()) => "SIGHUP",
        }
    }
}

fn hang_up() -> anyhow::Result<Signal> {
    signal(SignalKind::hangup()).context("listening for SIGHUP")
}

async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// A command that came by signal: only this user and root can send one.
pub fn by_signal(command: Command) -> Envelope {
    Envelope {
        command,
        actor: Actor::Operator {
            uid: getuid().as_raw(),
            name: "signal".to_owned(),
            person: None,
        },
        surface: Surface::Cli,
        idempotency_key: None,
        trace: None,
    }
}

/// SIGHUP to a daemon: it reads its configuration again.
pub struct ReloadSignal {
    hang_up: Signal,
}

impl ReloadSignal {
    /// Starts listening; from here on the signal does not kill the process.
    pub fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            hang_up: hang_up()?,
        })
    }

    /// Waits for the next one; false = there will be none.
    pub async fn next(&mut self) -> bool {
        self.hang_up.recv().await.is_some()
    }
}

/// SIGUSR1: the emergency stop that needs no socket.
pub struct StopSignal {
    user: Signal,
}

impl StopSignal {
    /// Starts listening; from here on the signal does not kill the process.
    pub fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            user: signal(SignalKind::user_defined1()).context("listening for SIGUSR1")?,
        })
    }

    /// Waits for the next one; false = there will be none.
    pub async fn next(&mut self) -> bool {
        self.user.recv().await.is_some()
    }
}
