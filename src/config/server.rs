//! `[server]`: where the daemon listens over TCP, and its certificate. Beyond loopback nothing listens without one.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use crate::config::error::{ConfigError, ConfigLocation, Fault};
use crate::config::inputs::Inputs;
use crate::config::paths::expand;

/// `[server]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerTable {
    /// Address and port. Addresses that other machines reach need `[server.tls]`.
    pub listen: Option<String>,
    /// The certificate of the listener; with it, it speaks TLS and nothing else.
    pub tls: Option<TlsTable>,
}

/// `[server.tls]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsTable {
    /// PEM file with the certificate, and those between it and its authority.
    pub certificate: String,
    /// PEM file with its private key, mode 0600.
    pub key: String,
    /// PEM file with authorities of client certificates; without it, clients show none.
    pub client_ca: Option<String>,
}

/// The files of the listener's certificate. They are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// The certificate and its chain, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
    /// Authorities of client certificates, in PEM; none = no client shows one.
    pub client_ca: Option<PathBuf>,
}

/// The files of the certificate; none = the listener speaks plain HTTP.
pub fn tls(inputs: &Inputs<'_>) -> Option<TlsSettings> {
    let config = inputs.config();
    let table = config.server.tls.as_ref()?;
    let path = |given: &String| expand(given, inputs.environment, &inputs.paths.config_dir);
    Some(TlsSettings {
        certificate: path(&table.certificate),
        key: path(&table.key),
        client_ca: table.client_ca.as_ref().map(path),
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
        let step = "For TLS, `leverframe certificate create` makes a certificate and says how to name it; else listen \
                    on 127.0.0.1 and use `ssh -L 8787:127.0.0.1:8787 HOST`";
        let fault = fault("is not a loopback address, and there is no certificate");
        return Err(fault
            .expected("127.0.0.1:PORT or [::1]:PORT, or a certificate under [server.tls]")
            .next_step(step)
            .into());
    }
    Ok(Some(address))
}
