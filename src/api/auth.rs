//! The door: everything a request must satisfy before a handler sees it. The only place that makes an
//! [`Actor`], from the socket's peer, the token's record or the client's certificate, never from anything the caller
//! says of itself.
//!
//! Against web pages that reach for it (CSRF, DNS rebinding): a `Host` that is neither loopback nor of the certificate, any
//! `Origin` (but the listener's own on `/mcp`), and bodies that a form can send are refused before the credential is
//! looked at.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::api::accounts::{Accounts, BodyAccount, Payer};
use crate::api::connection::ClientCertificate;
use crate::api::error::Refusal;
use crate::api::limiter::{Attempt, FailedLogins};
use crate::api::open_credentials::{Credential, OpenCredentials, StreamCredential};
use crate::api::peer::{Peer, may_connect, operator};
use crate::api::report::ListenerReport;
use crate::api::seats::Seat;
use crate::api::tls::Tls;
use crate::api::token::TokenVerifier;
use crate::client::remote::wire::SCOPES_HEADER;
use crate::client::webhooks::WEBHOOK_PATH;
use crate::protocol::command::Actor;
use crate::protocol::enums::Scope;
use crate::protocol::listener::ListenerRefusal;
use crate::protocol::problem::{Problem, ProblemKind};

/// Where a table is uploaded as it is.
const UPLOAD_PATH: &str = "/v1/datasets";
/// The path that looks at no credential.
pub const OPEN_PATH: &str = "/healthz";

/// Where hosts of the Model Context Protocol send their requests.
pub const MCP_PATH: &str = "/mcp";
/// Where hooks of external agents send what they say.
const GATE_PATH: &str = "/v1/gate/";
/// Where clients of OpenAI's interface send their requests.
const CHAT_PATHS: [&str; 4] = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/responses/",
    "/v1/models",
];

/// Paths that need no credential. One that is shown is looked at all the same: clients find out here that it is wrong.
const PUBLIC_PATHS: &[&str] = &["/readyz", "/openapi.json"];

/// How callers prove who they are.
pub enum Door {
    /// The unix socket: the peer's user id.
    Unix {
        /// The user this process runs as.
        own_uid: u32,
    },
    /// TCP: a bearer token, or a client certificate.
    Tcp {
        /// Knows the tokens.
        verifier: Arc<dyn TokenVerifier>,
        /// Counts the ones it does not know.
        failed: FailedLogins,
        /// The port it listens on.
        port: u16,
        /// Its certificate; none = it speaks plain HTTP.
        tls: Option<Arc<Tls>>,
        /// What each principal used.
        accounts: Arc<Accounts>,
        /// Under which credentials streams are open.
        streams: Arc<OpenCredentials>,
        /// Hears of refusals.
        report: Arc<dyn ListenerReport>,
    },
}

/// After how many seconds a principal tries again that has all its connections.
const FULL_FOR: u64 = 10;

/// Who calls, as authenticated.
#[derive(Clone)]
pub struct Caller {
    /// The actor of every command of this request.
    pub actor: Actor,
    credential: Credential,
}

impl Caller {
    /// For whom connections, requests and bytes count: a person with all their credentials, else the token.
    fn principal(&self) -> Arc<str> {
        match &self.actor {
            Actor::Token {
                person: Some(person),
                ..
            } => person.as_str().into(),
            Actor::Token { person: None, .. }
            | Actor::Operator { .. }
            | Actor::Person { .. }
            | Actor::Engine => self.actor.id().into(),
        }
    }

    /// Whether the caller may read. Commands are judged by the engine.
    pub fn may_read(&self) -> bool {
        match &self.actor {
            Actor::Operator { .. } | Actor::Engine => true,
            Actor::Token { scopes, .. } => scopes.contains(&Scope::Read),
            Actor::Person { .. } => false,
        }
    }

    /// The paths that the caller may use; none = the engine judges what it asks. One with `/` at its end stands for
    /// what begins so.
    fn only_paths(&self) -> Option<Vec<&'static str>> {
        let Actor::Token { scopes, .. } = &self.actor else {
            return None;
        };
        let mut paths = Vec::new();
        for scope in scopes {
            match scope {
                Scope::Mcp => paths.push(MCP_PATH),
                Scope::Gate => paths.push(GATE_PATH),
                Scope::Chat => paths.extend(CHAT_PATHS),
                Scope::Read | Scope::Operate | Scope::Approve | Scope::Admin => return None,
            }
        }
        (!paths.is_empty()).then_some(paths)
    }
}

