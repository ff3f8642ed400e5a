//! Tables that people sent: making them, asking them, removing them.
//!
//! A dataset belongs to one channel, and no other channel's agents can ask it. Work on files is done away from the
//! threads that serve everything else, a few at once.

use std::path::{Path, PathBuf};

use crate::clock::Timestamp;
use crate::datasets::{self, Converted, DatasetError, Input};
use crate::engine::core::Engine;
use crate::protocol::artifact::ArtifactRef;
use crate::protocol::dataset::{
    Dataset, DatasetDescription, DatasetQuery, DatasetRows, is_table, name_of_file, slug,
};
use crate::protocol::enums::DatasetFormat;
use crate::protocol::event::EventBody;
use crate::protocol::ids::DatasetId;
use crate::protocol::problem::Problem;
use crate::store::commands::put_dataset::{DeleteDataset, KeepDataset, PutDataset};
use crate::store::input::ActorRef;
use crate::text::untrusted::reveal_line;
use crate::tools::tool::DatasetCopy;

/// Bytes of a MiB.
const MIB: u64 = 1024 * 1024;
/// Whose text a dataset holds that came with a message.
const FROM_CHAT: &str = "a table that came with a message";
/// Longest name of a file that is kept, in characters.
const SOURCE_CHARS: usize = 100;

/// A file that is to become a dataset.
#[derive(Debug, Clone)]
pub struct NewDataset {
    pub channel: String,
    /// Name that was asked for; none = from the name of the file.
    pub name: Option<String>,
    /// Name of the file: outside text.
    pub source: String,
    /// Where it is.
    pub path: PathBuf,
    /// Who sends it.
    pub by: ActorRef,
    /// Stable platform id of who sent the message that it came with.
    pub sender: Option<String>,
    /// Whose text it holds when nobody here vouches for it.
    pub taint: Option<String>,
}

/// Does work on files away from everything else.
async fn work<T: Send + 'static>(
    engine: &Engine,
    work: impl FnOnce() -> Result<T, DatasetError> + Send + 'static,
) -> Result<T, Problem> {
    let permit = engine.datasets.work().await;
    let done = tokio::task::spawn_blocking(work).await;
    drop(permit);
    match done {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(problem(engine, &error)),
        Err(error) => Err(Problem::internal(format!(
            "work on a dataset did not end well: {error}"
        ))),
    }
}

fn problem(engine: &Engine, error: &DatasetError) -> Problem {
    let words = error.to_string();
    let words = engine.redactor.redact(&words);
    match error {
        DatasetError::Refused(_) => Problem::invalid(reveal_line(&words).into_owned()),
        DatasetError::File(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
            ) =>
        {
            Problem::unavailable("the disk is full", words)
                .hint("nothing was kept; free space and send it again")
        }
        DatasetError::File(_) | DatasetError::Damaged(_) => Problem::internal(words),
    }
}

/// Makes a dataset of a file. The same content in the same channel stays the same dataset, and its time begins anew.
pub async fn add(engine: &Engine, new: NewDataset) -> Result<Dataset, Problem> {
    engine.channel(&new.channel)?;
    let output = engine.store.new_dataset_file(&new.channel).await?;
    let added = make(engine, &new, &output).await;
    if added.is_err() {
        // Gone already where it got its name, or where it was never made.
        let _ = tokio::fs::remove_file(&output).await;
    }
    added
}

