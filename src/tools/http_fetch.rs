//! `http_fetch`: one request to an address that the model names.
//!
//! It reaches no address that was not looked at for this request, follows no redirect to another host, and goes through
//! no proxy: a proxy would look the name up itself.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;

use crate::config::settings::FetchSettings;
use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::{Access, Effect};
use crate::tools::http::answer;
use crate::tools::http::exchange::{Answer, Failure, Limits, Request, client, exchange, within};
use crate::tools::http::hosts::any_covers;
use crate::tools::http::resolver::{Resolver, SystemResolver, addresses, refusal};
use crate::tools::http::url;
use crate::tools::output::fit;
use crate::tools::read_file::text;
use crate::tools::risk::RiskReason;
use crate::tools::tool::{
    Cacheable, EffectDisposition, Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec,
    arguments,
};

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// Headers of a call.
const MAX_HEADERS: u32 = 20;
/// Bytes of a body that is sent.
const MAX_BODY: u32 = 256 * 1024;
/// Ports that need no entry in the configuration.
const PORTS: [u16; 2] = [80, 443];
/// Headers that belong to the connection.
const OF_CONNECTION: [&str; 10] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The tool.
pub struct HttpFetch {
    spec: ToolSpec,
    settings: FetchSettings,
    resolver: Arc<dyn Resolver>,
}

/// A call, taken apart.
struct Call {
    request: Request,
    host: String,
}

impl HttpFetch {
    /// The tool as it is configured, with the resolver of the system.
    pub fn new(settings: FetchSettings) -> Self {
        Self::with_resolver(settings, Arc::new(SystemResolver))
    }

