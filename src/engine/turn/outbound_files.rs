//! Files that go to a conversation with the answer of a turn. Nothing of them leaves before the answer is committed.

use crate::engine::core::Engine;
use crate::protocol::artifact::SentFile;
use crate::protocol::ids::ToolCallId;
use crate::store::commands::keep_outbound_file::KeepOutboundFile;
use crate::store::error::StoreError;
use crate::store::input::NewPart;
use crate::store::queries::turn::TurnRows;

/// Keeps a file that a call sends. The same call again keeps the same file.
pub async fn keep(
    engine: &Engine,
    call: ToolCallId,
    path: &str,
    media_type: &str,
    content: Vec<u8>,
) -> Result<(), StoreError> {
    let content = match String::from_utf8(content) {
        Ok(text) => engine.redactor.redact(&text).into_owned().into_bytes(),
        Err(other) => other.into_bytes(),
    };
    let now = engine.clock.now();
    let stored = engine.store.put_artifact(content, media_type, now).await?;
    let file = SentFile {
        name: path.rsplit('/').next().unwrap_or(path).to_owned(),
        artifact: stored.artifact.clone(),
    };
    let kept = engine
        .persist(KeepOutboundFile {
            call_id: call,
            file,
        })
        .await;
    // Until then nothing sweeps it.
    drop(stored);
    kept
}

/// The parts that a bridge sends after the text of an answer; none where no bridge carries the channel.
pub async fn parts(engine: &Engine, rows: &TurnRows) -> Result<Vec<NewPart>, StoreError> {
    if !engine.delivers(&rows.channel, &rows.conversation) {
        return Ok(Vec::new());
    }
    let id = rows.id;
    let files = engine
        .store
        .read(move |reader| reader.outbound_files(id))
        .await?;
    let part = |file: SentFile| NewPart {
        channel: rows.channel.clone(),
        conversation: rows.conversation.clone(),
        text: format!("[file: {}]", file.name),
        reply_to: None,
        file: Some(file),
    };
    Ok(files.into_iter().map(part).collect())
}
