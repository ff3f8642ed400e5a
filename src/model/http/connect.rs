//! How a provider is connected to, and what to say where that fails.
//!
//! No redirect is followed: the key would go along.

use std::time::Duration;

use reqwest::{Client, Url};

use crate::model::failure::excerpt;
use crate::model::http::address::is_loopback;

/// A client for one address: no redirects, no proxy on loopback, the system's certificates where TLS is spoken.
pub fn client_for(url: &Url, connect_timeout: Duration) -> Result<Client, String> {
    // reqwest without a built-in provider takes the process-wide one; a second install is refused,
    // which is what we want when somebody else was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("leverframe/", env!("CARGO_PKG_VERSION")));
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // No TLS will be spoken, so a machine without certificates must not fail, and the
        // certificates need not be read.
        let no_roots = rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(no_roots);
    }
    builder.build().map_err(|error| {
        format!(
            "{}; install the system's CA certificates (package ca-certificates) or set SSL_CERT_FILE",
            with_causes(&error)
        )
    })
}

/// What stood in the way of a connection, in words that tell the cases apart.
pub fn obstacle(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    if error.is::<rustls::Error>() {
        return Some("the server speaks no TLS there, or its certificate is not trusted here");
    }
    // The connector names this case by word only.
    if error.to_string() == "dns error" {
        return Some("the name of the host cannot be resolved (DNS)");
    }
    let cause = match error.downcast_ref::<std::io::Error>() {
        Some(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            return Some("no server listens there");
        }
        // What an I/O error wraps is not its source, but the source of its source.
        Some(io) => io
            .get_ref()
            .map(|inner| inner as &(dyn std::error::Error + 'static)),
        None => error.source(),
    };
    obstacle(cause?)
}

/// An error with its causes, without repeating what the outer one already says.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    excerpt(&text)
}
