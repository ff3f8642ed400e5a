//! Reading a request: path, query, body. Nothing here is lenient: an unknown parameter or field, a word
//! outside its vocabulary and a number out of range are named in the refusal together with what is allowed.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Query;
use axum::http::{HeaderMap, StatusCode, Uri};
use futures_util::StreamExt as _;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::api::auth::Caller;
use crate::api::error::Refusal;
use crate::protocol::command::Actor;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::Envelope;
use crate::protocol::snapshot::PageRequest;
use crate::protocol::words::Surface;

/// Longest request body, in bytes.
pub const BODY_LIMIT: usize = 1024 * 1024;
/// Longest idempotency key, in bytes.
pub const KEY_LIMIT: usize = 255;
/// Time a caller has to send its body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// An empty body, or an object without fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmptyBody {}

/// What was removed.
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
    /// Query parameters, each known to the route and given once.
    pub query: BTreeMap<String, String>,
    /// Headers.
    pub headers: HeaderMap,
    /// The body, at most [`BODY_LIMIT`].
    pub body: Bytes,
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

    /// A query parameter of a closed vocabulary or of an id type.
    pub fn word<T>(&self, name: &str) -> Result<Option<T>, Refusal>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.query
            .get(name)
            .map(|value| value.parse().map_err(|error| parameter(name, &error)))
            .transpose()
    }

    /// A query parameter that is a number within a range.
    pub fn number(&self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.query.get(name) else {
            return Ok(None);
        };
        match value.parse::<u64>() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            Ok(_) | Err(_) => Err(parameter(
                name,
                &format!(
                    "`{}` is not a whole number from {} to {}",
                    shortened(value),
                    range.start(),
                    range.end()
                ),
            )),
        }
    }

    /// `limit` where lists allow 1 to 500.
    pub fn limit(&self) -> Result<Option<u32>, Refusal> {
        self.small("limit", 1..=500)
    }

    /// A number that fits 32 bits.
    pub fn small(&self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u32>, Refusal> {
        Ok(self
            .number(name, range)?
            .map(|number| u32::try_from(number).unwrap_or(u32::MAX)))
    }

    /// `limit` and `cursor`.
    pub fn page(&self) -> Result<PageRequest, Refusal> {
        Ok(PageRequest {
            limit: self.limit()?,
            cursor: self.query.get("cursor").cloned(),
        })
    }

    /// The body as JSON; an empty body reads as `{}`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let bytes: &[u8] = if self.body.is_empty() {
            b"{}"
        } else {
            &self.body
        };
        read_json(bytes)
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
        })
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

/// A refused query parameter.
pub fn parameter(name: &str, error: &impl Display) -> Refusal {
    Problem::invalid(format!("query parameter `{name}`: {error}")).into()
}

/// Outside text for a message: at most 64 characters, on one line.
pub fn shortened(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

/// Reads JSON strictly; the refusal names line, column and field.
pub fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        body_problem(&path, &inner)
    })?;
    reader.end().map_err(|error| body_problem(".", &error))?;
    Ok(value)
}

fn body_problem(path: &str, error: &serde_json::Error) -> Refusal {
    let what = if path == "." {
        format!("request body: {error}")
    } else {
        format!("request body, field `{path}`: {error}")
    };
    let hint = match error.classify() {
        serde_json::error::Category::Data => "`/openapi.json` lists the fields of each route",
        serde_json::error::Category::Io
        | serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof => "send one JSON object",
    };
    Problem::invalid(what).hint(hint).into()
}

/// Reads the query of a URI. `known` are the names the route understands.
pub fn read_query(uri: &Uri, known: &[&str]) -> Result<BTreeMap<String, String>, Refusal> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|error| Problem::invalid(format!("the query could not be read: {error}")))?;
    let mut found = BTreeMap::new();
    for (name, value) in pairs {
        if !known.contains(&name.as_str()) {
            let allowed = if known.is_empty() {
                "this route takes none".to_owned()
            } else {
                format!("expected one of {}", known.join(", "))
            };
            return Err(Problem::invalid(format!(
                "unknown query parameter `{}`: {allowed}",
                shortened(&name)
            ))
            .into());
        }
        if found.insert(name.clone(), value).is_some() {
            return Err(parameter(&name, &"was given twice"));
        }
    }
    Ok(found)
}

/// Reads a body of at most [`BODY_LIMIT`] bytes within `BODY_TIME`.
pub async fn read_body(body: Body) -> Result<Bytes, Refusal> {
    match tokio::time::timeout(BODY_TIME, collect(body)).await {
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

async fn collect(body: Body) -> Result<Bytes, Refusal> {
    let mut pieces = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece
            .map_err(|error| Problem::invalid(format!("the request body broke off: {error}")))?;
        if whole.len() + piece.len() > BODY_LIMIT {
            return Err(Refusal::with_status(
                StatusCode::PAYLOAD_TOO_LARGE,
                Problem::new(
                    ProblemKind::Invalid,
                    "request too large",
                    format!("the body is longer than {BODY_LIMIT} bytes"),
                )
                .hint("put large data into a file of the channel's workspace"),
            ));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}
