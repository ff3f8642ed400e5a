//! The HTTP client of a server with a login: each request carries the token of the moment.
//!
//! A token that the server refuses is renewed once; then the refusal stands.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::Sse;

use crate::config::settings::Secret;
use crate::mcp::client::login::error::LoginError;
use crate::mcp::client::login::tokens::LoginTokens;

/// A client that adds tokens to the requests of another one.
#[derive(Debug, Clone)]
pub struct LoginClient<C> {
    inner: C,
    tokens: LoginTokens,
}

impl<C: StreamableHttpClient> LoginClient<C> {
    /// Wraps a client.
    pub fn new(inner: C, tokens: LoginTokens) -> Self {
        Self { inner, tokens }
    }

    async fn with_token<T, F>(
        &self,
        call: impl Fn(Option<String>) -> F,
    ) -> Result<T, StreamableHttpError<C::Error>>
    where
        F: Future<Output = Result<T, StreamableHttpError<C::Error>>>,
    {
        let send = |token: &Secret| call(Some(token.expose().to_owned()));
        let token = match self.tokens.token().await {
            Ok(token) => token,
            // The server's own refusal tells where to log in, and some requests need no token.
            Err(LoginError::NeedsLogin(_)) => return call(None).await,
            Err(error) => return Err(not_sent(&error)),
        };
        let refused = match send(&token).await {
            Err(error @ StreamableHttpError::AuthRequired(_)) => error,
            Err(StreamableHttpError::InsufficientScope(refusal)) => {
                let wanted = refusal.required_scope.as_deref().unwrap_or_default();
                // The refusal is what matters: without the note, a person names the scopes.
                let _ = self.tokens.note_wanted(wanted).await;
                return Err(StreamableHttpError::InsufficientScope(refusal));
            }
            other => return other,
        };
        match self.tokens.replace(&token).await {
            Ok(fresh) => send(&fresh).await,
            Err(LoginError::NeedsLogin(_)) => Err(refused),
            Err(error) => Err(not_sent(&error)),
        }
    }
}

fn not_sent<E: std::error::Error + Send + Sync + 'static>(
    error: &LoginError,
) -> StreamableHttpError<E> {
    StreamableHttpError::Auth(AuthError::OAuthError(error.to_string()))
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for LoginClient<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<Self::Error>> {
        self.with_token(|token| {
            self.inner.post_message(
                uri.clone(),
                message.clone(),
                session_id.clone(),
                token,
                custom_headers.clone(),
            )
        })
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<Self::Error>> {
        self.with_token(|token| {
            self.inner.post_message_with_max_sse_event_size(
                uri.clone(),
                message.clone(),
                session_id.clone(),
                token,
                custom_headers.clone(),
                max_sse_event_size,
            )
        })
        .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<Self::Error>> {
        self.with_token(|token| {
            self.inner.post_message_with_response_limits(
                uri.clone(),
                message.clone(),
                session_id.clone(),
                token,
                custom_headers.clone(),
                limits,
            )
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), StreamableHttpError<Self::Error>> {
        self.with_token(|token| {
            self.inner.delete_session(
                uri.clone(),
                session_id.clone(),
                token,
                custom_headers.clone(),
            )
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<Self::Error>> {
        self.with_token(|token| {
            self.inner.get_stream(
                uri.clone(),
                session_id.clone(),
                last_event_id.clone(),
                token,
                custom_headers.clone(),
            )
        })
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<Self::Error>> {
        self.with_token(|token| {
            self.inner.get_stream_with_max_sse_event_size(
                uri.clone(),
                session_id.clone(),
                last_event_id.clone(),
                token,
                custom_headers.clone(),
                max_sse_event_size,
            )
        })
        .await
    }
}
