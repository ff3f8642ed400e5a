//! Datasets for people: uploading a file in parts, listing, asking, taking a copy, removing.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use serde_json::json;

use crate::datasets;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::dataset_uploads::Upload;
use crate::engine::datasets::{self as kept, NewDataset};
use crate::protocol::dataset::{
    Base64Bytes, Dataset, DatasetDescription, DatasetPart, DatasetQuery, DatasetRows,
    DatasetUpload, MAX_PART,
};
use crate::protocol::ids::DatasetUploadId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    AppendDatasetUpload, BeginDatasetUpload, ExportDataset, ListDatasets,
};
use crate::protocol::snapshot::Page;
use crate::store::commands::record_audit::RecordAudit;

/// Bytes of a MiB.
const MIB: u64 = 1024 * 1024;

/// Datasets by channel and name.
pub async fn list(engine: &Engine, query: ListDatasets) -> Result<Page<Dataset>, Problem> {
    if let Some(channel) = &query.channel {
        engine.channel(channel)?;
    }
    let all = engine
        .store
        .read(move |reader| reader.datasets(query.channel.as_deref()))
        .await;
    all.map(Page::from).map_err(Problem::from)
}

/// One, with what is in its columns.
pub async fn describe(engine: &Engine, dataset: String) -> Result<DatasetDescription, Problem> {
    let dataset = kept::find(engine, &dataset).await?;
    kept::describe(engine, dataset).await
}

/// Answers a question.
pub async fn query(
    engine: &Engine,
    dataset: String,
    query: DatasetQuery,
) -> Result<DatasetRows, Problem> {
    let dataset = kept::find(engine, &dataset).await?;
    kept::query(engine, &dataset, query).await
}

/// Begins an upload.
pub async fn begin(
    engine: &Engine,
    by: &Caller,
    command: BeginDatasetUpload,
) -> Result<DatasetUpload, Problem> {
    if !datasets::is_built_in() {
        return Err(Problem::not_offered(
            "no datasets",
            "this program is built without datasets",
        ));
    }
    engine.channel(&command.channel)?;
    if command.file.trim().is_empty() {
        return Err(Problem::invalid("`file` must name the file"));
    }
    if let Some(name) = command
        .name
        .as_deref()
        .filter(|name| name.trim().is_empty())
    {
        return Err(Problem::invalid(format!(
            "`{name}` is not a valid dataset name"
        )));
    }
    let path = engine.store.new_upload_file().await?;
    let id = DatasetUploadId::generate();
    let upload = Upload {
        channel: command.channel,
        name: command.name,
        source: command.file,
        path,
        received: 0,
        owner: by.actor.id(),
        at: engine.clock.now(),
    };
    for path in engine.datasets.begin(id, upload)? {
        let _ = tokio::fs::remove_file(path).await;
    }
    Ok(DatasetUpload {
        id,
        received: 0,
        max_bytes: engine.settings.datasets.max_bytes,
    })
}

/// Takes the next part.
pub async fn append(
    engine: &Engine,
    by: &Caller,
    command: AppendDatasetUpload,
) -> Result<DatasetUpload, Problem> {
    let id = command.upload_id;
    let max_bytes = engine.settings.datasets.max_bytes;
    let data = command.data.0;
    if data.len() > MAX_PART {
        return Err(Problem::invalid(format!(
            "`data` has more than {MAX_PART} bytes"
        )));
    }
    let mut upload = engine.datasets.take(id, &by.actor.id())?;
    if command.offset != upload.received {
        let received = upload.received;
        engine.datasets.put_back(id, upload);
        return Err(Problem::conflict(
            "not the next part",
            format!(
                "{received} bytes are here, and the part begins at {}",
                command.offset
            ),
        ));
    }
    let received = upload.received + data.len() as u64;
    if received > max_bytes {
        let _ = tokio::fs::remove_file(&upload.path).await;
        return Err(Problem::invalid(format!(
            "the file has more than {} MiB, which is the most that becomes a dataset",
            max_bytes / MIB
        ))
        .hint("send a part of it, or raise `[datasets] max_mib`"));
    }
    let path = upload.path.clone();
    let written = tokio::task::spawn_blocking(move || {
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(&data)
    });
    let written = written
        .await
        .map_err(|error| Problem::internal(format!("a part was not written: {error}")))?;
    if let Err(error) = written {
        let _ = tokio::fs::remove_file(&upload.path).await;
        return Err(
            Problem::unavailable("the upload cannot be written", error.to_string())
                .hint("free disk space, then begin it again"),
        );
    }
    upload.received = received;
    upload.at = engine.clock.now();
    engine.datasets.put_back(id, upload);
    Ok(DatasetUpload {
        id,
        received,
        max_bytes,
    })
}

/// Makes the dataset.
pub async fn finish(engine: &Engine, by: &Caller, id: DatasetUploadId) -> Result<Dataset, Problem> {
    let upload = engine.datasets.take(id, &by.actor.id())?;
    if upload.received == 0 {
        return Err(Problem::invalid("the file is empty"));
    }
    let path = upload.path.clone();
    let new = NewDataset {
        channel: upload.channel,
        name: upload.name,
        source: upload.source,
        path: upload.path,
        by: by.reference(),
        sender: None,
        taint: None,
    };
    let made = kept::add(engine, new).await;
    if let Err(error) = tokio::fs::remove_file(&path).await {
        tracing::warn!(%error, "cannot remove an uploaded file; the next start removes it");
    }
    made
}

/// Removes one.
pub async fn delete(engine: &Engine, by: &Caller, dataset: String) -> Result<Dataset, Problem> {
    let dataset = kept::find(engine, &dataset).await?;
    kept::delete(engine, dataset.id, by.reference()).await
}

/// A piece of its file.
pub async fn export(
    engine: &Engine,
    by: &Caller,
    command: ExportDataset,
) -> Result<DatasetPart, Problem> {
    let dataset = kept::find(engine, &command.dataset).await?;
    if command.part == 0 {
        let record = RecordAudit {
            action: "dataset.exported",
            by: by.reference(),
            channel: Some(dataset.channel.clone()),
            subject: dataset.id.to_string(),
            detail: json!({ "name": dataset.name, "format": command.format }),
        };
        engine.write(record).await?;
    }
    let (data, next) = kept::export(engine, &dataset, command.format, command.part).await?;
    Ok(DatasetPart {
        dataset,
        data: Base64Bytes(data),
        next,
    })
}
