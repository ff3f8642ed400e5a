//! Streamable HTTP: our own client below the transport of the SDK.
//!
//! A credential goes to the origin that the operator wrote, and nowhere else: no redirect leads to another one.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::config::mcp::McpAddress;

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Most bytes of one answer or event.
const MAX_ANSWER: usize = 8 * 1024 * 1024;
/// Most tries to take up a stream that broke off.
const MAX_RECONNECTS: usize = 5;
/// Most redirects within an origin.
const MAX_REDIRECTS: usize = 3;

/// The client of an address, and how the transport uses it. The error says why the address is not used.
pub(super) async fn client(
    address: &McpAddress,
) -> Result<(Client, StreamableHttpClientTransportConfig), String> {
    let url = Url::parse(&address.url).map_err(|_| "its address is none".to_owned())?;
    // The process has one provider; a second installation is refused, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .connect_timeout(CONNECT)
        .redirect(same_origin())
        .no_proxy()
        .referer(false)
        .user_agent(concat!("leverframe/", env!("CARGO_PKG_VERSION")));
    if url.scheme() != "https" {
        let found = near_addresses(&url).await?;
        builder = builder.resolve_to_addrs(url.host_str().unwrap_or_default(), &found);
        // No TLS will be spoken, so the certificates of the system need not be read.
        let no_roots = rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(no_roots);
    }
    let client = builder
        .build()
        .map_err(|_| "no HTTP client can be made here".to_owned())?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str());
    config.custom_headers = headers(address)?;
    // A new session may be another server: nothing is sent to it that was meant for the one that was looked at.
    config.reinit_on_expired_session = false;
    config.max_sse_event_size = MAX_ANSWER;
    config.max_json_response_size = MAX_ANSWER;
    config.max_error_response_size = 4 * 1024;
    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(MAX_RECONNECTS);
    retry.max_delay = Some(Duration::from_secs(30));
    config.retry_config = Arc::new(retry);
    Ok((client, config))
}

fn headers(address: &McpAddress) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let headers = address.headers.iter().map(|(name, value)| {
        let wrong = || format!("the header `{name}` cannot be sent");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((header, value))
    });
    headers.collect()
}

/// Follows what keeps method, body and origin; everything else is an answer like others.
fn same_origin() -> Policy {
    Policy::custom(|attempt| {
        let keeps = matches!(attempt.status().as_u16(), 307 | 308);
        let origin = attempt.previous().first().map(Url::origin);
        if keeps
            && origin == Some(attempt.url().origin())
            && attempt.previous().len() <= MAX_REDIRECTS
        {
            attempt.follow()
        } else {
            attempt.error("a redirect to another place is not followed")
        }
    })
}

/// The addresses of a host that is spoken to without TLS: all of them of this machine or a private network.
async fn near_addresses(url: &Url) -> Result<Vec<SocketAddr>, String> {
    let (host, port) = (
        url.host_str().unwrap_or_default(),
        url.port_or_known_default(),
    );
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = tokio::time::timeout(CONNECT, tokio::net::lookup_host((bare, port.unwrap_or(80))));
    let found: Vec<SocketAddr> = match found.await {
        Ok(Ok(found)) => found.collect(),
        Ok(Err(_)) | Err(_) => return Err(format!("the name `{bare}` leads nowhere")),
    };
    match found.iter().find(|address| !is_near(address.ip())) {
        Some(far) => Err(format!(
            "`{bare}` is {}, which is not in a private network; use https there",
            far.ip()
        )),
        None => Ok(found),
    }
}

/// Whether an address is of this machine or a private network.
fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            // 100.64.0.0/10 is what overlay networks hand out.
            let is_shared = matches!(address.octets(), [100, 64..=127, ..]);
            address.is_loopback() || address.is_private() || is_shared
        }
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
    }
}
