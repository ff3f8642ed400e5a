//! The files of a message that comes directly: checked before anything is kept, durable before the message is.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

use crate::engine::core::Engine;
use crate::engine::problem::from_store;
use crate::protocol::artifact::{MAX_ATTACHED_BYTES, MAX_ATTACHMENTS, NewAttachment};
use crate::protocol::hex::hex;
use crate::protocol::problem::Problem;
use crate::store::artifacts::StoredArtifact;
use crate::store::commands::ingest_turn::IngestTurn;

/// Longest name of a file, in characters.
const NAME_CHARS: usize = 100;
/// Media type of a file that names none.
const BINARY: &str = "application/octet-stream";

/// A file with a name that is one component of a path.
pub struct File {
    name: String,
    media_type: String,
    content: Vec<u8>,
}

/// The files of a request. What is text is redacted like the message.
pub fn read(engine: &Engine, given: Vec<NewAttachment>) -> Result<Vec<File>, Problem> {
    if given.len() > MAX_ATTACHMENTS {
        return Err(Problem::invalid(format!(
            "`attachments` has {} files; at most {MAX_ATTACHMENTS} come with one message",
            given.len()
        ))
        .hint("send the others with a second message"));
    }
    let mut files = Vec::with_capacity(given.len());
    let mut names = HashSet::new();
    let mut total = 0;
    for (at, attachment) in given.into_iter().enumerate() {
        let content = BASE64.decode(&attachment.data).map_err(|error| {
            Problem::invalid(format!("`attachments[{at}].data` is not base64: {error}"))
                .hint("encode the bytes of the file with the standard alphabet and padding")
        })?;
        total += content.len();
        if total > MAX_ATTACHED_BYTES {
            return Err(Problem::invalid(format!(
                "`attachments[{at}].data`: the files have more than {MAX_ATTACHED_BYTES} bytes together"
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
            name: unique(&plain_name(&attachment.name), &mut names),
            media_type,
            content: match String::from_utf8(content) {
                Ok(text) => engine.redactor.redact(&text).into_owned().into_bytes(),
                Err(other) => other.into_bytes(),
            },
        });
    }
    Ok(files)
}

/// `type/subtype` without parameters: what a header can hold.
fn is_media_type(text: &str) -> bool {
    let is_word = |word: &str| {
        (1..=64).contains(&word.len())
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    text.split_once('/')
        .is_some_and(|(kind, subtype)| is_word(kind) && is_word(subtype))
}

/// A name without directories, hidden characters and what a shell or a model could take for more than a name.
fn plain_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last
        .chars()
        .take(NAME_CHARS)
        .map(|c| {
            if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') {
                c
            } else {
                '_'
            }
        })
        .collect();
    match plain.trim_start_matches(['.', '-']) {
        "" => "file".to_owned(),
        rest => rest.to_owned(),
    }
}

/// The name, with a number before it when an earlier file has it.
fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{number}-{name}"));
    let free = std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|candidate| !taken.contains(&candidate.to_lowercase()))
        .unwrap_or_else(|| name.to_owned());
    taken.insert(free.to_lowercase());
    free
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
        let artifact = put.await.map_err(from_store)?;
        turn.files.push((file.name, artifact.artifact.clone()));
        stored.push(artifact);
    }
    Ok(stored)
}
