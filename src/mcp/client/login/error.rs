//! Why a login failed, in our words. No error holds a token.

use rmcp::transport::auth::AuthError;

use crate::text::untrusted::limit_line;

/// Most columns of a text of others in an error.
pub(super) const WIDTH: usize = 300;

/// Why there is no token, or no login.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// Only a person can help: nobody logged in, or the issuer does not renew any more.
    #[error("{0}")]
    NeedsLogin(String),
    /// A server or issuer wants what a login must not do.
    #[error("{0}")]
    Refused(String),
    /// Something failed; another try may succeed.
    #[error("{0}")]
    Failed(String),
}

/// An error of the SDK in our words. Addresses and texts of others are revealed, and no token is among them.
pub(super) fn told(error: AuthError) -> LoginError {
    let text = |text: String| limit_line(&text, WIDTH);
    match error {
        AuthError::AuthorizationRequired | AuthError::TokenExpired => {
            LoginError::NeedsLogin("no token can be renewed".to_owned())
        }
        AuthError::TokenRefreshRejected(_) => {
            LoginError::NeedsLogin("the issuer does not renew the token any more".to_owned())
        }
        AuthError::AuthorizationServerMismatch { .. }
        | AuthError::AuthorizationServerMissingIssuer { .. }
        | AuthError::ProtectedResourceMetadataInvalid { .. }
        | AuthError::PkceUnsupported => LoginError::Refused(text(error.to_string())),
        // What comes from a server may repeat what it was sent.
        AuthError::TokenExchangeFailed(_) => {
            LoginError::Failed("the issuer gave no token for the answer".to_owned())
        }
        AuthError::TokenRefreshFailed(_) => {
            LoginError::Failed("the issuer did not renew the token".to_owned())
        }
        AuthError::DiscoveryRequestFailed {
            ref url,
            ref source,
        } => LoginError::Failed(text(format!("{url} cannot be read: {source}"))),
        AuthError::RegistrationFailed(problem) => LoginError::Failed(text(format!(
            "the issuer does not register clients by itself ({problem}); register one there by hand, and set \
             client_id"
        ))),
        other => LoginError::Failed(text(other.to_string())),
    }
}