impl Caller {
    /// What its token may do, for consoles that would rather not offer what is refused.
    fn scopes(&self) -> Option<HeaderValue> {
        match &self.actor {
            Actor::Token { scopes, .. } => {
                let words: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
                HeaderValue::from_str(&words.join(" ")).ok()
            }
            Actor::Operator { .. } | Actor::Engine | Actor::Person { .. } => None,
        }
    }
}

impl Door {
    /// Whether a caller admitted earlier would still be admitted: a revoked token ends its streams.
    pub fn still_admits(&self, caller: &Caller) -> bool {
        self.admits(&caller.credential)
    }

    /// Whether a credential opens the door now.
    pub fn admits(&self, credential: &Credential) -> bool {
        match (self, credential) {
            (Door::Unix { .. }, _) => true,
            (Door::Tcp { verifier, .. }, Credential::Token(value)) => {
                verifier.verify(value).is_some()
            }
            (Door::Tcp { verifier, .. }, Credential::Certificate(id)) => {
                verifier.certificate(id).is_some()
            }
            (Door::Tcp { .. }, Credential::User) => false,
        }
    }

    /// One more stream of this caller, which ends with its credential. None = what the socket admits stays admitted.
    pub fn open_stream(&self, caller: &Caller) -> Option<StreamCredential> {
        match self {
            Door::Unix { .. } => None,
            Door::Tcp { streams, .. } => Some(streams.open(caller.credential.clone())),
        }
    }

    /// Counts a request on its connection and on its principal. The owner's socket has no limits.
    fn count(
        &self,
        peer: Peer,
        caller: Option<&Caller>,
        seat: Option<&Seat>,
    ) -> Result<BodyAccount, Refusal> {
        let (Door::Tcp { accounts, .. }, Peer::Tcp(address)) = (self, peer) else {
            return Ok(BodyAccount::default());
        };
        let Some(caller) = caller else {
            if let Some(seat) = seat {
                seat.await_answer();
            }
            return Ok(accounts.body(Payer::stranger(address.ip())));
        };
        let principal = caller.principal();
        if let Some(Err(most)) = seat.map(|seat| seat.admit(&principal)) {
            let problem = Problem::new(
                ProblemKind::TooMany,
                "too many connections",
                format!("{principal} has {most} connections open, which is its limit"),
            )
            .hint("close some; `max_connections_per_principal` under [server] is the limit");
            return Err(
                Refusal::from(problem).header(header::RETRY_AFTER, HeaderValue::from(FULL_FOR))
            );
        }
        accounts.request(&principal)?;
        Ok(accounts.body(Payer::Principal(principal)))
    }

