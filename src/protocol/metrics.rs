//! What monitoring reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counters since the start of the process, and what waits now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Metrics {
    /// In Prometheus' text format, version 0.0.4.
    pub text: String,
}
