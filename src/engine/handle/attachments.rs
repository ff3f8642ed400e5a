//! The files of a message that comes directly: checked before anything is kept, durable before the message is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

use crate::engine::core::Engine;
use crate::engine::datasets;
use crate::engine::inbound_files::{self, is_media_type, plain_name};
use crate::protocol::artifact::NewAttachment;
use crate::protocol::hex::hex;
use crate::protocol::problem::Problem;
use crate::store::artifacts::StoredArtifact;
use crate::store::commands::ingest_turn::{BINARY, IngestTurn};
use crate::store::input::ActorRef;

/// A file with a name that is one component of a path.
pub struct File {
    name: String,
    media_type: String,
    content: Vec<u8>,
}

/// The files of a request. What is text is redacted like the message.
pub fn read(engine: &Engine, given: Vec<NewAttachment>) -> Result<Vec<File>, Problem> {
    let limits = &engine.settings.attachments;
    if given.len() > limits.max_files {
        return Err(Problem::invalid(format!(
            "`attachments` has {} files; at most {} come with one message",
            given.len(),
            limits.max_files
        ))
        .hint("send the others with a second message, or raise `[attachments] max_files`"));
    }
    let mut files = Vec::with_capacity(given.len());
    let mut total = 0;
    for (at, attachment) in given.into_iter().enumerate() {
        let content = BASE64.decode(&attachment.data).map_err(|error| {
            Problem::invalid(format!("`attachments[{at}].data` is not base64: {error}"))
                .hint("encode the bytes of the file with the standard alphabet and padding")
        })?;
        total += content.len() as u64;
        if total > limits.max_bytes {
            return Err(Problem::invalid(format!(
                "`attachments[{at}].data`: the files have more than {} MiB together, which `[attachments] max_mib` allows",
                limits.max_bytes / (1024 * 1024)
            ))
            .hint("put a large file into the workspace of the channel and name its path in the text"));
        }
        let media_type = attachment.media_type.unwrap_or_else(|| BINARY.to_owned());
        if !is_media_type(&media_type) {
            return Err(Problem::invalid(format!(
                "`attachments[{at}].media_type` is no media type: expected two words with a slash, as in `image/png`"
            )));
        }
        files.push(File {
            name: plain_name(&attachment.name),
            media_type,
            content: match String::from_utf8(content) {
                Ok(text) => engine.redactor.redact(&text).into_owned().into_bytes(),
                Err(other) => other.into_bytes(),
            },
        });
    }
    Ok(files)
}

/// What the digest of the request says of the files.
pub fn digests(files: &[File]) -> Vec<String> {
    let of = |file: &File| {
        format!(
            "file {} {} {}",
            hex(&Sha256::digest(&file.content)),
            file.media_type,
            file.name
        )
    };
    files.iter().map(of).collect()
}

/// Stores the files and names them in the turn. They stay where they are until what this returns is dropped, which is
/// after the turn is committed.
pub async fn store(
    engine: &Engine,
    turn: &mut IngestTurn,
    files: Vec<File>,
) -> Result<Vec<StoredArtifact>, Problem> {
    let mut stored = Vec::with_capacity(files.len());
    for file in files {
        let now = engine.clock.now();
        let put = engine
            .store
            .put_artifact(file.content, &file.media_type, now);
        let artifact = put.await?;
        let named = (file.name, artifact.artifact.clone());
        if inbound_files::is_transcribed(engine, &file.media_type) {
            turn.files.untranscribed.push(named);
        } else {
            let by = ActorRef {
                label: turn.origin.requester.display.clone(),
                id: turn.origin.requester.id.clone(),
                surface: turn.origin.surface,
            };
            let (name, stored) = &named;
            let note = datasets::of_message(engine, &turn.origin.channel, name, stored, by).await;
            turn.files.notes.extend(note);
            turn.files.stored.push(named);
        }
        stored.push(artifact);
    }
    Ok(stored)
}