    /// The same with another resolver.
    pub fn with_resolver(settings: FetchSettings, resolver: Arc<dyn Resolver>) -> Self {
        Self {
            spec: ToolSpec {
                name: "http_fetch".into(),
                description: "Fetch a page or an API over HTTP. HTML comes as text.".into(),
                input_schema: arguments!(["url"], {
                    "url": {"type": "string", "minLength": 1},
                    "method": {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]},
                    "headers": {
                        "type": "object",
                        "maxProperties": MAX_HEADERS,
                        "additionalProperties": {"type": "string"}
                    },
                    "body": {"type": "string", "maxLength": MAX_BODY}
                }),
                access: Access::Send,
                effect: Effect::NonIdempotent,
                // The exchange ends before; each redirect is one more.
                max_duration: Duration::from_secs(settings.timeout_seconds + 5),
                key_lifetime: None,
                cacheable: settings.cache.map(Cacheable::elsewhere),
            },
            settings,
            resolver,
        }
    }

    fn limits(&self) -> Limits {
        Limits::new(self.settings.timeout_seconds, self.settings.max_kib)
    }

    /// Whether the configuration lists a host, so that reading there tells nobody anything.
    fn is_listed(&self, host: &str) -> bool {
        any_covers(&self.settings.allow, host) || self.may_be_private(host)
    }

    fn may_be_private(&self, host: &str) -> bool {
        any_covers(&self.settings.private, host)
    }

    /// Why no request may go to an address, as far as its words tell; none = nothing speaks against it.
    fn guarded(&self, address: &Url) -> Option<String> {
        let (host, port) = (url::host(address), url::port(address));
        let denied = self.settings.deny.iter().any(|entry| match entry.as_str() {
            "*" => !self.is_listed(&host),
            entry => any_covers(std::slice::from_ref(&entry.to_owned()), &host),
        });
        if denied {
            return Some(format!(
                "the configuration denies `{host}` ([tools.http_fetch] deny)"
            ));
        }
        if !PORTS.contains(&port) && !self.settings.ports.contains(&port) {
            return Some(format!(
                "port {port} is not one of those that are fetched from ([tools.http_fetch] ports)"
            ));
        }
        let what = refusal(host.parse().ok()?, self.may_be_private(&host))?;
        Some(format!(
            "{host} ({what}) is an address that no request may reach"
        ))
    }

    fn call(&self, args: &Value) -> Result<Call, PrepareError> {
        let invalid = PrepareError::Invalid;
        let address = url::parse(text(args, "url").unwrap_or_default()).map_err(invalid)?;
        if let Some(why) = self.guarded(&address) {
            return Err(PrepareError::Guarded(why));
        }
        let body = text(args, "body").map(|body| body.as_bytes().to_vec());
        if body.is_some() && reads(args) {
            return Err(invalid(format!("{} takes no body", method_of(args))));
        }
        let method = Method::from_bytes(method_of(args).as_bytes())
            .map_err(|_| invalid("this is no method".to_owned()))?;
        let mut headers = headers_of(args).map_err(invalid)?;
        if body.is_some() && !headers.contains_key(CONTENT_TYPE) {
            headers.insert(
                CONTENT_TYPE,
                HeaderValue::from_static("text/plain; charset=utf-8"),
            );
        }
        Ok(Call {
            host: url::host(&address),
            request: Request {
                method,
                url: address,
                headers,
                body,
            },
        })
    }

    /// The answer, after redirects that stay on the host; else why there is none.
    async fn answer(&self, call: Call) -> Result<(Answer, Url), Failure> {
        let limits = self.limits();
        let Call { mut request, host } = call;
        for _ in 0..=MAX_REDIRECTS {
            let at = request.url.clone();
            let may_be_private = self.may_be_private(&host);
            let found = addresses(
                self.resolver.as_ref(),
                &host,
                url::port(&at),
                may_be_private,
            );
            let found = found.await.map_err(Failure::NotSent)?;
            let client = client(&at, &found, limits)?;
            let answer = exchange(&client, request.clone(), limits).await?;
            let follows = matches!(answer.status, 301 | 302 | 303 | 307 | 308)
                && matches!(request.method, Method::GET | Method::HEAD);
            let Some(location) = answer.location.as_deref().filter(|_| follows) else {
                return Ok((answer, at));
            };
            request.url = self.next_hop(&at, location).map_err(Failure::Lost)?;
        }
        Err(Failure::Lost(format!(
            "`{host}` redirects more than {MAX_REDIRECTS} times"
        )))
    }

    /// Where a redirect leads, when it is followed; else why not.
    fn next_hop(&self, at: &Url, location: &str) -> Result<Url, String> {
        let shown: String = location.chars().take(500).collect();
        let joined = at
            .join(location)
            .map_err(|_| format!("the page redirects to `{shown}`, which is no address"))?;
        let next = url::parse(joined.as_str()).map_err(|why| {
            format!("the page redirects to `{shown}`, which is not followed: {why}")
        })?;
        if let Some(why) = self.guarded(&next) {
            return Err(format!(
                "the page redirects to {next}, which is not followed: {why}"
            ));
        }
        if url::host(&next) != url::host(at) {
            return Err(format!(
                "the page redirects to another host, which is not followed by itself. \
                 Call http_fetch with {next} if you want that page"
            ));
        }
        if at.scheme() == "https" && next.scheme() == "http" {
            return Err(format!(
                "the page redirects to {next}, which is not encrypted; that is not followed"
            ));
        }
        Ok(next)
    }
}

fn method_of(args: &Value) -> &str {
    text(args, "method").unwrap_or("GET")
}

/// Whether a call only reads.
fn reads(args: &Value) -> bool {
    matches!(method_of(args), "GET" | "HEAD")
}