    fn authenticate(&self, peer: Peer, request: &Request) -> Result<Caller, Refusal> {
        match (self, peer) {
            (Door::Unix { own_uid }, Peer::Unix { uid: Some(uid) })
                if may_connect(uid, *own_uid) =>
            {
                Ok(Caller {
                    actor: operator(uid),
                    credential: Credential::User,
                })
            }
            (Door::Unix { own_uid }, Peer::Unix { uid }) => Err(forbidden(
                "wrong user",
                match uid {
                    Some(uid) => {
                        format!("the socket belongs to user {own_uid}, and you are user {uid}")
                    }
                    None => "the system did not say which user is calling".to_owned(),
                },
                "run the command as the user that runs the daemon, or use --listen with a token",
            )),
            (
                Door::Tcp {
                    verifier,
                    failed,
                    report,
                    ..
                },
                Peer::Tcp(address),
            ) => {
                let headers = request.headers();
                let presented = bearer(headers).filter(|token| !token.is_empty());
                if let Some(presented) = presented
                    && let Some(actor) = verifier.verify(presented)
                {
                    return Ok(Caller {
                        actor,
                        credential: Credential::Token(presented.into()),
                    });
                }
                // A token that is sent is the credential, also where it is wrong.
                let shown = request.extensions().get::<ClientCertificate>();
                let shown = shown.filter(|_| !headers.contains_key(header::AUTHORIZATION));
                if let Some(ClientCertificate(id)) = shown
                    && let Some(actor) = verifier.certificate(id)
                {
                    return Ok(Caller {
                        actor,
                        credential: Credential::Certificate(Arc::clone(id)),
                    });
                }
                let attempt = failed.count(address.ip(), Instant::now());
                if presented.is_some() || shown.is_some() {
                    report.refused(ListenerRefusal::FailedLogins);
                }
                match attempt {
                    Attempt::Counted => Err(Refusal::unauthenticated(match presented {
                        Some(_) => "the token is not known here",
                        None if shown.is_some() => {
                            "no person under [people] has this client certificate"
                        }
                        None => "no bearer token was sent",
                    })),
                    Attempt::OverLimit { retry_after } => Err(Refusal::from(
                        Problem::new(
                            ProblemKind::TooMany,
                            "too many failed logins",
                            "more than 100 failed logins within a minute",
                        )
                        .hint(format!(
                            "check the token and try again in {retry_after} seconds"
                        )),
                    )
                    .header(header::RETRY_AFTER, HeaderValue::from(retry_after))),
                }
            }
            (Door::Unix { .. }, Peer::Tcp(_)) | (Door::Tcp { .. }, Peer::Unix { .. }) => {
                Err(Refusal::from(Problem::internal(
                    "a connection came in through the wrong listener",
                )))
            }
        }
    }
}

