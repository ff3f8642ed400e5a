//! Files of messages that are still at their platform: the bridge fetches one after the other, and the turn of the
//! message waits for all of them.
//!
//! The list of what is to be fetched is durable, so a file is fetched however often the process ends before it is stored.

use std::time::Duration;

use crate::clock::Day;
use crate::clock::backoff::jitter;
use crate::engine::budget;
use crate::engine::core::Engine;
use crate::engine::datasets;
use crate::engine::delivery::Link;
use crate::engine::embeddings::priced;
use crate::model::limits::Lane;
use crate::model::retry::retry_delay;
use crate::model::transcription::Transcript;
use crate::protocol::artifact::ArtifactRef;
use crate::protocol::bridge::{FetchedFile, FileRequest, InboundFile};
use crate::protocol::enums::{OutboxClass, Surface};
use crate::protocol::problem::Problem;
use crate::protocol::session::Usage;
use crate::store::commands::embed::{EmbeddingCall, ReserveEmbedding, SettleEmbedding};
use crate::store::commands::receive_file::{ReceiveFile, ReceivedFile};
use crate::store::input::{ActorRef, NewNotice};
use crate::store::queries::files::InboundFileRow;
use crate::text::untrusted::reveal_line;

/// Bytes of a MiB.
const MIB: u64 = 1024 * 1024;

/// Longest name of a file, in characters.
const NAME_CHARS: usize = 100;

/// Waits for the next file of a channel that is to be fetched. Cancel-safe.
pub async fn next(engine: &Engine, link: &Link, channel: &str) -> Result<FileRequest, Problem> {
    loop {
        let name = channel.to_owned();
        let next = engine
            .read(move |reader| reader.next_inbound_file(&name))
            .await?;
        if let Some(file) = next {
            return Ok(FileRequest {
                id: file.id,
                reference: file.reference,
                max_bytes: engine.current().settings.attachments.max_bytes,
            });
        }
        tokio::select! {
            () = link.file_announced() => {}
            () = engine.shutdown.cancelled() => {
                let stopping = "the engine is stopping";
                return Err(Problem::unavailable("shutting down", stopping));
            }
        }
    }
}

/// Says that a turn of a channel may wait for files or for what is said in them.
pub fn announce(engine: &Engine, channel: &str) {
    engine.delivery.link(channel).announce_file();
    engine.delivery.announce_recording();
}

/// Stores how a fetch ended, and starts the turn that waited for it.
pub async fn put(
    engine: &Engine,
    channel: &str,
    id: i64,
    fetched: FetchedFile,
) -> Result<(), Problem> {
    let found = engine
        .read_here(move |reader| reader.inbound_file(id))
        .await?;
    // Its turn was cancelled meanwhile.
    let Some(row) = found.filter(|row| row.channel == channel) else {
        return Ok(());
    };
    let (file, stored) = match fetched {
        FetchedFile::Failed { error } => (missing(&row, &engine.redactor.redact(&error)), None),
        FetchedFile::Content(content) => match refusal(engine, &row, content.len() as u64) {
            Some(why) => (missing(&row, &why), None),
            None => {
                let content = match String::from_utf8(content) {
                    Ok(text) => engine.redactor.redact(&text).into_owned().into_bytes(),
                    Err(other) => other.into_bytes(),
                };
                let now = engine.clock.now();
                let put = engine.store.put_artifact(content, &row.media_type, now);
                let stored = put.await?;
                let artifact = stored.artifact.clone();
                let file = if is_transcribed(engine, &row.media_type) {
                    ReceivedFile::Stored(artifact)
                } else {
                    let note = if is_audio(&row.media_type) {
                        Some(UNHEARD.to_owned())
                    } else {
                        let by = ActorRef {
                            label: row.sender.1.clone(),
                            id: row.sender.0.clone(),
                            surface: Surface::Chat,
                        };
                        datasets::of_message(engine, &row.channel, &row.name, &artifact, by).await
                    };
                    ReceivedFile::Ready {
                        artifact,
                        note,
                        notice: None,
                    }
                };
                (file, Some(stored))
            }
        },
    };
    let received = engine.store.write(ReceiveFile { id, file }).await;
    // Until then nothing sweeps it.
    drop(stored);
    engine.delivery.announce_recording();
    if let Some(session) = received? {
        engine.wake(session);
    }
    Ok(())
}

