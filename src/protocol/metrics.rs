//! Metrics for monitoring.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counters since the start of the daemon, and current queue sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Metrics {
    /// Metrics in Prometheus' text format, version 0.0.4.
    pub text: String,
}
