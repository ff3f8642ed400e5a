//! What a server says about its issuer, and which of it is believed.
//!
//! No endpoint is used that is not reached over TLS, but on this machine; none of a machine of a private network, but
//! where the server is one itself.

use reqwest::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};
use std::time::Duration;

use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource,
};

use crate::config::mcp::McpAddress;
use crate::mcp::client::http;
use crate::mcp::client::login::error::{LoginError, WIDTH, told};
use crate::text::untrusted::limit_line;

/// Longest wait for the refusal.
const CHALLENGE_WITHIN: Duration = Duration::from_secs(10);
/// A request that changes nothing, whatever the server makes of it.
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;

/// The SDK's manager for a server, with what its issuer says of itself. The server is asked without a token first:
/// its refusal says where its issuer is and what it wants.
///
/// The SDK refuses addresses of link-local, loopback and private networks, by name and after a look-up, where the
/// server's own address is not of that kind; it follows no redirect to another origin.
pub async fn manager_for(
    address: &McpAddress,
) -> Result<(AuthorizationManager, Issuer), LoginError> {
    let server = &server_url(address)?;
    // The process has one provider; a second installation is refused, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Only addresses of a private network may be configured without TLS: a name with `http` is one of those.
    let named = server.scheme() == "http" && server.domain().is_some() && !is_loopback(server);
    let made = if named {
        AuthorizationManager::new_allowing_private_addresses(server.clone()).await
    } else {
        AuthorizationManager::new(server.clone()).await
    };
    let mut manager = made.map_err(told)?;
    let challenge = challenge(address).await;
    let resolution = manager.resolve_metadata_from_challenge(challenge.as_deref());
    let resolution = resolution.await.map_err(told)?;
    let issuer = Issuer {
        id: resolution.metadata.issuer.clone(),
        is_published: resolution.source != AuthorizationMetadataSource::LegacyEndpointFallback,
        takes_documents: resolution
            .metadata
            .additional_fields
            .get("client_id_metadata_document_supported")
            .and_then(serde_json::Value::as_bool)
            == Some(true),
    };
    check_endpoints(server, &resolution.metadata)?;
    manager.set_metadata(resolution.metadata);
    Ok((manager, issuer))
}

/// How the server refuses somebody without a token; none = it does not.
async fn challenge(address: &McpAddress) -> Option<String> {
    let (client, config) = http::client(address).await.ok()?;
    let mut request = client
        .post(&address.url)
        .header(ACCEPT, "application/json, text/event-stream")
        .header(CONTENT_TYPE, "application/json")
        .timeout(CHALLENGE_WITHIN)
        .body(LIST);
    for (name, value) in config.custom_headers {
        request = request.header(name, value);
    }
    let answer = request.send().await.ok()?;
    if answer.status() != StatusCode::UNAUTHORIZED {
        return None;
    }
    let header = answer.headers().get(WWW_AUTHENTICATE)?;
    header.to_str().ok().map(str::to_owned)
}

/// The address of a server as tokens are bound to it.
pub fn server_url(address: &McpAddress) -> Result<Url, LoginError> {
    Url::parse(&address.url)
        .map_err(|error| LoginError::Refused(format!("the address of the server is none: {error}")))
}

/// An issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// Its identifier; none = it names none.
    pub id: Option<String>,
    /// Whether the server published it. Else the endpoints are guessed, as the first version of the protocol has it.
    pub is_published: bool,
    /// Whether it takes the address of a document as the id of a client.
    pub takes_documents: bool,
}

/// Refuses metadata with an endpoint that a login must not use.
pub fn check_endpoints(server: &Url, metadata: &AuthorizationMetadata) -> Result<(), LoginError> {
    let endpoints = [
        (
            "authorization_endpoint",
            Some(&metadata.authorization_endpoint),
        ),
        ("token_endpoint", Some(&metadata.token_endpoint)),
        (
            "registration_endpoint",
            metadata.registration_endpoint.as_ref(),
        ),
        ("issuer", metadata.issuer.as_ref()),
    ];
    for (name, address) in endpoints {
        let Some(address) = address else { continue };
        if let Err(problem) = check_address(server, address) {
            return Err(LoginError::Refused(format!(
                "the issuer's {name} `{}` {problem}",
                limit_line(address, WIDTH)
            )));
        }
    }
    Ok(())
}

fn check_address(server: &Url, address: &str) -> Result<(), &'static str> {
    let url = Url::parse(address).map_err(|_| "is no address")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("holds a user name or password");
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(&url) && is_loopback(server) => Ok(()),
        "http" => Err("is not reached over TLS: expected https"),
        _ => Err("is no https address"),
    }
}

/// Whether an address names this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback()),
        None => false,
    }
}
