//! A collector of ours: it reads the bodies of OTLP over HTTP as the protocol says, and keeps everything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::support::daemon::DEADLINE;
use crate::support::fake_http::{FakeHttp, Reply, Request};

/// What it got.
#[derive(Debug, Clone, Default)]
pub struct Exports {
    pub spans: Vec<Span>,
    pub records: Vec<LogRecord>,
    /// Attributes of the services that sent something.
    pub resources: Vec<BTreeMap<String, String>>,
    pub requests: Vec<Request>,
}

impl Exports {
    fn read(&mut self, request: &Request) {
        assert_eq!(request.method, "POST");
        assert_eq!(request.headers["content-type"], "application/x-protobuf");
        let body = request.raw.as_slice();
        match request.path.as_str() {
            "/v1/traces" => {
                let body = ExportTraceServiceRequest::decode(body).expect("spans");
                for of_resource in body.resource_spans {
                    let resource = of_resource.resource.expect("a resource");
                    self.resources.push(map(&resource.attributes));
                    let scopes = of_resource.scope_spans;
                    self.spans
                        .extend(scopes.into_iter().flat_map(|scope| scope.spans));
                }
            }
            "/v1/logs" => {
                let body = ExportLogsServiceRequest::decode(body).expect("records");
                for of_resource in body.resource_logs {
                    let resource = of_resource.resource.expect("a resource");
                    self.resources.push(map(&resource.attributes));
                    let scopes = of_resource.scope_logs;
                    self.records
                        .extend(scopes.into_iter().flat_map(|scope| scope.log_records));
                }
            }
            other => panic!("a request to {other}"),
        }
        self.requests.push(request.clone());
    }

    /// The spans with this name.
    pub fn named(&self, name: &str) -> Vec<&Span> {
        self.spans.iter().filter(|span| span.name == name).collect()
    }

    /// Whether these bytes were in anything.
    pub fn holds(&self, text: &str) -> bool {
        self.requests.iter().any(|request| {
            let mut windows = request.raw.windows(text.len());
            windows.any(|bytes| bytes == text.as_bytes())
        })
    }
}

/// The collector.
pub struct Collector {
    http: FakeHttp,
    seen: Arc<Mutex<Exports>>,
}

impl Collector {
    /// Takes everything.
    pub fn start() -> Self {
        // An empty message: everything was taken.
        Self::answering(|_| {
            Reply::Raw(
                b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_vec(),
            )
        })
    }

    /// Answers as `answer` says; what it answers with success counts as seen.
    pub fn answering(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let seen = Arc::new(Mutex::new(Exports::default()));
        let keeps = Arc::clone(&seen);
        let http = FakeHttp::start(move |request| {
            let reply = answer(request);
            if matches!(&reply, Reply::Raw(bytes) if bytes.starts_with(b"HTTP/1.1 200")) {
                keeps.lock().unwrap().read(request);
            }
            reply
        });
        Self { http, seen }
    }

    pub fn url(&self) -> &str {
        self.http.url()
    }

    /// Refuses connections from now on, or takes them again.
    pub fn refuse(&self, refuse: bool) {
        self.http.refuse(refuse);
    }

    pub fn seen(&self) -> Exports {
        self.seen.lock().unwrap().clone()
    }

    /// What it got, once that is enough.
    pub async fn wait(&self, what: &str, enough: impl Fn(&Exports) -> bool) -> Exports {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let seen = self.seen();
            if enough(&seen) {
                return seen;
            }
            assert!(
                Instant::now() < deadline,
                "{what} did not come: {:#?}",
                seen.spans
            );
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

/// Attributes as texts.
pub fn map(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let pairs = attributes.iter().map(|attribute| {
        let value = attribute.value.clone().and_then(|value| value.value);
        (attribute.key.clone(), shown(value.as_ref()))
    });
    pairs.collect()
}

/// A value as text.
pub fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(Value::BoolValue(flag)) => flag.to_string(),
        Some(Value::ArrayValue(list)) => {
            let values = list.values.iter();
            let texts: Vec<String> = values.map(|one| shown(one.value.as_ref())).collect();
            format!("[{}]", texts.join(", "))
        }
        other => panic!("a value {other:?}"),
    }
}

/// The body of a record.
pub fn body(record: &LogRecord) -> String {
    let body = record.body.as_ref().and_then(|body| body.value.as_ref());
    shown(body)
}
