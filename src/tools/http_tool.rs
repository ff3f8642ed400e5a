//! Tools that the configuration declares: a request to a service whose host no argument chooses.
//!
//! An argument is escaped by where it stands, so it changes no other part of the request. No redirect is followed, and
//! no secret is in a plan, a result or a message.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;

use crate::config::placeholders::{Placeholders, SECRET};
use crate::config::settings::{HttpBody, HttpToolSettings};
use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::Effect;
use crate::tools::canonical::sha256_hex;
use crate::tools::http::answer;
use crate::tools::http::exchange::{Answer, Failure, Limits, Request, client, exchange, within};
use crate::tools::http::resolver::{Resolver, SystemResolver, addresses};
use crate::tools::http::url;
use crate::tools::http_fetch::outcome_of;
use crate::tools::output::fit;
use crate::tools::risk::RiskReason;
use crate::tools::tool::{
    Cacheable, EffectDisposition, Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec,
    reads,
};

/// What stands in place of the secret wherever people or models read.
const HIDDEN: &str = "…";

/// The tool.
pub struct HttpTool {
    spec: ToolSpec,
    settings: HttpToolSettings,
    resolver: Arc<dyn Resolver>,
}

impl HttpTool {
    /// The tool of this name, with the resolver of the system.
    pub fn new(name: &str, settings: HttpToolSettings) -> Self {
        Self::with_resolver(name, settings, Arc::new(SystemResolver))
    }

    /// The same with another resolver.
    pub fn with_resolver(
        name: &str,
        settings: HttpToolSettings,
        resolver: Arc<dyn Resolver>,
    ) -> Self {
        Self {
            spec: ToolSpec {
                name: name.to_owned().into(),
                description: settings.description.clone().into(),
                input_schema: settings.schema.clone(),
                access: settings.access,
                effect: settings.effect,
                // The exchange ends before.
                max_duration: Duration::from_secs(settings.timeout_seconds + 5),
                key_lifetime: settings.key.as_ref().map(|(_, lifetime)| *lifetime),
                cacheable: settings.cache.map(Cacheable::elsewhere),
            },
            settings,
            resolver,
        }
    }

    fn limits(&self) -> Limits {
        Limits::new(self.settings.timeout_seconds, self.settings.max_kib)
    }

    /// Host and port as the configuration has them.
    fn place(&self) -> &str {
        let (_, place) = self.settings.origin.split_once("://").unwrap_or_default();
        place
    }

