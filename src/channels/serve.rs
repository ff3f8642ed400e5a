//! The loops that carry what goes from the engine to a platform.
//!
//! Nothing here knows a platform.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::channels::outbound::{self, Outbox};
use crate::channels::platform::Platform;
use crate::channels::sync::unless_stopped;
use crate::channels::{files, progress};
use crate::client::channel_port::ChannelPort;

/// Sends, types, shows progress and fetches files until `stop`, then finishes what was begun.
pub async fn run(port: Arc<dyn ChannelPort>, platform: Arc<dyn Platform>, stop: CancellationToken) {
    let outbox = Arc::new(Outbox {
        port: Arc::clone(&port),
        platform: Arc::clone(&platform),
    });
    tokio::join!(
        outbound::run(outbox, stop.clone()),
        type_until(port.as_ref(), platform.as_ref(), &stop),
        progress::run(Arc::clone(&port), Arc::clone(&platform), stop.clone()),
        files::run(Arc::clone(&port), Arc::clone(&platform), stop.clone()),
    );
}

/// Sends and fetches files until `stop`, then finishes what was begun. Decoration waits until the bridge runs again.
pub async fn run_without_receiving(
    port: Arc<dyn ChannelPort>,
    platform: Arc<dyn Platform>,
    stop: CancellationToken,
) {
    let outbox = Arc::new(Outbox {
        port: Arc::clone(&port),
        platform: Arc::clone(&platform),
    });
    tokio::join!(
        outbound::run(outbox, stop.clone()),
        files::run(port, platform, stop.clone()),
    );
}

async fn type_until(port: &dyn ChannelPort, platform: &dyn Platform, stop: &CancellationToken) {
    let typing = async {
        loop {
            let conversation = port.next_typing().await;
            platform.typing(&conversation).await;
        }
    };
    unless_stopped(stop, typing).await;
}
