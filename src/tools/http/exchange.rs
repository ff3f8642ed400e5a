//! One request and its answer, bounded in time and size.
//!
//! No redirect is followed here, and the client of an exchange knows no address but those it was given.

use std::io::Read as _;
use std::net::SocketAddr;
use std::time::Duration;

use flate2::read::{MultiGzDecoder, ZlibDecoder};
use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Client, Method, Response, Url};
use tokio_util::sync::CancellationToken;

use crate::tools::http::url;

/// Longest wait for a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// What is sent.
#[derive(Debug, Clone)]
pub struct Request {
    /// Method.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// Headers beside those of the connection.
    pub headers: HeaderMap,
    /// Body.
    pub body: Option<Vec<u8>>,
}

/// How much an exchange may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the connection to the end of the body.
    pub timeout: Duration,
    /// Most bytes of the body, as they come and as they are after decompression.
    pub max_bytes: usize,
}

impl Limits {
    /// So many seconds and KiB.
    pub fn new(seconds: u64, kib: usize) -> Self {
        Self {
            timeout: Duration::from_secs(seconds),
            max_bytes: kib * 1024,
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// What the body is said to be.
    pub content_type: Option<String>,
    /// Where a redirect leads.
    pub location: Option<String>,
    /// The body, decompressed, or the beginning of it.
    pub body: Vec<u8>,
    /// Whether the body goes on.
    pub cut: bool,
    /// Its length in bytes as the server says it.
    pub length: Option<u64>,
}

/// No answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server never got the request.
    #[error("{0}")]
    NotSent(String),
    /// It may have got it, and nobody knows what it did.
    #[error("{0}")]
    Lost(String),
}

/// A client whose only addresses of the host are these. It uses no proxy, which would look the name up itself.
pub fn client(url: &Url, addresses: &[SocketAddr], limits: Limits) -> Result<Client, Failure> {
    // The process has one provider; a second installation is refused, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .connect_timeout(CONNECT_WITHIN.min(limits.timeout))
        .timeout(limits.timeout)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .user_agent(concat!("leverframe/", env!("CARGO_PKG_VERSION")));
    if let Some(host) = url.host_str() {
        builder = builder.resolve_to_addrs(host, addresses);
    }
    if url.scheme() == "http" {
        // No TLS will be spoken, so the certificates of the system need not be read.
        let no_roots = rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(no_roots);
    }
    builder
        .build()
        .map_err(|_| Failure::NotSent("no HTTP client can be made here".to_owned()))
}

/// What becomes of requests that end within the time of `limits` and before `cancel` fires.
pub async fn within<T>(
    limits: Limits,
    cancel: &CancellationToken,
    requests: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        ended = tokio::time::timeout(limits.timeout, requests) => ended.unwrap_or_else(|_| {
            let seconds = limits.timeout.as_secs();
            Err(Failure::Lost(format!("no whole answer came within {seconds} s")))
        }),
        () = cancel.cancelled() => Err(Failure::Lost("stopped before the answer came".to_owned())),
    }
}

/// Sends a request and reads the answer.
pub async fn exchange(
    client: &Client,
    request: Request,
    limits: Limits,
) -> Result<Answer, Failure> {
    let host = url::host(&request.url);
    let mut building = client
        .request(request.method, request.url)
        .headers(request.headers)
        .header(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    if let Some(body) = request.body {
        building = building.body(body);
    }
    let sent = building.send().await;
    let mut response = sent.map_err(|error| failure(&error, &host, limits))?;
    let header = |name: &HeaderName| {
        let value = response.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let (content_type, location) = (header(&CONTENT_TYPE), header(&LOCATION));
    let encoding = header(&CONTENT_ENCODING);
    let (status, length) = (response.status().as_u16(), response.content_length());
    let (bytes, cut) = body(&mut response, &host, limits).await?;
    let (body, more) =
        decompressed(bytes, encoding.as_deref(), limits.max_bytes).map_err(|problem| {
            Failure::Lost(format!("`{host}` answered with {status}, and {problem}"))
        })?;
    Ok(Answer {
        status,
        content_type,
        location,
        body,
        cut: cut || more,
        length,
    })
}

/// The body, and whether it goes on.
async fn body(
    response: &mut Response,
    host: &str,
    limits: Limits,
) -> Result<(Vec<u8>, bool), Failure> {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = limits.max_bytes - bytes.len();
                bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    return Ok((bytes, true));
                }
            }
            Ok(None) => return Ok((bytes, false)),
            Err(error) if error.is_timeout() => {
                return Err(Failure::Lost(format!(
                    "`{host}` did not send its whole answer within {} s ({} bytes came)",
                    limits.timeout.as_secs(),
                    bytes.len()
                )));
            }
            Err(_) => {
                return Err(Failure::Lost(format!(
                    "`{host}` broke off its answer after {} bytes",
                    bytes.len()
                )));
            }
        }
    }
}

/// A body as it was before compression, at most so many bytes, and whether it goes on.
fn decompressed(
    bytes: Vec<u8>,
    encoding: Option<&str>,
    max_bytes: usize,
) -> Result<(Vec<u8>, bool), String> {
    let encoding = encoding.unwrap_or_default().trim().to_ascii_lowercase();
    let mut out = Vec::new();
    let most = max_bytes as u64 + 1;
    let read = match encoding.as_str() {
        "" | "identity" => return Ok((bytes, false)),
        "gzip" | "x-gzip" => MultiGzDecoder::new(bytes.as_slice())
            .take(most)
            .read_to_end(&mut out),
        "deflate" => ZlibDecoder::new(bytes.as_slice())
            .take(most)
            .read_to_end(&mut out),
        other => {
            let other: String = other.chars().take(40).collect();
            return Err(format!(
                "the answer is compressed as `{other}`, which nobody asked for"
            ));
        }
    };
    let more = out.len() > max_bytes;
    out.truncate(max_bytes);
    match read {
        Ok(_) => Ok((out, more)),
        // What came before the compressed bytes end, or are broken, can be read.
        Err(_) if !out.is_empty() => Ok((out, true)),
        Err(_) => Err(format!("the answer is no {encoding}, though it says so")),
    }
}

/// A request without an answer. Its address is not told: it may hold what is secret.
fn failure(error: &reqwest::Error, host: &str, limits: Limits) -> Failure {
    if error.is_connect() {
        let mut cause: &dyn std::error::Error = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        return Failure::NotSent(format!("`{host}` cannot be reached: {cause}"));
    }
    if error.is_builder() {
        return Failure::NotSent(format!("the request to `{host}` cannot be made"));
    }
    if error.is_timeout() {
        return Failure::Lost(format!(
            "`{host}` did not answer within {} s",
            limits.timeout.as_secs()
        ));
    }
    Failure::Lost(format!("`{host}` broke off the connection"))
}