    /// The request of a call, with `secret` in the place of the secret.
    fn request(&self, args: &Value, secret: &str) -> Result<Request, String> {
        let arguments = Arguments { args, secret };
        let settings = &self.settings;
        let invalid = |name: &str| format!("`{name}` is missing");
        let path = settings
            .path
            .fill(|name| arguments.text(name).map(|text| escaped(&text)))
            .map_err(invalid)?;
        for name in settings.path.names() {
            if arguments.text(name).is_some_and(|text| text.is_empty()) {
                return Err(format!("`{name}` is empty, and it is a part of the path"));
            }
        }
        let whole = format!("{}{path}", settings.origin);
        let mut address =
            Url::parse(&whole).map_err(|_| "the address cannot be made".to_owned())?;
        let plain = path.split('?').next().unwrap_or_default();
        if plain.split('/').any(is_dots)
            || address.path().split('/').count() != plain.split('/').count()
        {
            return Err("a parameter of the path is `.` or `..`, which leads elsewhere".to_owned());
        }
        for (name, text) in &settings.query {
            if let Some(value) = arguments.filled(text)? {
                address.query_pairs_mut().append_pair(name, &value);
            }
        }
        let mut headers = HeaderMap::new();
        for (name, text) in &settings.headers {
            let Some(value) = arguments.filled(text)? else {
                continue;
            };
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| format!("`{name}` is no name of a header"))?;
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                format!("the header `{name}` would get a line break or another control character")
            })?;
            value.set_sensitive(text.names().any(|name| name == SECRET));
            headers.insert(name, value);
        }
        let body = match &settings.body {
            Some(body) => {
                let json = arguments.body(body)?.unwrap_or_default();
                headers
                    .entry(CONTENT_TYPE)
                    .or_insert(HeaderValue::from_static("application/json"));
                Some(json.to_string().into_bytes())
            }
            None => None,
        };
        Ok(Request {
            method: Method::from_bytes(settings.method.as_bytes())
                .map_err(|_| "this is no method".to_owned())?,
            url: address,
            headers,
            body,
        })
    }

    /// A request as people read it, without the secret.
    fn shown(&self, args: &Value) -> Result<String, String> {
        let request = self.request(args, HIDDEN_IN_REQUEST)?;
        let mut lines = format!("{} {}", request.method, request.url);
        for (name, value) in &request.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            lines.push_str(&format!("\n{name}: {value}"));
        }
        if let Some(body) = &request.body {
            let json: Value = serde_json::from_slice(body).unwrap_or_default();
            let pretty = serde_json::to_string_pretty(&json).unwrap_or_default();
            lines.push_str(&format!("\n\n{pretty}"));
        }
        Ok(lines.replace(HIDDEN_IN_REQUEST, HIDDEN))
    }

    async fn send(&self, request: Request) -> Result<Answer, Failure> {
        let limits = self.limits();
        let (host, port) = (url::host(&request.url), url::port(&request.url));
        // The operator wrote the host: it may lead to a network of theirs.
        let found = addresses(self.resolver.as_ref(), &host, port, true);
        let found = found.await.map_err(Failure::NotSent)?;
        let client = client(&request.url, &found, limits)?;
        exchange(&client, request, limits).await
    }
}

/// Stands for the secret where a request is made only to be shown: it passes every escape as it is.
const HIDDEN_IN_REQUEST: &str = "--secret--";

/// The arguments of a call.
struct Arguments<'a> {
    args: &'a Value,
    secret: &'a str,
}

impl Arguments<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        self.args.get(name).filter(|value| !value.is_null())
    }

    /// The text of one value; none = it was left out.
    fn text(&self, name: &str) -> Option<String> {
        if name == SECRET {
            return Some(self.secret.to_owned());
        }
        match self.value(name)? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// A text with its values; none = it is one placeholder that was left out.
    fn filled(&self, text: &Placeholders) -> Result<Option<String>, String> {
        let is_left_out = |name: &str| self.text(name).is_none();
        if text.only().is_some_and(is_left_out) {
            return Ok(None);
        }
        let filled = text.fill(|name| self.text(name));
        filled
            .map(Some)
            .map_err(|name| format!("`{name}` is missing"))
    }

    /// A body with its values: one placeholder alone is the value itself. None = it was left out.
    fn body(&self, body: &HttpBody) -> Result<Option<Value>, String> {
        Ok(match body {
            HttpBody::Json(value) => Some(value.clone()),
            HttpBody::Text(text) => match text.only().filter(|name| *name != SECRET) {
                Some(name) => self.value(name).cloned(),
                None => self.filled(text)?.map(Value::String),
            },
            HttpBody::Array(items) => {
                let mut array = Vec::new();
                for item in items {
                    array.extend(self.body(item)?);
                }
                Some(Value::Array(array))
            }
            HttpBody::Object(members) => {
                let mut map = serde_json::Map::new();
                for (name, item) in members {
                    if let Some(value) = self.body(item)? {
                        map.insert(name.clone(), value);
                    }
                }
                Some(Value::Object(map))
            }
        })
    }
}

/// A text for one segment of a path or one value of a query: nothing in it means anything there.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// Whether an address has this segment as `.` or `..`, and so leads elsewhere.
fn is_dots(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    plain == "." || plain == ".."
}

