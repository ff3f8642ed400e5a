//! `[server]`: where the daemon listens over TCP, and its certificate.

use std::path::PathBuf;

use serde::Deserialize;

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