async fn make(engine: &Engine, new: &NewDataset, output: &Path) -> Result<Dataset, Problem> {
    let max_bytes = engine.settings.datasets.max_bytes;
    let (input, to, name) = (new.path.clone(), output.to_owned(), new.source.clone());
    let made = work(engine, move || {
        let input = Input {
            path: &input,
            name: &name,
            max_bytes,
        };
        datasets::convert(input, &to)
    })
    .await?;
    let secret = made
        .columns
        .iter()
        .any(|column| engine.redactor.redact(&column.name) != column.name);
    if secret {
        return Err(Problem::invalid(
            "a column name contains a secret: Leverframe does not store it",
        ));
    }
    let now = engine.clock.now();
    let settings = engine.settings.datasets;
    let expires_at = (settings.keep_days > 0)
        .then(|| now.plus_seconds(i64::from(settings.keep_days) * 24 * 3600));
    // From here on nobody else takes the name.
    let lock = engine.store.dataset_lock().await;
    let (channel, sha256) = (new.channel.clone(), made.sha256.clone());
    let (same, taken_bytes) = engine
        .read_here(|reader| {
            Ok((
                reader.same_dataset(&channel, &sha256)?,
                reader.dataset_bytes(&channel)?,
            ))
        })
        .await?;
    let asked = new.name.as_deref().map(slug);
    if let Some(same) = same.filter(|same| asked.as_ref().is_none_or(|name| *name == same.name)) {
        let keep = KeepDataset {
            id: same.id,
            expires_at,
            taint: new.taint.clone(),
        };
        engine.persist(keep).await?;
        let _ = tokio::fs::remove_file(output).await;
        announce(engine, Some(&new.channel));
        return engine.store.dataset(same.id).await.map_err(Problem::from);
    }
    if taken_bytes.saturating_add(made.bytes) > settings.max_total_bytes {
        return Err(Problem::conflict(
            "no room for the dataset",
            format!(
                "the datasets of `{}` take {} of {} MiB, and this one takes {} more",
                new.channel,
                taken_bytes.div_ceil(MIB),
                settings.max_total_bytes / MIB,
                made.bytes.div_ceil(MIB)
            ),
        )
        .hint(
            "`leverframe datasets delete` removes one; `[datasets] max_total_mib` is the limit",
        ));
    }
    let name = free_name(engine, new, asked).await?;
    let dataset = row(engine, new, name, made, (now, expires_at));
    engine
        .store
        .name_dataset_file(&lock, output.to_owned(), &dataset)
        .await?;
    crate::crash_point!("dataset.pre_row");
    let put = PutDataset {
        dataset: dataset.clone(),
        sender: new.sender.clone(),
        by: new.by.clone(),
    };
    if let Err(error) = engine.persist(put).await {
        let removed = engine.store.remove_dataset_file(&lock, &dataset).await;
        if let Err(error) = removed {
            tracing::warn!(%error, "cannot remove the file of a refused dataset; the next sweep removes it");
        }
        return Err(Problem::from(error));
    }
    drop(lock);
    announce(engine, Some(&dataset.channel));
    Ok(dataset)
}

/// Tells consoles that the datasets of a channel changed.
pub fn announce(engine: &Engine, channel: Option<&str>) {
    let channel = channel.map(str::to_owned);
    engine.publish(None, None, EventBody::DatasetsChanged { channel });
}

fn row(
    engine: &Engine,
    new: &NewDataset,
    name: String,
    made: Converted,
    (created_at, expires_at): (Timestamp, Option<Timestamp>),
) -> Dataset {
    let clean = |text: &str| engine.redactor.redact(text).into_owned();
    let source: String = new.source.chars().take(SOURCE_CHARS).collect();
    Dataset {
        id: DatasetId::generate(),
        channel: new.channel.clone(),
        name,
        source: clean(&source),
        rows: made.rows,
        columns: made.columns,
        bytes: made.bytes,
        sha256: made.sha256,
        notes: made.notes.iter().map(|note| clean(note)).collect(),
        created_at,
        expires_at,
        uploaded_by: new.by.label.clone(),
        taint: new.taint.clone(),
    }
}

