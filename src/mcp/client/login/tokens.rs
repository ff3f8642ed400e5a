//! The tokens of one login: the one to send now, and its renewal.
//!
//! No two tasks and no two processes renew at the same time, and tokens of another server are never given out.

use async_trait::async_trait;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore, OAuthClientConfig, StoredCredentials,
};

use crate::clock::Clock;
use crate::config::mcp::{McpAddress, McpLogin};
use crate::config::settings::Secret;
use crate::mcp::client::login::error::{LoginError, told};
use crate::mcp::client::login::issuer::{manager_for, server_url};
use crate::mcp::client::login::token_file::{StoredLogin, TokenFile};
use crate::text::redact::Redactor;

/// A token is renewed so many seconds before its end, or half its life before.
const RENEW_BEFORE: u64 = 30;
/// Most scopes that a refusal of a server adds to the next login.
const MAX_WANTED: usize = 32;

/// Where the tokens of a server come from. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LoginTokens {
    address: McpAddress,
    server: Url,
    file: TokenFile,
    redactor: Redactor,
    clock: Clock,
}

impl LoginTokens {
    /// Those of a server with a login. The error says what is wrong with its address.
    pub fn new(
        address: &McpAddress,
        login: &McpLogin,
        redactor: Redactor,
        clock: Clock,
    ) -> Result<Self, LoginError> {
        Ok(Self {
            address: address.clone(),
            server: server_url(address)?,
            file: TokenFile::new(&login.file),
            redactor,
            clock,
        })
    }

    /// The token to send: renewed first where it is about to end.
    pub async fn token(&self) -> Result<Secret, LoginError> {
        match self.stored()? {
            Some(login) if self.is_fresh(&login) => access_token(&login),
            Some(_) => self.renew(None).await,
            None => Err(needs_login()),
        }
    }

    /// Another token than the one that the server refused.
    pub async fn replace(&self, refused: &Secret) -> Result<Secret, LoginError> {
        self.renew(Some(refused)).await
    }

    /// Notes what the server wants beside what was granted, for the next login.
    pub async fn note_wanted(&self, scopes: &str) -> Result<(), LoginError> {
        let _lock = self.file.lock().await?;
        let Some(mut login) = self.stored()? else {
            return Ok(());
        };
        let wanted = scopes
            .split_whitespace()
            .take(MAX_WANTED)
            .map(str::to_owned);
        login.wanted = wanted
            .filter(|scope| !login.scopes.contains(scope))
            .collect();
        self.file.save(&login)
    }

    async fn renew(&self, refused: Option<&Secret>) -> Result<Secret, LoginError> {
        let _lock = self.file.lock().await?;
        let login = self.stored()?.ok_or_else(needs_login)?;
        // Somebody else may have renewed while this waited.
        if self.is_fresh(&login) {
            let token = access_token(&login)?;
            if refused.is_none_or(|refused| refused.expose() != token.expose()) {
                return Ok(token);
            }
        }
        let renewal = login
            .tokens
            .as_ref()
            .and_then(|tokens| tokens.refresh_token.as_ref());
        if renewal.is_none() {
            return Err(LoginError::NeedsLogin(
                "the token has ended, and the issuer gave none to renew it".to_owned(),
            ));
        }
        let (mut manager, issuer) = manager_for(&self.address).await?;
        if issuer.id != login.issuer {
            return Err(LoginError::NeedsLogin(
                "the server names another issuer than at the login".to_owned(),
            ));
        }
        configure(&mut manager, &login, self.server.as_str())?;
        manager.set_credential_store(FileStore::new(
            &self.server,
            self.file.clone(),
            login.client_secret.clone(),
            self.redactor.clone(),
            self.clock.clone(),
        ));
        manager.refresh_token().await.map_err(told)?;
        let renewed = self.stored()?.ok_or_else(needs_login)?;
        access_token(&renewed)
    }

    /// What the file holds for this very server. Its secrets are known to the redactor from then on.
    fn stored(&self) -> Result<Option<StoredLogin>, LoginError> {
        let Some(login) = self.file.load()? else {
            return Ok(None);
        };
        register(&self.redactor, &login);
        if login.server != self.server.as_str() {
            return Err(LoginError::NeedsLogin(
                "the login was for another address of the server".to_owned(),
            ));
        }
        Ok(Some(login))
    }

