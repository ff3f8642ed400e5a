//! A server with an OAuth issuer, on loopback: it consents by itself, checks what it is asked, and can be told to lie.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// What it does otherwise than an honest one, and what it was asked.
#[derive(Default)]
pub struct Behaviour {
    /// Fields of the metadata of the resource that are replaced.
    pub resource: Value,
    /// Fields of the metadata of the issuer that are replaced.
    pub issuer: Value,
    /// The challenge of the resource, in place of the honest one.
    pub challenge: Option<String>,
    /// Where each request for metadata is sent to, by a redirect.
    pub metadata_moved: Option<String>,
    /// Where each request for tokens is sent to, by a redirect.
    pub tokens_moved: Option<String>,
    /// The `iss` of its answers; none = its own address.
    pub iss: Option<String>,
    /// Whether it gives clients a secret and wants it.
    pub gives_secrets: bool,
    /// Life of tokens, in seconds.
    pub expires_in: Option<u64>,
    /// It renews nothing any more.
    pub revoked: bool,
    /// Access tokens that it refuses.
    pub refused: HashSet<String>,
    /// Requests, as `METHOD path`, the oldest first.
    pub asked: Vec<String>,
    /// Times that it renewed.
    pub renewals: usize,
    grants: HashMap<String, HashMap<String, String>>,
    count: usize,
}

/// A running one; it ends with the runtime of the test.
#[derive(Clone)]
pub struct Issuer {
    /// `http://127.0.0.1:PORT`.
    pub base: String,
    behaviour: Arc<Mutex<Behaviour>>,
}

impl Issuer {
    /// Starts an honest one.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let issuer = Self {
            base,
            behaviour: Arc::default(),
        };
        let router = Router::new().fallback(answer).with_state(issuer.clone());
        tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        issuer
    }

    /// What it does and was asked.
    pub fn behaviour(&self) -> MutexGuard<'_, Behaviour> {
        self.behaviour.lock().expect("no test panicked")
    }

    /// The address of the server.
    pub fn server(&self) -> String {
        format!("{}/mcp", self.base)
    }

    /// Goes to the page as a browser would, and returns where it is sent back to.
    pub async fn consent(page: &str) -> String {
        let browser = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .expect("a client");
        let answer = browser.get(page).send().await.expect("an answer");
        assert_eq!(answer.status(), 302, "{page}");
        let location = answer.headers()[header::LOCATION].to_str();
        location.expect("an address").to_owned()
    }
}

async fn answer(
    State(issuer): State<Issuer>,
    method: axum::http::Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().to_owned();
    let mut behaviour = issuer.behaviour();
    behaviour.asked.push(format!("{method} {path}"));
    match path.as_str() {
        "/mcp" => resource(&issuer, &behaviour, &headers, &body),
        _ if path.starts_with("/.well-known/") && behaviour.metadata_moved.is_some() => {
            let to = behaviour.metadata_moved.clone().unwrap_or_default();
            (StatusCode::FOUND, [(header::LOCATION, to)]).into_response()
        }
        "/.well-known/oauth-protected-resource/mcp" => {
            let honest = json!({
                "resource": issuer.server(), "authorization_servers": [issuer.base], "scopes_supported": ["files"],
            });
            axum::Json(with(honest, &behaviour.resource)).into_response()
        }
        "/.well-known/oauth-authorization-server" => {
            let base = &issuer.base;
            let honest = json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true,
            });
            axum::Json(with(honest, &behaviour.issuer)).into_response()
        }
        "/register" => {
            let asked: Value = serde_json::from_slice(&body).expect("JSON");
            let mut client = json!({
                "client_id": "client-1", "client_name": asked["client_name"], "redirect_uris": asked["redirect_uris"],
            });
            if behaviour.gives_secrets {
                client["client_secret"] = json!("client-secret-1");
            }
            (StatusCode::CREATED, axum::Json(client)).into_response()
        }
        "/authorize" => authorize(
            &issuer,
            &mut behaviour,
            pairs(uri.query().unwrap_or_default()),
        ),
        "/token" => match behaviour.tokens_moved.clone() {
            Some(to) => (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response(),
            None => token(&issuer, &mut behaviour, &headers, &body),
        },
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn resource(issuer: &Issuer, behaviour: &Behaviour, headers: &HeaderMap, body: &[u8]) -> Response {
    let sent = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let token = sent.and_then(|value| value.strip_prefix("Bearer "));
    if token.is_some_and(|token| token.starts_with("access-") && !behaviour.refused.contains(token))
    {
        return serve(&serde_json::from_slice(body).unwrap_or(Value::Null));
    }
    let honest = format!(
        "Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"",
        issuer.base
    );
    let challenge = behaviour.challenge.clone().unwrap_or(honest);
    (
        StatusCode::UNAUTHORIZED,
        [(header::WWW_AUTHENTICATE, challenge)],
    )
        .into_response()
}

/// A server of the older era with one tool.
fn serve(message: &Value) -> Response {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"},
        }),
        Some("tools/list") => json!({"tools": [{
            "name": "greet", "description": "Greets.", "inputSchema": {"type": "object"},
        }]}),
        Some("tools/call") => {
            json!({"content": [{"type": "text", "text": "hello from behind the login"}]})
        }
        Some(_) if message["id"].is_null() => return StatusCode::ACCEPTED.into_response(),
        Some(_) | None => {
            let error = json!({"code": -32601, "message": "unknown method"});
            return axum::Json(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
                .into_response();
        }
    };
    axum::Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

