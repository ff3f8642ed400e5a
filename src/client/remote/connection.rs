//! The connection to one daemon: requests, their limits, and what its refusals mean.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Method, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::remote::target::{Address, Target};
use crate::client::remote::trust::{self, Refused};
use crate::client::remote::wire::{PROTOCOL_HEADER, PROTOCOL_VERSION, SCOPES_HEADER};
use crate::protocol::certificate::Fingerprint;
use crate::protocol::enums::Scope;
use crate::protocol::problem::{Problem, ProblemKind};

/// How long an idle connection is kept. The daemon cuts one after ten seconds; a request must not meet that.
const IDLE: Duration = Duration::from_secs(5);

/// Time limits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// To connect.
    pub connect: Duration,
    /// For the first answer, which says that a daemon is there.
    pub answer: Duration,
    /// For a whole request, or for the head of an event stream.
    pub request: Duration,
    /// For a request whose work grows with what is kept, or that asks a model.
    pub long: Duration,
    /// Without any byte of an event stream; the daemon sends a comment every 15 s.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            answer: Duration::from_secs(10),
            request: Duration::from_secs(30),
            long: Duration::from_secs(3600),
            idle: Duration::from_secs(40),
        }
    }
}

/// A daemon reached over its unix socket or HTTP. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RemoteClient {
    http: Client,
    base: Url,
    pub(super) address: Arc<Address>,
    limits: Limits,
    /// The only certificate that is taken; none = authorities decide, or there is no TLS.
    pub(super) pin: Option<Fingerprint>,
    refused: Refused,
    /// What the credential may do, from the newest answer.
    pub(super) scopes: Arc<Mutex<Option<Vec<Scope>>>>,
}

impl RemoteClient {
    /// Prepares a connection and checks that a daemon of this protocol answers with this credential.
    pub async fn connect(target: Target) -> Result<Self, Problem> {
        Self::connect_within(target, Limits::default()).await
    }

    /// The same with other time limits.
    pub async fn connect_within(target: Target, limits: Limits) -> Result<Self, Problem> {
        let client = Self::new(target, limits)?;
        client.check().await?;
        Ok(client)
    }

    /// Checks that a daemon of this protocol answers with this credential.
    pub async fn check(&self) -> Result<(), Problem> {
        let response = self
            .request(Method::GET, "readyz", &[])?
            .timeout(self.limits.answer)
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        // A daemon whose store has trouble is still one to talk to.
        if response.status() != StatusCode::SERVICE_UNAVAILABLE {
            self.accept(response).await?;
        }
        Ok(())
    }

    /// Prepares a connection without using it.
    pub fn new(target: Target, limits: Limits) -> Result<Self, Problem> {
        let address = target.address();
        let (mut pin, refused) = (None, Refused::default());
        let mut headers = HeaderMap::new();
        let mut builder = Client::builder()
            .connect_timeout(limits.connect)
            .pool_idle_timeout(IDLE)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        let base = match target {
            Target::Unix(path) | Target::Ssh { local: path, .. } => {
                builder = builder
                    .unix_socket(path)
                    .tls_backend_preconfigured(no_tls()?);
                // The name is never looked up: every connection of this client goes to the socket.
                Url::parse("http://localhost/")
            }
            Target::Http { base, token } => {
                headers.insert(AUTHORIZATION, bearer(&token)?);
                builder = builder.tls_backend_preconfigured(no_tls()?);
                Ok(with_slash(base))
            }
            Target::Https { base, token, trust } => {
                if let Some(token) = token {
                    headers.insert(AUTHORIZATION, bearer(&token)?);
                }
                pin = trust.pin;
                let tls = trust::configuration(&trust, refused.clone())?;
                builder = builder.tls_backend_preconfigured(tls);
                Ok(with_slash(base))
            }
        }
        .map_err(|error| Problem::internal(format!("the base address is not a URL: {error}")))?;
        let http = builder
            .default_headers(headers)
            .build()
            .map_err(|error| Problem::internal(format!("no HTTP client: {error}")))?;
        Ok(Self {
            http,
            base,
            address: Arc::new(address),
            limits,
            pin,
            refused,
            scopes: Arc::default(),
        })
    }

    /// The certificate of the daemon, where it is refused. Nothing is sent to a daemon whose certificate is.
    pub async fn untrusted_certificate(&self) -> Option<Fingerprint> {
        let request = self.request(Method::GET, "healthz", &[]).ok()?;
        match request.timeout(self.limits.answer).send().await {
            Ok(_) => None,
            Err(_) => self.refused.take(),
        }
    }