/// The name that was asked for, or one made of the name of the file, which no dataset and no file has.
async fn free_name(
    engine: &Engine,
    new: &NewDataset,
    asked: Option<String>,
) -> Result<String, Problem> {
    let store = &engine.store;
    let is_asked = asked.is_some();
    let plain = asked.unwrap_or_else(|| name_of_file(&new.source));
    let mut name = plain.clone();
    for copy in 2.. {
        let (channel, of) = (new.channel.clone(), name.clone());
        let known = store
            .read_here(move |reader| reader.dataset_known(&channel, &of))
            .await;
        if !known? && !store.is_dataset_file(&new.channel, &name) {
            break;
        }
        if is_asked {
            return Err(Problem::conflict(
                "the name is taken",
                format!("`{}` has a dataset `{name}`", new.channel),
            )
            .hint("take another name, or `leverframe datasets delete` it first"));
        }
        // What is cut off makes room for the number.
        let room = plain.len().min(56);
        name = format!("{}_{copy}", plain.get(..room).unwrap_or(&plain));
    }
    Ok(name)
}

/// A file of a message as a dataset, where it is a table: what the model is told; none = it is no table.
pub async fn of_message(
    engine: &Engine,
    channel: &str,
    name: &str,
    artifact: &ArtifactRef,
    by: ActorRef,
) -> Option<String> {
    if !datasets::is_built_in() || !is_table(name) {
        return None;
    }
    let new = NewDataset {
        channel: channel.to_owned(),
        name: None,
        source: name.to_owned(),
        path: engine.store.artifact_file(artifact.hash),
        sender: Some(by.id.clone()),
        by,
        taint: Some(FROM_CHAT.to_owned()),
    };
    Some(match add(engine, new).await {
        Ok(dataset) => format!("[{}]", told(&dataset)),
        Err(problem) => {
            tracing::info!(%channel, %problem, "cannot make a dataset from a file of a message");
            format!("[`{name}` is no dataset: {}]", reveal_line(&problem.detail))
        }
    })
}

/// The line of a dataset, with what was found while it was made.
fn told(dataset: &Dataset) -> String {
    let line = dataset.line();
    let notes = match dataset.notes.as_slice() {
        [] => String::new(),
        notes => format!("; {}", notes.join(", ")),
    };
    reveal_line(&format!("{line}{notes}")).into_owned()
}

/// The dataset that a text names: its id, or its name, alone or behind its channel and a slash.
pub async fn find(engine: &Engine, text: &str) -> Result<Dataset, Problem> {
    if text.starts_with(DatasetId::PREFIX)
        && let Ok(id) = text.parse()
    {
        return engine.store.dataset(id).await.map_err(Problem::from);
    }
    let (channel, name) = match text.split_once('/') {
        Some((channel, name)) => (Some(channel.to_owned()), name),
        None => (None, text),
    };
    let all = engine
        .read_here(|reader| reader.datasets(channel.as_deref()))
        .await?;
    let named: Vec<&Dataset> = all.iter().filter(|dataset| dataset.name == name).collect();
    match named.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(Problem::not_found("dataset", reveal_line(text))
            .hint("`leverframe datasets list` shows them")),
        [..] => Err(Problem::conflict(
            "several datasets have this name",
            format!("`{name}` is the name of {} datasets", named.len()),
        )
        .hint("name its channel too: CHANNEL/NAME")),
    }
}

/// The dataset of a channel that its agents call by a name; else what they are told.
pub async fn of_channel(engine: &Engine, channel: &str, name: &str) -> Result<Dataset, String> {
    let all = engine
        .store
        .read_here(|reader| reader.datasets(Some(channel)))
        .await
        .map_err(|error| error.to_string())?;
    let found = all.iter().find(|dataset| dataset.name == name);
    found.cloned().ok_or_else(|| {
        if all.is_empty() {
            return "this channel has no datasets".to_owned();
        }
        let near = all
            .iter()
            .map(|dataset| (strsim::jaro_winkler(&dataset.name, name), dataset))
            .max_by(|left, right| left.0.total_cmp(&right.0))
            .filter(|(similarity, _)| *similarity > 0.75)
            .map_or_else(String::new, |(_, near)| {
                format!("; did you mean `{}`?", near.name)
            });
        let near = if near.is_empty() { "." } else { near.as_str() };
        let names: Vec<&str> = all.iter().map(|dataset| dataset.name.as_str()).collect();
        let name: String = name.chars().take(64).collect();
        format!(
            "there is no dataset `{name}`{near} Datasets: {}",
            names.join(", ")
        )
    })
}

