//! Letting running work end before the process does. Nothing new is begun; what runs goes on, and replies go out.
//!
//! Messages are taken in and stored as always: they wait for the next start, like approvals that are decided now.

use std::time::Duration;

use tokio::time::Instant;

use crate::clock::Timestamp;
use crate::engine::core::Engine;
use crate::engine::views::announce_engine;
use crate::protocol::snapshot::Draining;

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub left: Draining,
    /// Whole seconds until what is left must let go.
    pub seconds: u64,
    /// Whether turns or deliveries changed, and not only time passed.
    pub changed: bool,
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = |count: u32, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            _ => format!("{count} {many}"),
        };
        write!(
            f,
            "draining: {}, {}; {} s left",
            plural(self.left.turns, "turn", "turns"),
            plural(self.left.deliveries, "delivery", "deliveries"),
            self.seconds
        )
    }
}

impl Engine {
    /// Begins nothing more and waits until nothing runs and every reply that can go out is out, `grace` at most.
    /// `report` hears of every change and every second. With nothing to wait for it returns at once.
    pub async fn drain(&self, grace: Duration, mut report: impl FnMut(Progress)) {
        let since = self.clock.now();
        let deadline = since.plus_millis(i64::try_from(grace.as_millis()).unwrap_or(i64::MAX));
        let end = Instant::now() + grace;
        let mut told: Option<(u32, u32, u64)> = None;
        let mut outbox = self.store.outbox_changes();
        loop {
            outbox.mark_unchanged();
            // Before the first look, so that nothing begins behind it.
            let begun = self.sessions.draining().is_some();
            if !begun {
                self.sessions.drain(Draining {
                    since,
                    deadline,
                    turns: 0,
                    deliveries: 0,
                });
            }
            let running = self.sessions.running_count();
            let left = Draining {
                since,
                deadline,
                turns: u32::try_from(running).unwrap_or(u32::MAX),
                deliveries: self.deliveries_under_way(deadline).await,
            };
            let remaining = end.saturating_duration_since(Instant::now());
            let seconds = remaining.as_secs_f64().ceil() as u64;
            let changed = told.is_none_or(|(turns, deliveries, _)| {
                (turns, deliveries) != (left.turns, left.deliveries)
            });
            if changed {
                self.sessions.drain(left);
                announce_engine(self).await;
            }
            if (left.turns == 0 && left.deliveries == 0) || remaining.is_zero() {
                return;
            }
            if changed || told.is_none_or(|(_, _, before)| before != seconds) {
                told = Some((left.turns, left.deliveries, seconds));
                report(Progress {
                    left,
                    seconds,
                    changed,
                });
            }
            // A bridge that connects or is lost rings no bell: it is seen with the next second that is told.
            let second = remaining.saturating_sub(Duration::from_secs(seconds.saturating_sub(1)));
            tokio::select! {
                () = self.sessions.running_count_changes(running) => {}
                _ = outbox.changed() => {}
                () = tokio::time::sleep(second) => {}
            }
        }
    }

    /// Parts that are being sent or can be sent before `deadline`: nobody waits for a channel that is not connected.
    async fn deliveries_under_way(&self, deadline: Timestamp) -> u32 {
        let open = self
            .store
            .read(move |reader| reader.open_deliveries(deadline))
            .await;
        let open = match open {
            Ok(open) => open,
            Err(error) => {
                tracing::warn!(%error, "cannot read the messages to send");
                return 0;
            }
        };
        let sends = !self.is_held() && self.store.problem().is_none();
        open.into_iter()
            .filter(|(channel, _)| sends && self.delivery.link(channel).is_connected())
            .map(|(_, count)| count)
            .sum()
    }
}
