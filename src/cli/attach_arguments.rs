//! What `leverframe attach` takes.

use std::path::PathBuf;

use clap::Args;

use crate::client::remote::trust::ClientIdentity;
use crate::protocol::certificate::Fingerprint;

/// `attach`.
#[derive(Debug, Args)]
pub struct AttachArguments {
    /// http(s)://…, ssh://HOST or unix:PATH; NAME= before it sets the name in the console
    #[arg(required = true, value_name = "[NAME=]URL")]
    pub urls: Vec<String>,
    /// File that holds the bearer token; one for each http address, in the same order
    #[arg(long, value_name = "F")]
    pub token_file: Vec<PathBuf>,
    /// Client certificate for https addresses, in PEM; without --token-file it is the credential
    #[arg(long, value_name = "F", requires = "client_key")]
    pub client_certificate: Option<PathBuf>,
    /// Its private key, in PEM
    #[arg(long, value_name = "F", requires = "client_certificate")]
    pub client_key: Option<PathBuf>,
    /// Trust a certificate with this fingerprint at the first contact without asking; can be given again
    #[arg(long, value_name = "SHA256:…")]
    pub accept_fingerprint: Vec<Fingerprint>,
}

impl AttachArguments {
    /// What this client shows of itself.
    pub fn identity(&self) -> Option<ClientIdentity> {
        Some(ClientIdentity {
            certificate: self.client_certificate.clone()?,
            key: self.client_key.clone()?,
        })
    }
}
