//! `[server]`: where the daemon listens over TCP, its certificate, and how much of it one caller gets.

use std::path::PathBuf;

use serde::Deserialize;

/// `[server]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerTable {
    /// Address and port. Addresses that other machines reach need `[server.tls]`.
    pub listen: Option<String>,
    /// Most TCP connections at once. By default as many as the limit of open files leaves room for, at most 12288.
    pub max_connections: Option<u32>,
    /// Most TCP connections of one token without a person, or of all tokens and certificates of one person. By default
    /// an eighth of all.
    pub max_connections_per_principal: Option<u32>,
    /// Requests of one of these within a minute; 0 = no bound. Default 60000.
    pub requests_per_minute: Option<u32>,
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

/// How much of the TCP listener one caller gets, and all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerLimits {
    /// Most connections; none = by the limit of open files.
    pub connections: Option<u32>,
    /// Most connections of one principal; none = an eighth of all.
    pub connections_per_principal: Option<u32>,
    /// Requests of one principal within a minute; none = no bound.
    pub requests_per_minute: Option<u32>,
}

/// Requests of one principal within a minute, unless the file says otherwise.
const REQUESTS_PER_MINUTE: u32 = 60_000;

impl Default for ListenerLimits {
    fn default() -> Self {
        Self {
            connections: None,
            connections_per_principal: None,
            requests_per_minute: Some(REQUESTS_PER_MINUTE),
        }
    }
}