fn headers_of(args: &Value) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in args
        .get("headers")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let shown: String = name.chars().take(80).collect();
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{shown}` is no name of a header"))?;
        if OF_CONNECTION.contains(&parsed.as_str()) || parsed.as_str().starts_with("proxy-") {
            return Err(format!(
                "the header `{shown}` is set by the connection; leave it out"
            ));
        }
        let value = HeaderValue::from_str(value.as_str().unwrap_or_default()).map_err(|_| {
            format!(
                "the value of the header `{shown}` has a line break or another control character"
            )
        })?;
        headers.insert(parsed, value);
    }
    Ok(headers)
}

/// The names of headers and query parameters of a call that hold credentials.
fn credentials(call: &Call) -> Vec<String> {
    let headers = call.request.headers.keys().map(HeaderName::as_str);
    headers
        .filter(|name| url::is_credential(name))
        .map(str::to_owned)
        .chain(url::credentials(&call.request.url))
        .collect()
}

/// The outcome of a request that ended so.
pub fn outcome_of(failure: Failure) -> ToolOutcome {
    let (content, disposition) = match failure {
        Failure::NotSent(why) => (why, EffectDisposition::ConfirmedNoEffect),
        Failure::Lost(why) => (why, EffectDisposition::Unknown),
    };
    ToolOutcome {
        content,
        is_error: true,
        disposition,
        partial: true,
    }
}

#[async_trait]
impl Tool for HttpFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, args: &Value) -> Effect {
        match method_of(args) {
            "GET" | "HEAD" => Effect::ReadOnly,
            "PUT" | "DELETE" => Effect::Idempotent,
            _ => Effect::NonIdempotent,
        }
    }

    fn untrusted(&self, args: &Value) -> Option<String> {
        let address = url::parse(text(args, "url").unwrap_or_default()).ok()?;
        Some(format!("a page of {}", url::host(&address)))
    }

    fn prepare(&self, _context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let call = self.call(args)?;
        let is_listed = self.is_listed(&call.host);
        let mut reasons = Vec::new();
        if reads(args) {
            reasons.push(RiskReason::ReadsHost(call.host.clone()));
        } else {
            let method = method_of(args).to_owned();
            reasons.push(RiskReason::SendsRequest(method, call.host.clone()));
        }
        if !is_listed {
            reasons.push(RiskReason::UnlistedHost(call.host.clone()));
        }
        reasons.extend(
            credentials(&call)
                .into_iter()
                .map(RiskReason::CredentialSent),
        );
        // What an address says leaves the machine; only a host that the operator listed is trusted with that.
        let access = if reads(args) && is_listed {
            Access::ReadOpen
        } else {
            Access::Send
        };
        Ok(Plan {
            preview: match text(args, "body") {
                Some(body) => Preview::Text {
                    text: body.to_owned(),
                },
                None => Preview::None,
            },
            facts: PlanFacts {
                host: Some(call.host),
                ..PlanFacts::default()
            },
            ..Plan::new(access, reasons)
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let call = match self.call(args) {
            Ok(call) => call,
            Err(error) => return outcome_of(Failure::NotSent(error.to_string())),
        };
        let is_head = call.request.method == Method::HEAD;
        match within(self.limits(), &context.cancel, self.answer(call)).await {
            Ok((answer, at)) => outcome(answer, at, is_head).await,
            Err(failure) => outcome_of(failure),
        }
    }
}

/// What the model reads of an answer.
async fn outcome(answer: Answer, at: Url, is_head: bool) -> ToolOutcome {
    let status = answer.status;
    let mut head = format!("HTTP {status} {at}");
    for (name, value) in [
        ("content-type", &answer.content_type),
        ("location", &answer.location),
    ] {
        if let Some(value) = value {
            head.push_str(&format!("\n{name}: {value}"));
        }
    }
    let cut = answer.cut;
    let read = if is_head || answer.body.is_empty() {
        Ok(String::new())
    } else {
        // A large page takes milliseconds.
        let reading = tokio::task::spawn_blocking(move || answer::text(&answer, &at));
        reading
            .await
            .unwrap_or_else(|_| Err("the page could not be read (a defect of ours)".to_owned()))
    };
    let (content, is_refused) = match read {
        Ok(text) if text.is_empty() => (head, false),
        Ok(text) => (format!("{head}\n\n{text}"), false),
        Err(why) => (format!("{head}\n\n{why}"), true),
    };
    ToolOutcome {
        content: fit(content),
        is_error: is_refused || status >= 400,
        disposition: EffectDisposition::Done,
        partial: cut,
    }
}