/// Admits a request or refuses it. Wraps every route, the unknown ones too.
pub async fn admit(
    State(door): State<Arc<Door>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let seat = request.extensions().get::<Seat>().cloned();
    let counted = judge(&door, peer, &request).and_then(|caller| {
        let account = door.count(peer, caller.as_ref(), seat.as_ref())?;
        Ok((caller, account))
    });
    let mut response = match counted {
        Ok((caller, account)) => {
            let scopes = caller.as_ref().and_then(Caller::scopes);
            if let Some(caller) = caller {
                request.extensions_mut().insert(caller);
            }
            // This keeps the account: the bytes of the body count until the answer.
            request.extensions_mut().insert(account.clone());
            let mut response = next.run(request).await;
            drop(account);
            if let Some(scopes) = scopes {
                response.headers_mut().insert(SCOPES_HEADER, scopes);
            }
            response
        }
        Err(refusal) => refusal.into_response(),
    };
    if seat.is_some_and(|seat| seat.is_stranger()) {
        // One answer, then the seat is for the next.
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

fn judge(door: &Door, peer: Peer, request: &Request) -> Result<Option<Caller>, Refusal> {
    let headers = request.headers();
    // Genuine by its signature, which the channel checks; a proxy in front keeps the name that the world knows.
    if request.uri().path().starts_with(WEBHOOK_PATH) {
        return Ok(None);
    }
    match door {
        Door::Tcp { tls, .. } => check_host(tls.as_deref(), headers, request.uri())?,
        Door::Unix { .. } => {}
    }
    if headers.contains_key(header::ORIGIN) && !is_own_origin(door, request) {
        return Err(forbidden(
            "web pages are refused",
            "the request carries an `Origin` header, so a web page made it".to_owned(),
            "call from a program, not from a browser page",
        ));
    }
    check_content_type(headers, request.uri().path())?;
    if request.uri().path() == OPEN_PATH {
        return Ok(None);
    }
    let shown = headers.contains_key(header::AUTHORIZATION)
        || request.extensions().get::<ClientCertificate>().is_some();
    let public = PUBLIC_PATHS.contains(&request.uri().path());
    if public && !shown && matches!(door, Door::Tcp { .. }) {
        return Ok(None);
    }
    let caller = door.authenticate(peer, request)?;
    if let Some(only) = caller.only_paths() {
        let path = request.uri().path();
        let opens = |one: &&str| path == *one || (one.ends_with('/') && path.starts_with(*one));
        if !only.iter().any(opens) {
            return Err(forbidden(
                "not allowed",
                format!(
                    "{} opens {} and nothing else",
                    caller.actor.label(),
                    only.join(", ")
                ),
                "use a token with another scope",
            ));
        }
    }
    Ok(Some(caller))
}

/// Whether a page of this very listener asks for what pages may ask for. It needs the token all the same.
fn is_own_origin(door: &Door, request: &Request) -> bool {
    let Door::Tcp { port, tls, .. } = door else {
        return false;
    };
    let scheme = if tls.is_some() { "https://" } else { "http://" };
    let mut origins = request.headers().get_all(header::ORIGIN).iter();
    let origin = origins.next().and_then(|origin| origin.to_str().ok());
    let authority = origin.and_then(|origin| origin.strip_prefix(scheme));
    let own = authority.and_then(|authority| authority.rsplit_once(':'));
    request.uri().path() == MCP_PATH
        && origins.next().is_none()
        && own.is_some_and(|(host, digits)| is_loopback(host) && *digits == port.to_string())
}

fn forbidden(title: &str, detail: String, hint: &str) -> Refusal {
    Problem::new(ProblemKind::Forbidden, title, detail)
        .hint(hint)
        .into()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    // Two credentials are none: nobody should have to guess which one counts.
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn check_host(tls: Option<&Tls>, headers: &HeaderMap, uri: &Uri) -> Result<(), Refusal> {
    let mut values = headers.get_all(header::HOST).iter();
    let host = values.next().and_then(|host| host.to_str().ok());
    let single = values.next().is_none();
    // A request line with an authority of its own (`GET http://other/ …`) must agree.
    let authority = uri.authority().map(axum::http::uri::Authority::as_str);
    let is_ours = |host: &str| is_loopback(host) || tls.is_some_and(|tls| is_named(tls, host));
    match (host, tls) {
        (Some(host), _) if single && is_ours(host) && authority.is_none_or(is_ours) => Ok(()),
        (_, None) => Err(forbidden(
            "wrong host",
            "the `Host` header does not name this machine's loopback address".to_owned(),
            "use http://127.0.0.1:PORT, http://localhost:PORT or http://[::1]:PORT; from elsewhere, `ssh -L`",
        )),
        (_, Some(_)) => Err(forbidden(
            "wrong host",
            "the `Host` header names a host that the certificate does not".to_owned(),
            "use a name of the certificate (`leverframe certificate show FILE`) or the address in digits",
        )),
    }
}

/// Whether a host with optional port is a name of the certificate, or an address in digits: no name was looked up for
/// that, so no foreign page led here.
fn is_named(tls: &Tls, host: &str) -> bool {
    let name = without_port(host);
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    address.is_ok() || tls.names(name)
}

/// Whether a host with optional port is a loopback name. The port may be any: a tunnel changes it.
fn is_loopback(host: &str) -> bool {
    let name = without_port(host);
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() && port.len() <= 5 => name,
        Some(_) | None => host,
    }
}

/// What a table may be called that is uploaded as it is. A page in a browser can send none of these unasked.
const TABLES: &[&str] = &[
    "text/csv",
    "text/tab-separated-values",
    "application/octet-stream",
    "application/x-ndjson",
];

fn check_content_type(headers: &HeaderMap, path: &str) -> Result<(), Refusal> {
    let has_body = headers.contains_key(header::TRANSFER_ENCODING)
        || headers
            .get(header::CONTENT_LENGTH)
            .is_some_and(|length| length != "0");
    let kind = headers.get(header::CONTENT_TYPE);
    let word = kind.and_then(|kind| kind.to_str().ok());
    let word = word.and_then(|kind| kind.split(';').next()).map(str::trim);
    let is = |known: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(known));
    let takes_tables = path == UPLOAD_PATH;
    if is("application/json") || (kind.is_none() && !has_body) {
        return Ok(());
    }
    if takes_tables {
        if TABLES.iter().any(|known| is(known)) {
            return Ok(());
        }
        return Err(Refusal::with_status(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Problem::new(
                ProblemKind::Invalid,
                "unsupported content type",
                format!(
                    "a table comes as one of {}, application/json",
                    TABLES.join(", ")
                ),
            )
            .hint("send `Content-Type: application/octet-stream`"),
        ));
    }
    Err(Refusal::with_status(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Problem::new(
            ProblemKind::Invalid,
            "unsupported content type",
            "a request body must be JSON",
        )
        .hint("send `Content-Type: application/json`"),
    ))
}
