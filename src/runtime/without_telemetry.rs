//! What stands in for the exporter of traces and logs in a program that was built without it.

use crate::engine::core::Engine;

/// Sends nothing.
pub struct Telemetry;

impl Telemetry {
    /// Says that nothing is sent, where the configuration names a collector.
    pub async fn start(engine: &Engine) -> Self {
        if engine.settings.telemetry.is_some() {
            tracing::warn!(
                "the configuration names a collector, but this binary was built without OpenTelemetry"
            );
        }
        Self
    }

    /// Does nothing.
    pub async fn stop(self) {}
}
