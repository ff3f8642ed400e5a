//! Tables that people send: uploading one as it is, asking it, and taking it out again.
//!
//! An upload is handed on in parts as it comes: no body of this module is ever whole in memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body as Content, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::{Refusal, json};
use crate::api::request::Call;
use crate::api::route::{
    AnswerShape, Method, Needs, Route, command, content, ok, own, query, success,
};
use crate::api::state::Api;
use crate::protocol::dataset::{Base64Bytes, Dataset, DatasetRows, MAX_PART};
use crate::protocol::enums::DatasetFormat;
use crate::protocol::ids::DatasetUploadId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{
    AppendDatasetUpload, BeginDatasetUpload, DeleteDataset, ExportDataset, FinishDatasetUpload,
    GetDataset, ListDatasets, QueryDataset,
};

/// Time within which the next piece of a body comes.
const PIECE_TIME: Duration = Duration::from_secs(30);
/// Bytes a second that a body comes with on average, once it takes longer than that time.
const SLOWEST: u64 = 1024;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        query::<ListDatasets>("/v1/datasets"),
        own(
            Method::Post,
            "/v1/datasets",
            "Creates a dataset from the body: CSV, TSV, JSON or JSON lines, at most `[datasets] max_mib`",
            &[success::<Dataset>(StatusCode::CREATED)],
            |api, call| Box::pin(upload(api, call)),
        )
        .asks::<BeginDatasetUpload>()
        .streamed(),
        query::<GetDataset>("/v1/datasets/{id}").id("dataset"),
        command::<DeleteDataset>(Method::Delete, "/v1/datasets/{id}").id("dataset"),
        Route {
            needs: Needs::Read,
            ..own(
                Method::Post,
                "/v1/datasets/{id}/query",
                "Queries a dataset: rows, columns and groups",
                &[ok::<DatasetRows>()],
                |api, call| Box::pin(async move { api.answer(call.request::<QueryDataset>()?).await }),
            )
            .takes::<QueryDataset>()
            .id("dataset")
        },
        own(
            Method::Get,
            "/v1/datasets/{id}/content",
            "Exports a dataset as a file; the audit records who did",
            &[content(AnswerShape::Content(&["text/csv", "application/vnd.apache.parquet"]))],
            |api, call| Box::pin(export(api, call)),
        )
        .asks::<Export>(),
    ]
}

async fn upload(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let begin = call.query::<BeginDatasetUpload>()?;
    let body = call.take_stream();
    let upload = api.client.execute(call.envelope(begin)?).await?;
    let mut pieces = body.into_data_stream();
    let mut part: Vec<u8> = Vec::new();
    let mut offset = 0;
    let (begun, mut came) = (Instant::now(), 0);
    loop {
        let piece = tokio::time::timeout(PIECE_TIME, pieces.next())
            .await
            .map_err(|_| late(format!("nothing came within {} s", PIECE_TIME.as_secs())))?;
        let Some(piece) = piece else { break };
        let piece = piece
            .map_err(|error| Problem::invalid(format!("the request body broke off: {error}")))?;
        came += u64::try_from(piece.len()).unwrap_or(u64::MAX);
        if begun.elapsed() > PIECE_TIME + Duration::from_secs(came / SLOWEST) {
            return Err(late(format!("less than {SLOWEST} bytes came in a second")));
        }
        part.extend_from_slice(&piece);
        while part.len() >= MAX_PART {
            let rest = part.split_off(MAX_PART);
            let full = std::mem::replace(&mut part, rest);
            offset = append(&api, &call, upload.id, offset, full).await?;
        }
    }
    if !part.is_empty() {
        append(&api, &call, upload.id, offset, part).await?;
    }
    let finish = FinishDatasetUpload {
        upload_id: upload.id,
    };
    let dataset = api.client.execute(call.plain_envelope(finish)?).await?;
    json(StatusCode::CREATED, &dataset)
}

/// The body comes too slowly.
fn late(why: String) -> Refusal {
    let problem = Problem::new(ProblemKind::Invalid, "request timed out", why);
    Refusal::with_status(StatusCode::REQUEST_TIMEOUT, problem)
}

async fn append(
    api: &Api,
    call: &Call,
    upload_id: DatasetUploadId,
    offset: u64,
    data: Vec<u8>,
) -> Result<u64, Refusal> {
    let part = AppendDatasetUpload {
        upload_id,
        offset,
        data: Base64Bytes(data),
    };
    let upload = api.client.execute(call.plain_envelope(part)?).await?;
    Ok(upload.received)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Export {
    /// Format of the export.
    #[serde(default)]
    format: Option<DatasetFormat>,
}

async fn export(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let format = call.query::<Export>()?.format.unwrap_or(DatasetFormat::Csv);
    let piece = |dataset: String, part: u64| {
        let export = ExportDataset {
            dataset,
            format,
            part,
        };
        call.plain_envelope(export)
    };
    // The first piece before the head of the answer: what cannot be had is a refusal.
    let first = piece(call.text("id")?.to_owned(), 0)?;
    let first = api.client.execute(first).await?;
    let dataset = first.dataset.clone();
    let id = dataset.id.to_string();
    let next = piece(id, 0)?;
    let client = Arc::clone(&api.client);
    let rest = stream::unfold(
        (first.next, next, client),
        |(part, mut envelope, client)| async move {
            envelope.command.part = part?;
            match client.execute(envelope.clone()).await {
                Ok(piece) => Some((
                    Ok(Bytes::from(piece.data.0)),
                    (piece.next, envelope, client),
                )),
                // Cuts the answer off, so that nobody takes it for the whole.
                Err(problem) => Some((
                    Err(std::io::Error::other(problem.to_string())),
                    (None, envelope, client),
                )),
            }
        },
    );
    let first = stream::iter([Ok::<Bytes, std::io::Error>(Bytes::from(first.data.0))]);
    let mut response = Response::new(Content::from_stream(first.chain(rest)));
    let media_type = match format {
        DatasetFormat::Csv => "text/csv; charset=utf-8",
        DatasetFormat::Parquet => "application/vnd.apache.parquet",
    };
    let name = format!("attachment; filename=\"{}.{format}\"", dataset.name);
    let name = HeaderValue::from_str(&name)
        .map_err(|_| Problem::internal("a dataset has a name that no header can hold"))?;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}
