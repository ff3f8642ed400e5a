//! A bridge between a real homeserver and an engine side in memory.

use std::sync::Arc;
use std::time::Duration;

use leverframe::channels::channel::{Bridge, ChannelError};
use leverframe::channels::http::HttpTimes;
use leverframe::channels::matrix::bridge::{MatrixBridge, MatrixOptions};
use leverframe::channels::matrix::deliver::Intervals;
use leverframe::channels::pacing::PacingLimits;
use leverframe::client::channel_port::ChannelPort;
use leverframe::clock::Clock;
use leverframe::config::secret::Secret;
use leverframe::protocol::bridge::InboundBody;
use leverframe::protocol::enums::ChannelState;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::matrix::synapse::Account;
use crate::support::daemon::DEADLINE;
use crate::telegram::port::{Ledger, TestPort};

/// Fast times, no pacing.
pub fn options() -> MatrixOptions {
    MatrixOptions {
        hold: Duration::from_secs(5),
        margin: Duration::from_secs(15),
        http: HttpTimes {
            connect: Duration::from_secs(2),
            request: Duration::from_secs(8),
            ..HttpTimes::default()
        },
        pacing: PacingLimits {
            typing: Duration::from_secs(4),
            progress: 1,
            overall: Duration::ZERO,
            burst: 10,
        },
        intervals: Intervals {
            send: Duration::ZERO,
            edit: Duration::ZERO,
        },
        page_rest: Duration::ZERO,
    }
}

/// A bridge that runs.
pub struct Running {
    pub stop: CancellationToken,
    pub task: JoinHandle<Result<(), ChannelError>>,
}

pub fn bridge(url: &str, token: &str, options: MatrixOptions) -> MatrixBridge {
    MatrixBridge::new("mx", url, Some(Secret::new(token)), Clock::System, options)
}

pub fn run(url: &str, token: &str, port: &Arc<TestPort>) -> Running {
    run_with(url, token, port, options())
}

pub fn run_with(url: &str, token: &str, port: &Arc<TestPort>, options: MatrixOptions) -> Running {
    let bridge = bridge(url, token, options);
    let stop = CancellationToken::new();
    let (port, shutdown) = (Arc::clone(port) as Arc<dyn ChannelPort>, stop.clone());
    Running {
        stop,
        task: tokio::spawn(async move { bridge.run(port, shutdown).await }),
    }
}

impl Running {
    /// Stops it politely.
    pub async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(DEADLINE, self.task)
            .await
            .expect("stops in time")
            .expect("no panic")
            .expect("ends well");
    }

    /// Ends it as a kill would.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    /// Waits for the error it ends with.
    pub async fn error(self) -> ChannelError {
        tokio::time::timeout(DEADLINE, self.task)
            .await
            .expect("ends in time")
            .expect("no panic")
            .expect_err("ends with an error")
    }
}

/// Runs it until the position from which it goes on is stored.
pub async fn connected(url: &str, bot: &Account, port: &Arc<TestPort>) -> Running {
    let running = run(url, &bot.token, port);
    port.wait_until("a position and a connection", |ledger| {
        let well = ledger
            .last_health()
            .is_some_and(|health| health.state == ChannelState::Connected);
        ledger.cursor.is_some() && well
    })
    .await;
    running
}

/// What the records without a message say.
pub fn others(ledger: &Ledger) -> Vec<String> {
    let bodies = ledger.inbox.iter().map(|inbound| &inbound.body);
    bodies
        .filter_map(|body| match body {
            InboundBody::Other { what } | InboundBody::Media { what, .. } => Some(what.clone()),
            InboundBody::Text { .. } | InboundBody::Click { .. } => None,
        })
        .collect()
}
