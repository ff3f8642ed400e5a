//! Reading a request: path, query, body. Nothing here is lenient: an unknown parameter or field, a word
//! outside its vocabulary and a number out of range are named in the refusal together with what is allowed.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body as HttpBody, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use futures_util::StreamExt as _;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::api::accounts::BodyAccount;
use crate::api::auth::Caller;
use crate::api::body::{read_json, read_request};
use crate::api::error::Refusal;
use crate::api::form::{Body, Form};
use crate::protocol::command::Actor;
use crate::protocol::enums::Surface;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::Envelope;
use crate::protocol::trace_parent::TraceParent;

/// Longest request body, in bytes.
pub const BODY_LIMIT: usize = 28 * 1024 * 1024;
/// Longest idempotency key, in bytes.
pub const KEY_LIMIT: usize = 255;
/// Time a caller has to send its body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A removed thing.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Removed{T}")]
pub struct Removed<T> {
    /// Its id.
    pub removed: T,
}

/// A request, taken apart.
pub struct Call {
    /// Who calls; none only for the open path.
    pub caller: Option<Caller>,
    /// Path parameters.
    pub path: BTreeMap<String, String>,
    /// Fields of the request that the query fills.
    pub query: Map<String, Value>,
    /// What the route reads.
    pub form: Arc<Form>,
    /// The status of a good answer.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// The body, at most [`BODY_LIMIT`].
    pub body: Bytes,
    /// The body of a route that reads it as it comes.
    pub stream: Mutex<Option<HttpBody>>,
    /// Where its bytes count.
    pub account: BodyAccount,
}

impl Call {
    /// A path parameter.
    pub fn text(&self, name: &str) -> Result<&str, Refusal> {
        self.path.get(name).map(String::as_str).ok_or_else(|| {
            Problem::internal(format!("the route has no path parameter `{name}`")).into()
        })
    }

    /// The path parameter `id` as a typed id.
    pub fn id<T>(&self) -> Result<T, Refusal>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.text("id")?
            .parse()
            .map_err(|error: T::Err| Problem::invalid(error.to_string()).into())
    }

    /// The query parameters alone.
    pub fn query<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let form = Form {
            body: Body::None,
            ..(*self.form).clone()
        };
        read_request(&form, self.query.clone().into_iter().collect(), b"")
    }

    /// The body alone; an empty one reads as `{}`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        read_json(self.content())
    }

    /// The request that path, query and body make.
    pub fn request<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let id = self.form.id;
        let path = self.path.iter().map(|(name, value)| {
            let field = if name == "id" { id } else { name };
            (field.to_owned(), value.as_str().into())
        });
        let given = path.chain(self.query.clone());
        let mut given: Vec<(String, Value)> = given.collect();
        for (name, value) in &self.form.defaults {
            if !given.iter().any(|(given, _)| given == name) {
                given.push(((*name).to_owned(), value.clone()));
            }
        }
        read_request(&self.form, given, self.content())
    }

    fn content(&self) -> &[u8] {
        if self.body.is_empty() {
            b"{}"
        } else {
            &self.body
        }
    }

    /// A command over HTTP with this caller as its actor.
    pub fn envelope<C>(&self, command: C) -> Result<Envelope<C>, Refusal> {
        self.envelope_from(command, Surface::Http, self.idempotency_key()?)
    }

    /// A command with this caller as its actor.
    pub fn envelope_from<C>(
        &self,
        command: C,
        surface: Surface,
        idempotency_key: Option<String>,
    ) -> Result<Envelope<C>, Refusal> {
        Ok(Envelope {
            command,
            actor: self.actor()?.clone(),
            surface,
            idempotency_key,
            trace: self.trace(),
        })
    }

    /// The trace of the caller, as the header `traceparent` says it.
    pub fn trace(&self) -> Option<TraceParent> {
        let sent = self.headers.get_all(TraceParent::HEADER).iter();
        TraceParent::of_headers(sent.map(HeaderValue::as_bytes))
    }

    /// The same without the key of the request: one of several commands that it becomes.
    pub fn plain_envelope<C>(&self, command: C) -> Result<Envelope<C>, Refusal> {
        self.envelope_from(command, Surface::Http, None)
    }

    /// The body of a route that reads it as it comes; empty where it was taken before.
    pub fn take_stream(&self) -> HttpBody {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.take().unwrap_or_default()
    }

    /// The authenticated actor.
    pub fn actor(&self) -> Result<&Actor, Refusal> {
        match &self.caller {
            Some(caller) => Ok(&caller.actor),
            None => Err(Refusal::unauthenticated("no credential was checked")),
        }
    }

    /// The header `Idempotency-Key`.
    pub fn idempotency_key(&self) -> Result<Option<String>, Refusal> {
        let mut values = self.headers.get_all("idempotency-key").iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        if values.next().is_some() {
            return Err(Problem::invalid("the header `Idempotency-Key` was sent twice").into());
        }
        match value.to_str() {
            Ok(key) if !key.is_empty() && key.len() <= KEY_LIMIT => Ok(Some(key.to_owned())),
            Ok(_) | Err(_) => Err(Problem::invalid(format!(
                "the header `Idempotency-Key` must be 1 to {KEY_LIMIT} visible ASCII characters"
            ))
            .into()),
        }
    }
}

/// Reads a body of at most so many bytes within `BODY_TIME`. What is in memory of it counts on the account.
pub async fn read_body(
    body: HttpBody,
    limit: usize,
    account: &BodyAccount,
) -> Result<Bytes, Refusal> {
    match tokio::time::timeout(BODY_TIME, collect(body, limit, account)).await {
        Ok(read) => read,
        Err(_) => Err(Refusal::with_status(
            StatusCode::REQUEST_TIMEOUT,
            Problem::new(
                ProblemKind::Invalid,
                "request timed out",
                format!("the body did not arrive within {} s", BODY_TIME.as_secs()),
            ),
        )),
    }
}

async fn collect(body: HttpBody, limit: usize, account: &BodyAccount) -> Result<Bytes, Refusal> {
    let mut pieces = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece
            .map_err(|error| Problem::invalid(format!("the request body broke off: {error}")))?;
        if whole.len() + piece.len() > limit {
            return Err(Refusal::with_status(
                StatusCode::PAYLOAD_TOO_LARGE,
                Problem::new(
                    ProblemKind::Invalid,
                    "request too large",
                    format!("the body is longer than {limit} bytes"),
                )
                .hint("put large data into a file of the channel's workspace"),
            ));
        }
        account.add(piece.len())?;
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}
