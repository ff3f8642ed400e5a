//! `[server]`: the address of the listener, the files of its certificate, and its limits. Beyond loopback nothing listens
//! without a certificate.

use std::net::SocketAddr;

use crate::config::error::{ConfigError, ConfigLocation, Fault};
use crate::config::inputs::{Inputs, Section, field};
use crate::config::server::{ListenerLimits, TlsSettings};

/// Connections that `max_connections` and `max_connections_per_principal` can be.
const CONNECTIONS: std::ops::RangeInclusive<u32> = 8..=1_000_000;
/// Requests that `requests_per_minute` can be.
const REQUESTS: std::ops::RangeInclusive<u32> = 0..=100_000_000;

/// The files of the certificate; none = the listener speaks plain HTTP.
pub fn tls(inputs: &Inputs<'_>) -> Option<TlsSettings> {
    let config = inputs.config();
    let table = config.server.tls.as_ref()?;
    let client_ca = table.client_ca.as_ref();
    Some(TlsSettings {
        certificate: inputs.path(&table.certificate),
        key: inputs.path(&table.key),
        client_ca: client_ca.map(|given| inputs.path(given)),
    })
}

/// How much of the listener one caller gets.
pub fn limits(inputs: &Inputs<'_>) -> Result<ListenerLimits, ConfigError> {
    let config = inputs.config();
    let table = &config.server;
    let section = Section::new(inputs, &["server"], table);
    let per_minute = section.given(field!(table.requests_per_minute), REQUESTS)?;
    Ok(ListenerLimits {
        connections: section.given(field!(table.max_connections), CONNECTIONS)?,
        connections_per_principal: section
            .given(field!(table.max_connections_per_principal), CONNECTIONS)?,
        requests_per_minute: match per_minute {
            Some(0) => None,
            Some(requests) => Some(requests),
            None => ListenerLimits::default().requests_per_minute,
        },
    })
}

/// The TCP listener: `--listen`, else `[server] listen`. Only loopback where there is no certificate.
pub fn listen(
    inputs: &Inputs<'_>,
    tls: Option<&TlsSettings>,
) -> Result<Option<SocketAddr>, ConfigError> {
    let config = inputs.config();
    let flag = inputs.flags.listen.as_ref();
    let Some(text) = flag.or(config.server.listen.as_ref()) else {
        return Ok(None);
    };
    let fault = |problem: &str| {
        let problem = format!("`{text}` {problem}");
        match flag {
            Some(_) => Fault::new(ConfigLocation::Flag("--listen"), problem),
            None => inputs.fault(&["server", "listen"], problem),
        }
    };
    let numeric = text
        .strip_prefix("localhost:")
        .map(|port| format!("127.0.0.1:{port}"));
    let Ok(address) = numeric.as_ref().unwrap_or(text).parse::<SocketAddr>() else {
        let fault = fault("is not an address with a port");
        return Err(fault
            .expected("for example 127.0.0.1:8787, or port 0 for a free one")
            .into());
    };
    if !address.ip().is_loopback() && tls.is_none() {
        let step = "For TLS, `leverframe certificate create` makes a certificate and prints its settings; else listen \
                    on 127.0.0.1 and use `leverframe attach ssh://HOST`, or `ssh -L`";
        let fault = fault("is not a loopback address, and there is no certificate");
        return Err(fault
            .expected("127.0.0.1:PORT or [::1]:PORT, or a certificate under [server.tls]")
            .next_step(step)
            .into());
    }
    Ok(Some(address))
}