/// A file with a name that is one component of a path, and with a media type.
pub fn checked(file: &InboundFile) -> InboundFile {
    InboundFile {
        name: plain_name(&file.name),
        media_type: file
            .media_type
            .clone()
            .filter(|media_type| is_media_type(media_type)),
        ..file.clone()
    }
}

/// `type/subtype` without parameters: what a header can hold.
pub fn is_media_type(text: &str) -> bool {
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
pub fn plain_name(name: &str) -> String {
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

/// Why a file is one too many for its message.
fn refusal(engine: &Engine, row: &InboundFileRow, size: u64) -> Option<String> {
    let limits = &engine.settings.attachments;
    let (files, bytes) = row.received;
    if files >= limits.max_files {
        return Some(format!(
            "a message brings at most {} files",
            limits.max_files
        ));
    }
    (bytes.saturating_add(size) > limits.max_bytes).then(|| {
        format!(
            "the files of a message have at most {} MiB",
            limits.max_bytes / MIB
        )
    })
}

/// A file that the turn goes without. Model and sender are told.
fn missing(row: &InboundFileRow, why: &str) -> ReceivedFile {
    let why = reveal_line(why);
    ReceivedFile::Missing {
        why: why.clone().into_owned(),
        notice: Some(notice(
            row,
            format!("The file `{}` cannot be used: {why}.", row.name),
        )),
    }
}

/// A word to the sender of the message of a file.
fn notice(row: &InboundFileRow, text: String) -> NewNotice {
    NewNotice {
        channel: row.channel.clone(),
        conversation: row.conversation.clone(),
        class: OutboxClass::Notice,
        text,
        reply_to: row.message_ref.clone(),
        continuation_id: Some(row.continuation_id),
    }
}

/// What the model is told of audio that nobody transcribes.
const UNHEARD: &str = "[the audio is not transcribed: no [transcription] is configured]";
/// Bytes of a recording that make a token, at the least: speech has ten tokens a second, and 4 kB in a good voice message.
const BYTES_PER_TOKEN: u64 = 400;
/// How often a transcription is tried.
const TRIES: u32 = 3;
/// Rest after the store failed.
const REST: Duration = Duration::from_secs(2);

/// Whether it is a recording.
pub fn is_audio(media_type: &str) -> bool {
    media_type.starts_with("audio/")
}

/// Whether a file becomes a text before its turn starts.
pub fn is_transcribed(engine: &Engine, media_type: &str) -> bool {
    is_audio(media_type) && engine.current().models.transcriber().is_some()
}

/// Transcribes recordings, one after the other, until the process stops. An emergency stop holds it.
pub async fn transcribe(engine: Engine) {
    let stopped = engine.shutdown.clone();
    let work = async {
        loop {
            let mut held = engine.emergency.changes();
            if held.wait_for(Option::is_none).await.is_err() {
                return;
            }
            let next = engine
                .store
                .read(|reader| reader.next_untranscribed_file())
                .await;
            match next {
                Ok(Some(row)) => transcribe_one(&engine.current(), row).await,
                Ok(None) => engine.delivery.recording_announced().await,
                Err(error) => {
                    tracing::warn!(%error, "cannot read which recordings to transcribe; trying again");
                    tokio::time::sleep(REST).await;
                }
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = stopped.cancelled() => {}
    }
}

async fn transcribe_one(engine: &Engine, row: InboundFileRow) {
    let id = row.id;
    let Some(artifact) = row.artifact.clone() else {
        return;
    };
    let (note, notice) = match text_of(engine, &row, &artifact).await {
        Ok(text) => {
            let text = engine.redactor.redact(&text).into_owned();
            (format!("[what is said in it: {}]", text.trim()), None)
        }
        Err(why) => {
            let why = engine.redactor.redact(&reveal_line(&why)).into_owned();
            tracing::warn!(continuation = %row.continuation_id, %why, "cannot transcribe a recording");
            let told = format!("`{}` could not be transcribed: {why}.", row.name);
            (
                format!("[it could not be transcribed: {why}]"),
                engine.has_bridge(&row.channel).then(|| notice(&row, told)),
            )
        }
    };
    let file = ReceivedFile::Ready {
        artifact,
        note: Some(note),
        notice,
    };
    match engine.store.write(ReceiveFile { id, file }).await {
        Ok(Some(session)) => engine.wake(session),
        Ok(None) => {}
        Err(error) => {
            tracing::warn!(%error, "cannot store a transcript; trying again");
            tokio::time::sleep(REST).await;
        }
    }
}

/// What is said in a recording; else why nobody knows.
async fn text_of(
    engine: &Engine,
    row: &InboundFileRow,
    artifact: &ArtifactRef,
) -> Result<String, String> {
    let Some(transcriber) = engine.models.transcriber() else {
        return Err("no [transcription] is configured".to_owned());
    };
    let content = engine
        .store
        .artifact_content(artifact.hash)
        .await
        .map_err(|error| error.to_string())?;
    let mut tried = 0;
    loop {
        tried += 1;
        let lane = Lane::of(&row.channel, &row.conversation);
        let place = transcriber.limiter().enter(lane).await;
        // A stop may have come since the last try.
        let released = engine
            .emergency
            .changes()
            .wait_for(Option::is_none)
            .await
            .is_ok();
        if !released {
            return Err("the engine is stopping".to_owned());
        }
        let call = reserve(engine, row, &transcriber.name(), artifact.size).await?;
        let asked = transcriber.transcribe(&row.name, &artifact.media_type, content.clone());
        let asked = asked.await;
        drop(place);
        settle(engine, call, asked.as_ref().ok()).await;
        let error = match asked {
            Ok(transcript) => return Ok(transcript.text),
            Err(error) => error,
        };
        match retry_delay(&error, tried, TRIES, false, jitter()) {
            Some(rest) => tokio::time::sleep(rest).await,
            None => return Err(error.message),
        }
    }
}

/// Reserves what a transcription may cost, in the budgets of its channel and of the day. The error names the budget that
/// forbids it.
async fn reserve(
    engine: &Engine,
    row: &InboundFileRow,
    model: &str,
    bytes: u64,
) -> Result<EmbeddingCall, String> {
    let day = Day::local(engine.clock.now()).0;
    let call = EmbeddingCall {
        channel: row.channel.clone(),
        model: model.to_owned(),
        day,
        estimate: priced(engine, model, bytes / BYTES_PER_TOKEN + 1),
    };
    let limits = budget::shared_limits(&engine.settings, &row.channel, day);
    let reserve = ReserveEmbedding {
        call: call.clone(),
        limits,
    };
    match engine.store.write(reserve).await {
        Ok(None) => Ok(call),
        Ok(Some(stop)) => Err(budget::refusal(&stop)),
        Err(error) => Err(error.to_string()),
    }
}

/// Settles a transcription; none = it failed.
async fn settle(engine: &Engine, call: EmbeddingCall, transcript: Option<&Transcript>) {
    let usage = transcript.map_or_else(Usage::default, |transcript| {
        let input = transcript.input_tokens;
        let usage = Usage {
            input_tokens: input.unwrap_or(call.estimate.input_tokens),
            output_tokens: transcript.output_tokens.unwrap_or(0),
            ..Usage::default()
        };
        engine.models.priced(&call.model, usage)
    });
    let settle = SettleEmbedding {
        call,
        usage,
        failed: transcript.is_none(),
    };
    if let Err(error) = engine.store.write(settle).await {
        tracing::warn!(%error, "cannot settle a transcription call; its whole reservation counts");
    }
}
