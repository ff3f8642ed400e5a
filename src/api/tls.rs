//! The certificate of the TCP listener. It is read again when its files change. Files that cannot be used never
//! replace it, and no connection that is open notices a change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::RootCertStore;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, ServerConfig, WebPkiClientVerifier};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::api::report::ListenerReport;
use crate::config::error::ConfigError;
use crate::config::secrets::read_private_text;
use crate::config::server::TlsSettings;
use crate::protocol::certificate::Certificate;

/// Between two looks at the files.
const EVERY: Duration = Duration::from_secs(2);

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not as it should be.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The file of the key is not as it should be.
    #[error("{0}")]
    Key(#[from] ConfigError),
}

/// A certificate that is in use.
#[derive(Debug)]
struct InUse {
    config: Arc<ServerConfig>,
    leaf: CertificateDer<'static>,
    /// Hash of the files that it came from.
    digest: [u8; 32],
}

/// The certificate of a listener.
#[derive(Debug)]
pub struct Tls {
    files: TlsSettings,
    in_use: RwLock<Arc<InUse>>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// Where they cannot be used; it names the file.
    pub fn load(files: TlsSettings) -> Result<(Self, Certificate), TlsError> {
        let content = Content::read(&files)?;
        let (in_use, certificate) = content.check(&files)?;
        let in_use = RwLock::new(Arc::new(in_use));
        Ok((Self { files, in_use }, certificate))
    }

    /// What the next connection goes by.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.now().config)
    }

    /// Whether the certificate is for this host name.
    pub fn names(&self, host: &str) -> bool {
        let now = self.now();
        let parsed = ParsedCertificate::try_from(&now.leaf);
        match (parsed, ServerName::try_from(host)) {
            (Ok(parsed), Ok(name)) => verify_server_name(&parsed, &name).is_ok(),
            _ => false,
        }
    }

    fn now(&self) -> Arc<InUse> {
        Arc::clone(&self.in_use.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the files again, unless they are as they were in use or at the last look, whose hash `last` has.
    fn look(&self, last: &mut [u8; 32]) -> Option<Result<Certificate, TlsError>> {
        let content = match Content::read(&self.files) {
            Ok(content) => content,
            Err(error) => {
                let digest = Sha256::digest(error.to_string()).into();
                return (std::mem::replace(last, digest) != digest).then_some(Err(error));
            }
        };
        if std::mem::replace(last, content.digest) == content.digest {
            return None;
        }
        Some(content.check(&self.files).map(|(next, certificate)| {
            *self.in_use.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
            certificate
        }))
    }
}

/// Looks at the files from time to time until `shutdown`, and tells of every change.
pub async fn watch(tls: Arc<Tls>, report: Arc<dyn ListenerReport>, shutdown: CancellationToken) {
    let mut last = tls.now().digest;
    let mut failed = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = shutdown.cancelled() => return,
        }
        let looking = Arc::clone(&tls);
        let looked = tokio::task::spawn_blocking(move || {
            let mut last = last;
            (looking.look(&mut last), last)
        });
        let Ok((found, seen)) = looked.await else {
            continue;
        };
        last = seen;
        match found {
            Some(Ok(certificate)) => {
                tracing::info!(fingerprint = %certificate.fingerprint, until = %certificate.not_after, "the certificate changed");
                report.certificate(&certificate);
                failed = None;
            }
            // Two files do not change at once: the next look tells whether it stays so.
            Some(Err(error)) => failed = Some(error.to_string()),
            None => {
                if let Some(why) = failed.take() {
                    tracing::warn!(%why, "the new certificate cannot be used; the previous one stays in use");
                    report.unusable(&why);
                }
            }
        }
    }
}

/// The files as they were read.
struct Content {
    certificate: Vec<u8>,
    key: String,
    client_ca: Option<Vec<u8>>,
    digest: [u8; 32],
}

impl Content {
    fn read(files: &TlsSettings) -> Result<Self, TlsError> {
        let read = |path: &Path| std::fs::read(path).map_err(|error| wrong(path, error));
        let certificate = read(&files.certificate)?;
        let key = read_private_text(&files.key)?;
        let client_ca = files.client_ca.as_deref().map(read).transpose()?;
        let mut digest = Sha256::new();
        for part in [
            &certificate,
            key.as_bytes(),
            client_ca.as_deref().unwrap_or(&[]),
        ] {
            digest.update(Sha256::digest(part));
        }
        Ok(Self {
            certificate,
            key,
            client_ca,
            digest: digest.finalize().into(),
        })
    }

    fn check(&self, files: &TlsSettings) -> Result<(InUse, Certificate), TlsError> {
        let chain = certificates(&files.certificate, &self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|error| wrong(&files.key, format!("no private key in PEM: {error}")))?;
        let Some(leaf) = chain.first().cloned() else {
            return Err(wrong(&files.certificate, "there is no certificate in it"));
        };
        let certificate =
            Certificate::read(&leaf).map_err(|problem| wrong(&files.certificate, problem))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&files.certificate, error))?;
        let builder = match (&files.client_ca, &self.client_ca) {
            (Some(path), Some(bytes)) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(path, bytes)? {
                    roots.add(authority).map_err(|error| wrong(path, error))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .allow_unauthenticated()
                        .build()
                        .map_err(|error| wrong(path, error))?;
                builder.with_client_cert_verifier(verifier)
            }
            _ => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| {
            wrong(
                &files.key,
                format!("does not go with {}: {error}", files.certificate.display()),
            )
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let in_use = InUse {
            config: Arc::new(config),
            leaf,
            digest: self.digest,
        };
        Ok((in_use, certificate))
    }
}

fn certificates(path: &Path, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_slice_iter(bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(path, format!("no certificates in PEM: {error}")))
}

fn wrong(path: &Path, problem: impl ToString) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        problem: problem.to_string(),
    }
}