fn authorize(
    issuer: &Issuer,
    behaviour: &mut Behaviour,
    asked: HashMap<String, String>,
) -> Response {
    assert_eq!(asked["response_type"], "code");
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_eq!(asked["resource"], issuer.server());
    behaviour.count += 1;
    let code = format!("code-{}", behaviour.count);
    let mut back = reqwest::Url::parse(&asked["redirect_uri"]).expect("an address");
    let iss = behaviour.iss.clone().unwrap_or_else(|| issuer.base.clone());
    back.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("state", &asked["state"])
        .append_pair("iss", &iss);
    behaviour.grants.insert(code, asked);
    (StatusCode::FOUND, [(header::LOCATION, back.to_string())]).into_response()
}

fn token(issuer: &Issuer, behaviour: &mut Behaviour, headers: &HeaderMap, body: &[u8]) -> Response {
    let asked = pairs(std::str::from_utf8(body).expect("text"));
    let refuse = |error: &str| {
        (StatusCode::BAD_REQUEST, axum::Json(json!({"error": error}))).into_response()
    };
    assert_eq!(asked["resource"], issuer.server());
    if behaviour.gives_secrets {
        let basic = base64::engine::general_purpose::STANDARD.encode("client-1:client-secret-1");
        let sent = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        if sent != Some(&format!("Basic {basic}")) {
            return refuse("invalid_client");
        }
    }
    match asked["grant_type"].as_str() {
        "authorization_code" => {
            let Some(grant) = behaviour.grants.remove(&asked["code"]) else {
                return refuse("invalid_grant");
            };
            let digest = Sha256::digest(asked["code_verifier"].as_bytes());
            let challenge = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest);
            if challenge != grant["code_challenge"]
                || asked["redirect_uri"] != grant["redirect_uri"]
            {
                return refuse("invalid_grant");
            }
        }
        "refresh_token" => {
            if behaviour.revoked || asked["refresh_token"] != format!("refresh-{}", behaviour.count)
            {
                return refuse("invalid_grant");
            }
            behaviour.renewals += 1;
            behaviour.count += 1;
        }
        other => panic!("grant_type {other}"),
    }
    let mut tokens = json!({
        "access_token": format!("access-{}", behaviour.count), "token_type": "Bearer",
        "refresh_token": format!("refresh-{}", behaviour.count),
    });
    if let Some(seconds) = behaviour.expires_in {
        tokens["expires_in"] = json!(seconds);
    }
    axum::Json(tokens).into_response()
}

fn with(mut honest: Value, lies: &Value) -> Value {
    for (field, value) in lies.as_object().into_iter().flatten() {
        honest[field] = value.clone();
    }
    honest
}

fn pairs(query: &str) -> HashMap<String, String> {
    let url = reqwest::Url::parse(&format!("http://x/?{query}")).expect("an address");
    url.query_pairs().into_owned().collect()
}
