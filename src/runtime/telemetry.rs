//! Starts and stops the exporter of traces and logs, where the configuration names a collector.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::settings::{ProviderKind, Settings};
use crate::engine::core::Engine;
use crate::protocol::telemetry::{ExportOutcome, Signal};
use crate::runtime::in_process::InProcessClient;
use crate::telemetry::exporter::{Exporter, Parts};
use crate::telemetry::report::TelemetryReport;

/// The exporter of this process; none = nothing is sent.
pub struct Telemetry(Option<Exporter>);

impl Telemetry {
    /// Follows the events of an engine from now on. Where that cannot be, everything else goes on.
    pub async fn start(engine: &Engine) -> Self {
        let settings = &engine.settings;
        let Some(collector) = settings.telemetry.clone() else {
            return Self(None);
        };
        let parts = Parts {
            settings: collector,
            instance: settings.instance.clone(),
            providers: providers(settings),
            client: Arc::new(InProcessClient::new(engine.clone())),
            redactor: engine.redactor.clone(),
            report: Arc::new(EngineReport(engine.clone())),
        };
        match Exporter::start(parts).await {
            Ok(exporter) => Self(Some(exporter)),
            Err(why) => {
                tracing::warn!(%why, "cannot send traces and logs");
                engine.telemetry.set_problem(Some(why));
                Self(None)
            }
        }
    }

    /// Sends what is left. The engine has stopped, and its database is still open.
    pub async fn stop(self) {
        if let Some(exporter) = self.0 {
            exporter.stop().await;
        }
    }
}

/// What the semantic conventions call the providers of the configuration.
fn providers(settings: &Settings) -> BTreeMap<String, String> {
    let providers = settings.providers.iter();
    let named = providers.map(|(name, provider)| {
        let known = match provider.kind {
            ProviderKind::Anthropic => "anthropic",
            ProviderKind::Gemini => "gcp.gemini",
            // Many servers speak these.
            ProviderKind::OpenAiChat
            | ProviderKind::OpenAiResponses
            | ProviderKind::Ollama
            | ProviderKind::Scripted => name.as_str(),
        };
        (name.clone(), known.to_owned())
    });
    named.collect()
}

/// The engine keeps it for the doctor and the metrics.
struct EngineReport(Engine);

impl TelemetryReport for EngineReport {
    fn count(&self, signal: Signal, outcome: ExportOutcome, count: u64) {
        self.0.telemetry.count(signal, outcome, count);
    }

    fn problem(&self, why: Option<&str>) {
        self.0.telemetry.set_problem(why.map(str::to_owned));
    }
}