#[async_trait]
impl Tool for HttpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn source(&self) -> String {
        format!("http {}", self.place())
    }

    fn untrusted(&self, _args: &Value) -> Option<String> {
        (!self.settings.trusted).then(|| format!("an answer of {}", self.place()))
    }

    fn prepare(&self, _context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let shown = self.shown(args).map_err(PrepareError::Invalid)?;
        let place = self.place().to_owned();
        Ok(Plan {
            access: self.spec.access,
            risk_reasons: vec![RiskReason::CallsService(place.clone(), self.spec.access)],
            // What was allowed is what is sent, even where the configuration changes meanwhile.
            operands: vec![(
                format!("request of {}", self.spec.name),
                sha256_hex(shown.as_bytes()),
            )],
            preview: Preview::Text { text: shown },
            facts: PlanFacts {
                host: Some(place),
                ..PlanFacts::default()
            },
            always_asks: None,
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let secret = self
            .settings
            .secret
            .as_ref()
            .map_or("", |secret| secret.expose());
        let mut request = match self.request(args, secret) {
            Ok(request) => request,
            Err(why) => return outcome_of(Failure::NotSent(why)),
        };
        if let Some((header, _)) = &self.settings.key
            && let Ok(name) = HeaderName::from_bytes(header.as_bytes())
            && let Ok(key) = HeaderValue::from_str(&context.idempotency_key)
        {
            request.headers.insert(name, key);
        }
        let base = request.url.clone();
        match within(self.limits(), &context.cancel, self.send(request)).await {
            Ok(answer) => self.outcome(answer, base).await,
            Err(failure) => outcome_of(failure),
        }
    }
}

impl HttpTool {
    /// What the model reads of an answer, and what is known of the effect.
    async fn outcome(&self, answer: Answer, base: Url) -> ToolOutcome {
        let (status, partial) = (answer.status, answer.cut);
        let is_done = (200..300).contains(&status);
        let pointer = self.settings.result.clone().filter(|_| is_done);
        // A large answer takes milliseconds.
        let reading = tokio::task::spawn_blocking(move || read(&answer, pointer.as_deref(), &base));
        let read = reading
            .await
            .unwrap_or_else(|_| Err("the answer could not be read (a defect of ours)".to_owned()));
        let is_refused = read.is_err();
        let text = read.unwrap_or_else(|why| why);
        let content = match (is_done, text.is_empty()) {
            (true, true) => format!("HTTP {status}"),
            (true, false) => text,
            (false, true) => format!("HTTP {status}{}", what_of(status)),
            (false, false) => format!("HTTP {status}{}\n\n{text}", what_of(status)),
        };
        ToolOutcome {
            content: fit(content),
            // What changed something changed it, whether or not its answer can be read.
            is_error: !is_done || (is_refused && reads(self.spec.access)),
            disposition: match status {
                // The service says that it failed, not whether anything happened before.
                500.. if self.spec.effect != Effect::ReadOnly => EffectDisposition::Unknown,
                _ => EffectDisposition::Done,
            },
            partial,
        }
    }
}

/// What a status means here, where that is not plain.
fn what_of(status: u16) -> &'static str {
    match status {
        300..=399 => ": the service redirects, and a declared request is not sent elsewhere",
        401 | 403 => ": the service refuses the secret, or what it is used for",
        _ => "",
    }
}

/// The part of an answer that a pointer names, or all of it.
fn read(answer: &Answer, pointer: Option<&str>, base: &Url) -> Result<String, String> {
    if answer.body.is_empty() {
        return Ok(String::new());
    }
    let Some(pointer) = pointer else {
        return answer::text(answer, base);
    };
    let json =
        answer::json(answer).ok_or("the answer is no JSON, though `result` names a part of it")?;
    match json.pointer(pointer) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(part) => Ok(serde_json::to_string_pretty(part).unwrap_or_default()),
        None => Err(format!("the answer has nothing at `{pointer}`")),
    }
}
