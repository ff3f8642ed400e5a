//! The content of artifacts, as it is. Never shown as a page: the browser is told to save it.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{AnswerShape, Method, Route, content, own};
use crate::api::state::Api;
use crate::protocol::artifact::ArtifactHash;
use crate::protocol::problem::Problem;
use crate::protocol::request::GetArtifact;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![own(
        Method::Get,
        "/v1/artifacts/{hash}",
        "The content of an artifact with its media type: an attached file, or a whole result that was shown in part",
        &[content(AnswerShape::Content(&[
            "application/octet-stream",
            "*/*",
        ]))],
        |api, call| Box::pin(one(api, call)),
    )]
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let hash: ArtifactHash = call
        .text("hash")?
        .parse()
        .map_err(|error| Problem::invalid(format!("{error}")))?;
    let artifact = api.client.call(GetArtifact { hash }).await?;
    let value = |text: &str| {
        HeaderValue::from_str(text).map_err(|_| {
            Problem::internal("an artifact has a name or type that no header can hold")
        })
    };
    let content = match &artifact.data {
        None => artifact.text.into_bytes(),
        Some(data) => BASE64
            .decode(data)
            .map_err(|error| Problem::internal(format!("the content of an artifact: {error}")))?,
    };
    let mut response = Response::new(Body::from(content));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, value(&artifact.media_type)?);
    headers.insert(
        header::CONTENT_DISPOSITION,
        value(&format!("attachment; filename=\"{hash}\""))?,
    );
    headers.insert(header::ETAG, value(&format!("\"{hash}\""))?);
    Ok(response)
}
