//! Tells systemd that this process is well, for as long as its engine and its database answer.

use crate::protocol::request::{GetEngine, Query};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::client::console_client::ConsoleClient;
use crate::runtime::notify::notify;

/// Sends `WATCHDOG=1` every half of `limit`, each time only after the engine answered a question that reads the
/// database. Does nothing where the service manager named no socket or no limit.
pub fn watch(
    client: Arc<dyn ConsoleClient>,
    socket: Option<PathBuf>,
    limit: Option<Duration>,
) -> Option<JoinHandle<()>> {
    let (socket, period) = (socket?, limit? / 2);
    Some(tokio::spawn(async move {
        let mut ticks = interval(period.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match timeout(period, client.query(Query::GetEngine(GetEngine {}))).await {
                Ok(Ok(_)) => notify(Some(&socket), "WATCHDOG=1"),
                Ok(Err(problem)) => {
                    tracing::error!(%problem, "not healthy: not notifying the watchdog");
                }
                Err(_) => tracing::error!("no answer: not notifying the watchdog"),
            }
        }
    }))
}
