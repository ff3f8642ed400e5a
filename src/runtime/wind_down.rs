//! The end of a process that was told to end: work may finish, then everything stops; who is in a hurry says so again.

use std::time::Duration;

use crate::engine::drain::Progress;
use crate::runtime::signals::EndSignals;
use crate::runtime::start::Running;

/// How long everything may take to stop in order when somebody is in a hurry. After that the process just ends, and
/// the next start classifies what was in flight.
const HURRY: Duration = Duration::from_millis(800);

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wound {
    /// Everything was stopped in order.
    Down,
    /// A further signal of this name cut it short; the process must end now.
    Short(&'static str),
}

/// Drains and stops. A signal while it drains ends the draining; one while it stops, or a stop that takes too long
/// after such a signal, ends it at once.
pub async fn wind_down(
    running: Running,
    signals: &mut EndSignals,
    report: impl FnMut(Progress),
) -> Wound {
    let hurry = tokio::select! {
        () = running.drain(report) => None,
        signal = signals.next() => Some(signal),
    };
    match hurry {
        None => tokio::select! {
            () = running.stop() => Wound::Down,
            signal = signals.next() => Wound::Short(signal),
        },
        Some(signal) => {
            tracing::info!(signal, "stopping without waiting any longer");
            match tokio::time::timeout(HURRY, running.stop()).await {
                Ok(()) => Wound::Down,
                Err(_) => Wound::Short(signal),
            }
        }
    }
}
