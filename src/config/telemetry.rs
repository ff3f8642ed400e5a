//! `[telemetry]`: the collector that gets traces and logs, by OTLP over HTTP.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::secret::Secret;

/// `[telemetry]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetryTable {
    /// Address of the collector: `https://collector.example:4318`; left out: nothing is sent.
    pub endpoint: Option<String>,
    /// Headers of every request; `{secret}` stands for the secret.
    pub headers: Option<BTreeMap<String, String>>,
    /// Variable that holds the secret.
    pub secret_env: Option<String>,
    /// File that holds the secret, mode 0600.
    pub secret_file: Option<String>,
    /// Shell command that prints the secret.
    pub secret_command: Option<String>,
    /// Name of the service in what is sent.
    pub service_name: Option<String>,
    /// Share of the turns that are traced, 0 to 1.
    pub sample_ratio: Option<f64>,
}

/// The collector, and what it gets.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetrySettings {
    /// Its address, without a slash at the end; `/v1/traces` and `/v1/logs` are below it.
    pub endpoint: String,
    /// Headers of every request.
    pub headers: BTreeMap<String, Secret>,
    /// What must appear nowhere: the secret, and the values of headers from the environment.
    pub secrets: Vec<Secret>,
    /// Name of the service.
    pub service_name: String,
    /// Share of the turns that are traced, 0 to 1.
    pub sample_ratio: f64,
}
