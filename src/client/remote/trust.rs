//! Whom a client of TLS trusts: authorities of this system, or one certificate by its fingerprint. Nothing here trusts
//! a certificate because nobody said no, and there is no way to trust any.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::DigitallySignedStruct;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

use crate::protocol::certificate::Fingerprint;
use crate::protocol::problem::{Problem, ProblemKind};

/// Title of the refusal of a certificate that changed.
pub const CHANGED: &str = "certificate changed";
/// Title of the refusal of a certificate that nobody compared.
pub const NOT_TRUSTED: &str = "certificate not trusted";

/// Whether a problem is that the certificate of a daemon is not taken. To try again does not help then.
pub fn is_refusal(problem: &Problem) -> bool {
    problem.kind == ProblemKind::Forbidden
        && [CHANGED, NOT_TRUSTED].contains(&problem.title.as_str())
}

/// A certificate of this client and its key, in PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The certificate and its chain.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// What a connection over TLS goes by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// The only certificate that is taken; none = one that an authority of this system signed.
    pub pin: Option<Fingerprint>,
    /// What this client shows of itself; none = nothing.
    pub identity: Option<ClientIdentity>,
}

/// The certificate that was refused last, so that the refusal can name it.
#[derive(Debug, Clone, Default)]
pub struct Refused(Arc<Mutex<Option<Fingerprint>>>);

impl Refused {
    /// Takes it.
    pub fn take(&self) -> Option<Fingerprint> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, shown: Fingerprint) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
    }
}

/// The configuration of a client that trusts so.
///
/// # Errors
/// Where a file of the client's own certificate cannot be used.
pub fn configuration(trust: &Trust, refused: Refused) -> Result<ClientConfig, Problem> {
    let internal = |error: Error| Problem::internal(format!("no TLS: {error}"));
    let provider = Arc::new(ring::default_provider());
    let accepted = match trust.pin {
        Some(pin) => Accepted::Pinned(pin),
        None => match Verifier::new(Arc::clone(&provider)) {
            Ok(authorities) => Accepted::Signed(authorities),
            Err(error) => {
                tracing::debug!(%error, "this system has no authorities");
                Accepted::None
            }
        },
    };
    let verifier = Check {
        accepted,
        refused,
        provider: Arc::clone(&provider),
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(internal)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut configuration = match &trust.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (chain, key) = identity.read()?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| unusable(&identity.key, &error))?
        }
    };
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(configuration)
}

impl ClientIdentity {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Problem> {
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unusable(&self.certificate, &error))?;
        let key =
            PrivateKeyDer::from_pem_file(&self.key).map_err(|error| unusable(&self.key, &error))?;
        Ok((chain, key))
    }
}

fn unusable(file: &Path, error: &dyn std::fmt::Display) -> Problem {
    Problem::new(
        ProblemKind::Invalid,
        "unusable client certificate",
        format!("{}: {error}", file.display()),
    )
    .hint("name the PEM files of a certificate and of its key")
}

/// Which certificates are taken.
#[derive(Debug)]
enum Accepted {
    /// This one.
    Pinned(Fingerprint),
    /// Those that authorities of this system signed, for the name that was asked for.
    Signed(Verifier),
    /// None.
    None,
}

/// Notes what it refuses.
#[derive(Debug)]
struct Check {
    accepted: Accepted,
    refused: Refused,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Check {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = Fingerprint::of(end_entity);
        let judged = match &self.accepted {
            Accepted::Pinned(pin) if *pin == shown => Ok(ServerCertVerified::assertion()),
            Accepted::Pinned(_) | Accepted::None => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            Accepted::Signed(authorities) => authorities.verify_server_cert(
                end_entity,
                intermediates,
                server_name,
                ocsp_response,
                now,
            ),
        };
        if judged.is_err() {
            self.refused.set(shown);
        }
        judged
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}
