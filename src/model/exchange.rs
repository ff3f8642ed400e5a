//! From a server's answer to our events: what every network adapter shares.
//!
//! The end of bytes decides nothing: only [`Decode::finish`] says whether there was an answer.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tokio::time::Instant;

use crate::model::decode::{Decode, Progress};
use crate::model::failure::Failure;
use crate::model::http::{Answer, Endpoint, with_causes};
use crate::model::producer::EventSink;
use crate::model::request::{ModelError, ModelErrorKind, ModelEvent};
use crate::model::surrogates::{self, Joiner};
use crate::text::framing::{Format, StreamError, StreamLimits, events, json_lines};

/// Bytes of a stream whatever its output limit is.
const STREAM_BASE_BYTES: usize = 1024 * 1024;
/// Bytes of a stream for each token that was asked for: servers spend a few hundred on an event with one token.
const STREAM_BYTES_PER_TOKEN: usize = 1024;
/// How much is read of the longest answer.
pub const LIMITS: StreamLimits = StreamLimits {
    record: 1024 * 1024,
    stream: 64 * 1024 * 1024,
};
/// How long an answer that is complete waits for the end of its body.
const DRAIN: Duration = Duration::from_millis(50);
/// How long to wait for what may follow a complete answer: some servers never send it.
const GRACE_AFTER_FINISH: Duration = Duration::from_secs(2);

/// Carries out a call within the endpoint's time for all of it; silence and size have bounds of their own, which an
/// answer that drips for ever never meets.
pub async fn in_time(
    endpoint: &Endpoint,
    sink: &EventSink,
    call: impl Future<Output = Result<(), ModelError>>,
) -> Result<(), ModelError> {
    let Some(limit) = endpoint.request_timeout() else {
        return call.await;
    };
    match tokio::time::timeout(limit, call).await {
        Ok(ended) => ended,
        Err(_) => {
            let (events, bytes) = sink.sent();
            let got = match events {
                0 => "no part of it arrived".to_owned(),
                _ => format!("{bytes} bytes of text came in {events} pieces, and no end"),
            };
            Err(endpoint.error(Failure::new(
                ModelErrorKind::Timeout,
                format!(
                    "expected the whole answer within {} s (request_timeout_seconds), {got}",
                    limit.as_secs()
                ),
            )))
        }
    }
}

/// How much is read of an answer of at most `max_output_tokens`: an endless one ends here.
pub fn limits_for(max_output_tokens: u32) -> StreamLimits {
    let stream = (max_output_tokens as usize)
        .saturating_mul(STREAM_BYTES_PER_TOKEN)
        .saturating_add(STREAM_BASE_BYTES);
    StreamLimits {
        stream: stream.min(LIMITS.stream),
        ..LIMITS
    }
}

/// Reads `answer`, a stream within `limits`, to its end through `decoder`; the last event sent is
/// [`ModelEvent::Finished`].
pub async fn receive<D: Decode>(
    endpoint: &Endpoint,
    answer: Answer,
    mut decoder: D,
    sent_bytes: usize,
    limits: StreamLimits,
    note: Option<String>,
    sink: &EventSink,
) -> Result<(), ModelError> {
    let read = read_answer(endpoint, answer, &mut decoder, limits, sink).await;
    let retry_after = decoder.retry_after();
    let mut answer = read
        .and_then(|()| decoder.finish(sent_bytes))
        .map_err(|mut failure| {
            surrogates::join(&mut failure.what);
            ModelError {
                retry_after,
                ..endpoint.error(failure)
            }
        })?;
    surrogates::join_answer(&mut answer);
    answer.notes.extend(note);
    sink.send(ModelEvent::Finished(Box::new(answer))).await;
    Ok(())
}

/// Reads an answer to its end, and hands on what comes of it. One function for every wire: it is large.
async fn read_answer(
    endpoint: &Endpoint,
    answer: Answer,
    decoder: &mut dyn Decode,
    limits: StreamLimits,
    sink: &EventSink,
) -> Result<(), Failure> {
    let mut joiner = Joiner::default();
    let read = match answer {
        Answer::Whole(body) => match decoder.whole(&body) {
            Ok(events) => {
                send(sink, events, &mut joiner).await;
                Ok(())
            }
            Err(failure) => Err(failure),
        },
        Answer::Events(response) => {
            let bytes = response
                .bytes_stream()
                .map(|chunk| chunk.map_err(|error| with_causes(&error.without_url())));
            let idle = endpoint.idle_timeout();
            let mut data: Pin<Box<dyn Stream<Item = Result<String, StreamError>> + Send>> =
                match endpoint.format() {
                    Format::JsonLines => Box::pin(json_lines(bytes, idle, limits)),
                    Format::Events => {
                        Box::pin(events(bytes, idle, limits).map(|event| Ok(event?.data)))
                    }
                };
            read(data.as_mut(), decoder, sink, &mut joiner).await
        }
    };
    if let Some(alone) = joiner.finish() {
        sink.send(ModelEvent::TextDelta(alone.to_string())).await;
    }
    read
}

async fn read(
    mut data: Pin<&mut (dyn Stream<Item = Result<String, StreamError>> + Send)>,
    decoder: &mut dyn Decode,
    sink: &EventSink,
    joiner: &mut Joiner,
) -> Result<(), Failure> {
    // Of the trailer as a whole: one that drips is not waited for either.
    let mut patience: Option<Instant> = None;
    loop {
        let next = match decoder.progress() {
            Progress::Done => {
                drain(data).await;
                return Ok(());
            }
            Progress::Open => {
                // What looked like a trailer was more of the answer.
                patience = None;
                data.next().await
            }
            Progress::Finishing => {
                let until = *patience.get_or_insert_with(|| Instant::now() + GRACE_AFTER_FINISH);
                match tokio::time::timeout_at(until, data.next()).await {
                    Ok(next) => next,
                    Err(_) => return Ok(()),
                }
            }
        };
        match next {
            None => return Ok(()),
            Some(Ok(piece)) => send(sink, decoder.data(&piece)?, joiner).await,
            // The answer itself was complete; only its trailer is lost.
            Some(Err(_)) if decoder.progress() == Progress::Finishing => return Ok(()),
            Some(Err(error)) => return Err(Endpoint::stream_failure(error)),
        }
    }
}

/// Reads to the end of a body whose answer is complete, so that its connection can be used again; a
/// server that keeps the body open costs one reconnect, not a wait.
async fn drain(mut data: Pin<&mut (dyn Stream<Item = Result<String, StreamError>> + Send)>) {
    let reading = async { while let Some(Ok(_)) = data.next().await {} };
    let _ = tokio::time::timeout(DRAIN, reading).await;
}

/// Hands events on; half of a character waits for the piece that holds the other.
async fn send(sink: &EventSink, events: Vec<ModelEvent>, joiner: &mut Joiner) {
    for mut event in events {
        if let ModelEvent::TextDelta(text) = &mut event {
            *text = joiner.push(text);
        }
        sink.send(event).await;
    }
}
