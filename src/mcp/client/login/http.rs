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

/// Methods of the client that send the token of the moment in place of the one they get.
macro_rules! with_token {
    ($($method:ident($($before:ident: $type:ty),*; $($limit:ident: $limit_type:ty)?) -> $answer:ty;)*) => {$(
        async fn $method(
            &self,
            $($before: $type,)*
            _auth_header: Option<String>,
            custom_headers: HashMap<HeaderName, HeaderValue>,
            $($limit: $limit_type,)?
        ) -> Result<$answer, StreamableHttpError<Self::Error>> {
            self.with_token(|token| {
                let headers = custom_headers.clone();
                self.inner.$method($($before.clone(),)* token, headers $(, $limit)?)
            })
            .await
        }
    )*};
}

type Events = BoxStream<'static, Result<Sse, SseError>>;

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for LoginClient<C> {
    type Error = C::Error;

    with_token! {
        post_message(
            uri: Arc<str>, message: ClientJsonRpcMessage, session_id: Option<Arc<str>>;
        ) -> StreamableHttpPostResponse;
        post_message_with_max_sse_event_size(
            uri: Arc<str>, message: ClientJsonRpcMessage, session_id: Option<Arc<str>>; max_sse_event_size: usize
        ) -> StreamableHttpPostResponse;
        post_message_with_response_limits(
            uri: Arc<str>, message: ClientJsonRpcMessage, session_id: Option<Arc<str>>; limits: StreamableHttpResponseLimits
        ) -> StreamableHttpPostResponse;
        delete_session(uri: Arc<str>, session_id: Arc<str>;) -> ();
        get_stream(
            uri: Arc<str>, session_id: Option<Arc<str>>, last_event_id: Option<String>;
        ) -> Events;
        get_stream_with_max_sse_event_size(
            uri: Arc<str>, session_id: Option<Arc<str>>, last_event_id: Option<String>; max_sse_event_size: usize
        ) -> Events;
    }
}
