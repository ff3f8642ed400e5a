//! One login: from the discovery of the issuer to the tokens in the file.
//!
//! Nothing here opens a page or reads from a person: that is the caller's.

use std::collections::HashMap;

use reqwest::Url;
use rmcp::transport::auth::{AuthorizationCallback, AuthorizationManager, OAuthClientConfig};

use crate::clock::Clock;
use crate::config::mcp::{McpAddress, McpLogin};
use crate::config::settings::Secret;
use crate::mcp::client::login::error::{LoginError, WIDTH, told};
use crate::mcp::client::login::issuer::{manager_for, server_url};
use crate::mcp::client::login::token_file::TokenFile;
use crate::mcp::client::login::tokens::FileStore;
use crate::text::redact::Redactor;
use crate::text::untrusted::limit_line;

/// Our name at issuers.
const CLIENT_NAME: &str = "Leverframe";

/// What a person says beside the configuration.
#[derive(Debug, Clone, Default)]
pub struct LoginOptions {
    /// Where the issuer sends the browser back to.
    pub redirect: String,
    /// Secret of a client that was registered by hand.
    pub client_secret: Option<Secret>,
    /// Scopes beside those of the configuration.
    pub scopes: Vec<String>,
}

/// A login that waits for a person's consent.
pub struct LoginAttempt {
    manager: AuthorizationManager,
    page: String,
    state: String,
    issuer: Option<String>,
    file: TokenFile,
}

impl LoginAttempt {
    /// Finds the issuer, registers us there where no client is configured, and makes the address of the page.
    pub async fn begin(
        address: &McpAddress,
        login: &McpLogin,
        options: LoginOptions,
        redactor: Redactor,
    ) -> Result<Self, LoginError> {
        let server = server_url(address)?;
        let (mut manager, issuer) = manager_for(address).await?;
        let mut scopes = login.scopes.clone();
        if scopes.is_empty() {
            scopes = manager.select_initial_scopes(&[]).await;
        }
        let file = TokenFile::new(&login.file);
        let earlier = wanted_before(&file, server.as_str(), issuer.id.as_ref())?;
        for scope in earlier.into_iter().chain(options.scopes) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let is_document = |id: &str| id.starts_with("https://");
        let client_secret = match &login.client_id {
            // An issuer that knows no documents registers us instead.
            Some(id) if !is_document(id) || issuer.takes_documents => {
                let secret = options
                    .client_secret
                    .map(|secret| secret.expose().to_owned());
                let mut config = OAuthClientConfig::new(id.clone(), options.redirect.clone());
                if let Some(secret) = &secret {
                    config = config.with_client_secret(secret.clone());
                }
                manager.configure_client(config).map_err(told)?;
                secret
            }
            Some(_) | None => {
                let registered = manager.register_client(CLIENT_NAME, &options.redirect, &scopes);
                registered.await.map_err(told)?.client_secret
            }
        };
        if let Some(secret) = &client_secret {
            redactor.register(secret);
        }
        let store = FileStore::new(
            &server,
            file.clone(),
            client_secret,
            redactor,
            Clock::System,
        );
        manager.set_credential_store(store);
        let page = manager.get_authorization_url(&scopes).await.map_err(told)?;
        let state = parameters(&page)?.remove("state").unwrap_or_default();
        Ok(Self {
            manager,
            page,
            state,
            issuer: issuer.id.filter(|_| issuer.is_published),
            file,
        })
    }

    /// The page where the person consents. It holds no secret of use to others.
    pub fn page(&self) -> &str {
        &self.page
    }

    /// Who asks for the consent; none = the server names nobody.
    pub fn issuer(&self) -> Option<&str> {
        self.issuer.as_deref()
    }

    /// What the answer of the issuer carries, so that no other one is taken for it.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Takes the address that the issuer sent the browser to, and keeps the tokens that it gives.
    pub async fn finish(self, answer: &str) -> Result<(), LoginError> {
        let said = parameters(answer)?;
        if said.get("state") != Some(&self.state) {
            return Err(LoginError::Refused(
                "this is not the answer to this login (its `state` differs): log in again"
                    .to_owned(),
            ));
        }
        if let Some(error) = said.get("error") {
            let why = said.get("error_description").map_or("", String::as_str);
            let told = limit_line(&format!("{error} {why}"), WIDTH)
                .trim()
                .to_owned();
            return Err(LoginError::Failed(format!(
                "the issuer refused the login: {told}"
            )));
        }
        let callback = AuthorizationCallback::from_redirect_url(answer).map_err(told)?;
        let _lock = self.file.lock().await?;
        let issuer = callback.issuer.as_deref();
        self.manager
            .exchange_code_for_token_with_issuer(&callback.code, &callback.csrf_token, issuer)
            .await
            .map(|_| ())
            .map_err(told)
    }
}

/// What was granted before, where the server wanted more than that since, and what it wanted.
fn wanted_before(
    file: &TokenFile,
    server: &str,
    issuer: Option<&String>,
) -> Result<Vec<String>, LoginError> {
    let login = file.load()?.filter(|login| {
        login.server == server && login.issuer.as_ref() == issuer && !login.wanted.is_empty()
    });
    Ok(login.map_or_else(Vec::new, |login| [login.scopes, login.wanted].concat()))
}

fn parameters(address: &str) -> Result<HashMap<String, String>, LoginError> {
    let url = Url::parse(address.trim()).map_err(|_| {
        LoginError::Refused(
            "this is no address: paste the whole line from the browser, from http to the end"
                .to_owned(),
        )
    })?;
    Ok(url.query_pairs().into_owned().collect())
}