    /// The time limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<reqwest::RequestBuilder, Problem> {
        let mut url = self
            .base
            .join(path)
            .map_err(|error| Problem::internal(format!("`{path}` is not a path: {error}")))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(self.http.request(method, url))
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        long: bool,
    ) -> Result<T, Problem> {
        let body = serde_json::to_vec(body).map_err(|error| {
            Problem::internal(format!("the request cannot be written: {error}"))
        })?;
        let response = self
            .request(Method::POST, path, &[])?
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .timeout(if long {
                self.limits.long
            } else {
                self.limits.request
            })
            .body(body)
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        let response = self.accept(response).await?;
        let bytes = response
            .bytes()
            .await
            .map_err(|error| self.unreachable(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| {
            Problem::internal(format!(
                "{} answered something this version does not understand: {error}",
                self.address
            ))
            .hint("update this program or the daemon so that both have the same version")
        })
    }

    /// Checks that a Leverframe daemon of our protocol answered, and well; else the problem it sent.
    pub(crate) async fn accept(&self, response: Response) -> Result<Response, Problem> {
        let version = response
            .headers()
            .get(PROTOCOL_HEADER)
            .and_then(|value| value.to_str().ok()?.parse::<u16>().ok());
        match version {
            Some(PROTOCOL_VERSION) => {}
            Some(theirs) => {
                let hint = if theirs > PROTOCOL_VERSION {
                    "update this program"
                } else {
                    "update the daemon"
                };
                return Err(Problem::new(
                    ProblemKind::Unavailable,
                    "different protocol versions",
                    format!(
                        "{} speaks protocol {theirs}, this program {PROTOCOL_VERSION}",
                        self.address
                    ),
                )
                .hint(hint));
            }
            None => {
                return Err(Problem::new(
                    ProblemKind::Unavailable,
                    "not a Leverframe daemon",
                    format!(
                        "{} answered {} without the header `{PROTOCOL_HEADER}`",
                        self.address,
                        response.status()
                    ),
                )
                .hint("check the address"));
            }
        }
        let scopes = response.headers().get(SCOPES_HEADER).map(scopes_of);
        if let Ok(mut known) = self.scopes.lock() {
            *known = scopes;
        }
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let bytes = response
            .bytes()
            .await
            .map_err(|error| self.unreachable(&error))?;
        Err(serde_json::from_slice::<Problem>(&bytes)
            .unwrap_or_else(|_| Problem::internal(format!("{} answered {status}", self.address))))
    }

    /// A failed exchange as a problem. The error's text carries no credential: the URL has none.
    pub(crate) fn unreachable(&self, error: &reqwest::Error) -> Problem {
        if let Some(shown) = self.refused.take() {
            return self.untrusted(shown);
        }
        let mut words = error.to_string();
        let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
        while let Some(inner) = cause {
            words = inner.to_string();
            cause = inner.source();
        }
        if error.is_timeout() {
            return Problem::new(
                ProblemKind::Unavailable,
                "daemon does not answer",
                format!("{}: no answer in time", self.address),
            )
            .hint("it may be overloaded: see its log; `leverframe emergency-stop` stops it by signal too");
        }
        Problem::new(
            ProblemKind::Unavailable,
            "daemon not reachable",
            format!("{}: {words}", self.address),
        )
        .hint("is it running? `leverframe --daemon` starts one")
    }

    /// The daemon showed a certificate that is not taken.
    fn untrusted(&self, shown: Fingerprint) -> Problem {
        let host = self.base.host_str().unwrap_or_default();
        let port = self.base.port_or_known_default().unwrap_or(443);
        match self.pin {
            Some(known) => Problem::new(
                ProblemKind::Forbidden,
                trust::CHANGED,
                format!("{host}:{port} is known by {known} and shows {shown}"),
            )
            .hint(format!(
                "compare it with `leverframe doctor` on that machine; if it was renewed there, \
                 `leverframe hosts forget {host}:{port}` and attach again, else somebody intercepts the connection"
            )),
            None => Problem::new(
                ProblemKind::Forbidden,
                trust::NOT_TRUSTED,
                format!("no authority of this system signed what {host}:{port} shows: {shown}"),
            )
            .hint("`leverframe attach` asks about it once, and keeps the answer"),
        }
    }

    /// The connection under an event stream broke.
    pub(crate) fn lost(&self, why: &str) -> Problem {
        Problem::new(
            ProblemKind::Unavailable,
            "connection lost",
            format!("{}: {why}", self.address),
        )
    }
}

/// The header of a token.
fn bearer(token: &str) -> Result<HeaderValue, Problem> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(|_| {
        Problem::new(
            ProblemKind::Unauthenticated,
            "unusable token",
            "the token contains characters that no token can have",
        )
        .hint("the token file must hold the token and nothing else")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// A base to whose path routes can be appended.
fn with_slash(mut base: Url) -> Url {
    let path = base.path().trim_end_matches('/').to_owned();
    base.set_path(&format!("{path}/"));
    base
}

/// Words of a newer daemon that are not known here allow nothing here.
fn scopes_of(value: &HeaderValue) -> Vec<Scope> {
    let words = value.to_str().unwrap_or_default().split_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

/// A TLS configuration that trusts nobody, for bases that never use TLS: reading the system's certificates
/// would only cost time.
fn no_tls() -> Result<rustls::ClientConfig, Problem> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Problem::internal(format!("no TLS versions: {error}")))?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth())
}