/// What is in its columns, and its first rows.
pub async fn describe(engine: &Engine, dataset: Dataset) -> Result<DatasetDescription, Problem> {
    let path = engine.store.dataset_path(&dataset);
    let expected = dataset.columns.clone();
    let (mut columns, mut sample) =
        work(engine, move || datasets::describe(&path, &expected)).await?;
    for column in &mut columns {
        for value in [&mut column.min, &mut column.max].into_iter().flatten() {
            engine.redactor.redact_json(value);
        }
    }
    for value in sample.iter_mut().flatten() {
        engine.redactor.redact_json(value);
    }
    Ok(DatasetDescription {
        dataset,
        columns,
        sample,
    })
}

/// Answers a question.
pub async fn query(
    engine: &Engine,
    dataset: &Dataset,
    query: DatasetQuery,
) -> Result<DatasetRows, Problem> {
    let path = engine.store.dataset_path(dataset);
    let mut rows = work(engine, move || datasets::query(&path, &query)).await?;
    for value in rows.rows.iter_mut().flatten() {
        engine.redactor.redact_json(value);
    }
    Ok(rows)
}

/// A piece of its file, and the number of the next one.
pub async fn export(
    engine: &Engine,
    dataset: &Dataset,
    format: DatasetFormat,
    part: u64,
) -> Result<(Vec<u8>, Option<u64>), Problem> {
    let path = engine.store.dataset_path(dataset);
    work(engine, move || datasets::export(&path, format, part)).await
}

/// The file of a dataset in the directory of its channel; a CSV is a copy.
pub async fn file_for_python(
    engine: &Engine,
    dataset: &Dataset,
    format: DatasetFormat,
) -> Result<DatasetCopy, Problem> {
    let path = engine.store.dataset_path(dataset);
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    if format == DatasetFormat::Parquet {
        return Ok(DatasetCopy {
            name: name(&path),
            copy: None,
        });
    }
    let to = engine.store.new_dataset_file(&dataset.channel).await?;
    let copy = DatasetCopy {
        name: name(&to),
        copy: Some(to.clone()),
    };
    work(engine, move || {
        let mut file = std::fs::File::create_new(&to)?;
        let mut part = Some(0);
        while let Some(number) = part {
            let (bytes, next) = datasets::export(&path, format, number)?;
            std::io::Write::write_all(&mut file, &bytes)?;
            part = next;
        }
        Ok(())
    })
    .await?;
    Ok(copy)
}

/// Removes one.
pub async fn delete(engine: &Engine, id: DatasetId, by: ActorRef) -> Result<Dataset, Problem> {
    let lock = engine.store.dataset_lock().await;
    let dataset = engine.write(DeleteDataset { id, by }).await?;
    let removed = engine.store.remove_dataset_file(&lock, &dataset).await;
    if let Err(error) = removed {
        tracing::warn!(%error, "cannot remove the file of a removed dataset; the next sweep removes it");
    }
    announce(engine, Some(&dataset.channel));
    Ok(dataset)
}

/// Removes the files that a process left which ended in the middle of something.
pub async fn recover(engine: &Engine) {
    let removed = async {
        engine.store.remove_unfinished_datasets().await?;
        let lock = engine.store.dataset_lock().await;
        engine.store.sweep_dataset_files(&lock, false).await
    };
    match removed.await {
        Ok(swept) if swept.files > 0 => {
            tracing::info!(
                files = swept.files,
                "removed dataset files without a database row"
            );
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "cannot remove unused dataset files"),
    }
}