    fn is_fresh(&self, login: &StoredLogin) -> bool {
        let Some(tokens) = &login.tokens else {
            return false;
        };
        let (Some(lifetime), Some(received)) = (tokens.expires_in, login.received_at) else {
            return true;
        };
        let left = lifetime.saturating_sub(seconds(&self.clock).saturating_sub(received));
        left > RENEW_BEFORE.min(lifetime / 2)
    }
}

/// Tells the SDK's manager which client of its issuer we are.
fn configure(
    manager: &mut AuthorizationManager,
    login: &StoredLogin,
    redirect: &str,
) -> Result<(), LoginError> {
    let mut config = OAuthClientConfig::new(login.client_id.clone(), redirect);
    if let Some(secret) = &login.client_secret {
        config = config.with_client_secret(secret.clone());
    }
    manager.configure_client(config).map_err(told)
}

/// Seconds since the Unix epoch.
fn seconds(clock: &Clock) -> u64 {
    u64::try_from(clock.now().as_millis() / 1000).unwrap_or(0)
}

fn needs_login() -> LoginError {
    LoginError::NeedsLogin("nobody has logged in".to_owned())
}

fn access_token(login: &StoredLogin) -> Result<Secret, LoginError> {
    let tokens = login.tokens.as_ref().ok_or_else(|| {
        LoginError::NeedsLogin("the issuer does not renew the token any more".to_owned())
    })?;
    Ok(Secret::new(tokens.access_token.clone()))
}

fn register(redactor: &Redactor, login: &StoredLogin) {
    let tokens = login.tokens.as_ref();
    let secrets = [
        tokens.map(|tokens| &tokens.access_token),
        tokens.and_then(|tokens| tokens.refresh_token.as_ref()),
        login.client_secret.as_ref(),
    ];
    for secret in secrets.into_iter().flatten() {
        redactor.register(secret);
    }
}

/// The file as the SDK wants it.
pub(super) struct FileStore {
    server: String,
    client_secret: Option<String>,
    file: TokenFile,
    redactor: Redactor,
    clock: Clock,
}

impl FileStore {
    /// Where the tokens of a login at a server go.
    pub(super) fn new(
        server: &Url,
        file: TokenFile,
        client_secret: Option<String>,
        redactor: Redactor,
        clock: Clock,
    ) -> Self {
        Self {
            server: server.to_string(),
            client_secret,
            file,
            redactor,
            clock,
        }
    }
}

#[async_trait]
impl CredentialStore for FileStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let Some(login) = self.file.load().map_err(not_stored)? else {
            return Ok(None);
        };
        let tokens = login
            .tokens
            .map(|tokens| serde_json::to_value(tokens).and_then(serde_json::from_value));
        let tokens = tokens.transpose().map_err(|_| {
            AuthError::CredentialStoreError("the stored tokens are none".to_owned())
        })?;
        let stored =
            StoredCredentials::new(login.client_id, tokens, login.scopes, login.received_at);
        Ok(Some(stored.with_issuer(login.issuer)))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let tokens = credentials
            .token_response
            .map(|tokens| serde_json::to_value(tokens).and_then(serde_json::from_value));
        let tokens = tokens.transpose().map_err(|_| {
            AuthError::CredentialStoreError("the issuer's answer holds no tokens".to_owned())
        })?;
        let login = StoredLogin {
            server: self.server.clone(),
            issuer: credentials.issuer,
            client_id: credentials.client_id,
            client_secret: self.client_secret.clone(),
            scopes: credentials.granted_scopes,
            wanted: Vec::new(),
            received_at: Some(seconds(&self.clock)),
            tokens,
        };
        register(&self.redactor, &login);
        self.file.save(&login).map_err(not_stored)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.file.remove().map(|_| ()).map_err(not_stored)
    }

    /// What the issuer took back is of no use: the next call asks for a login at once.
    async fn on_refresh_token_rejected(
        &self,
        _credentials: &StoredCredentials,
    ) -> Result<(), AuthError> {
        let Some(mut login) = self.file.load().map_err(not_stored)? else {
            return Ok(());
        };
        login.tokens = None;
        self.file.save(&login).map_err(not_stored)
    }
}

fn not_stored(error: LoginError) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}
