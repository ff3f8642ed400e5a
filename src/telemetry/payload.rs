//! Bodies of requests to a collector, and what it answers.

use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;

use crate::protocol::telemetry::Signal;
use crate::telemetry::attributes::text;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What every request says of its sender.
pub fn resource(service_name: &str, instance: &str) -> Resource {
    Resource {
        attributes: vec![
            text("service.name", service_name),
            text("service.version", VERSION),
            text("leverframe.instance", instance),
        ],
        ..Resource::default()
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "leverframe".to_owned(),
        version: VERSION.to_owned(),
        ..InstrumentationScope::default()
    }
}

/// The body with these spans.
pub fn traces(resource: &Resource, spans: &[Span]) -> Vec<u8> {
    let scope_spans = ScopeSpans {
        scope: Some(scope()),
        spans: spans.to_vec(),
        ..ScopeSpans::default()
    };
    let resource_spans = ResourceSpans {
        resource: Some(resource.clone()),
        scope_spans: vec![scope_spans],
        ..ResourceSpans::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![resource_spans],
    }
    .encode_to_vec()
}

/// The body with these records.
pub fn logs(resource: &Resource, records: Vec<LogRecord>) -> Vec<u8> {
    let scope_logs = ScopeLogs {
        scope: Some(scope()),
        log_records: records,
        ..ScopeLogs::default()
    };
    let resource_logs = ResourceLogs {
        resource: Some(resource.clone()),
        scope_logs: vec![scope_logs],
        ..ResourceLogs::default()
    };
    ExportLogsServiceRequest {
        resource_logs: vec![resource_logs],
    }
    .encode_to_vec()
}

/// How many of a request the collector refused though it took the request. An answer that is none counts as none.
pub fn rejected(signal: Signal, answer: &[u8]) -> u64 {
    let rejected = match signal {
        Signal::Spans => ExportTraceServiceResponse::decode(answer)
            .ok()
            .and_then(|answer| answer.partial_success)
            .map(|partial| partial.rejected_spans),
        Signal::Logs => ExportLogsServiceResponse::decode(answer)
            .ok()
            .and_then(|answer| answer.partial_success)
            .map(|partial| partial.rejected_log_records),
    };
    rejected.map_or(0, |count| u64::try_from(count).unwrap_or(0))
}
