//! A file of this machine on its way to become a dataset, a part at a time.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::client::console_client::ConsoleClient;
use crate::protocol::command::Actor;
use crate::protocol::dataset::{Base64Bytes, Dataset, MAX_PART};
use crate::protocol::enums::Surface;
use crate::protocol::ids::DatasetUploadId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    AppendDatasetUpload, BeginDatasetUpload, Command, Envelope, FinishDatasetUpload, Outcome,
    Request,
};

/// A file on its way.
pub struct FileUpload {
    file: File,
    begin: BeginDatasetUpload,
    id: Option<DatasetUploadId>,
    /// Bytes that are there.
    pub sent: u64,
    /// Bytes of the file.
    pub size: u64,
    is_whole: bool,
}

impl FileUpload {
    /// Opens it; else why it cannot be sent, for people.
    pub fn open(path: &Path, channel: String, name: Option<String>) -> Result<Self, String> {
        let shown = path.display();
        let cannot = |error: std::io::Error| format!("{shown}: {error}");
        let file = File::open(path).map_err(cannot)?;
        let meta = file.metadata().map_err(cannot)?;
        if !meta.is_file() {
            return Err(format!("{shown} is no file"));
        }
        let name_of_file = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            file,
            begin: BeginDatasetUpload {
                channel,
                name,
                file: name_of_file.into_owned(),
            },
            id: None,
            sent: 0,
            size: meta.len(),
            is_whole: false,
        })
    }

    /// Sends the next part; some = the dataset is made.
    pub async fn next(
        &mut self,
        client: &dyn ConsoleClient,
        actor: &Actor,
        surface: Surface,
    ) -> Result<Option<Dataset>, Problem> {
        let sender = Sender {
            client,
            actor,
            surface,
        };
        let Some(upload_id) = self.id else {
            let begun = sender.send(self.begin.clone()).await?;
            if self.size > begun.max_bytes {
                return Err(Problem::invalid(format!(
                    "the file has {} MiB, and at most {} MiB become a dataset",
                    self.size.div_ceil(1 << 20),
                    begun.max_bytes >> 20
                ))
                .hint("send a part of it, or raise `[datasets] max_mib`"));
            }
            self.id = Some(begun.id);
            return Ok(None);
        };
        if self.is_whole {
            let finish = FinishDatasetUpload { upload_id };
            return sender.send(finish).await.map(Some);
        }
        let mut data = Vec::new();
        (&mut self.file)
            .take(MAX_PART as u64)
            .read_to_end(&mut data)
            .map_err(|error| Problem::invalid(format!("the file cannot be read: {error}")))?;
        if data.is_empty() {
            self.is_whole = true;
            return Ok(None);
        }
        let part = AppendDatasetUpload {
            upload_id,
            offset: self.sent,
            data: Base64Bytes(data),
        };
        self.sent = sender.send(part).await?.received;
        Ok(None)
    }
}

struct Sender<'a> {
    client: &'a dyn ConsoleClient,
    actor: &'a Actor,
    surface: Surface,
}

impl Sender<'_> {
    async fn send<C>(&self, command: C) -> Result<C::Reply, Problem>
    where
        C: Request<Wire = Command, Answer = Outcome>,
    {
        let envelope = Envelope {
            command,
            actor: self.actor.clone(),
            surface: self.surface,
            idempotency_key: None,
            trace: None,
        };
        self.client.execute(envelope).await
    }
}
