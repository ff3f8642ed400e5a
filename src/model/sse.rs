//! Server-sent events from a hostile server: bounded in memory and time, independent of chunking.
//!
//! No byte reaches the event parser unguarded. `eventsource-stream` as released panics on a byte order
//! mark, loses events after lone CR line ends, drops an unterminated last event, and scans an unfinished
//! line again for each chunk. The guard strips the mark, turns every line end into LF, refuses invalid
//! UTF-8, and passes on complete lines only, in small slices, so a line is scanned once.
//! Format: <https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use eventsource_stream::{EventStream, EventStreamError};
use futures_util::{Stream, StreamExt};

use crate::model::pieces::{Cut, StreamError, pieces};

/// The media type of the format.
pub const MEDIA_TYPE: &str = "text/event-stream";
/// Most bytes of one event, line ends and comments inside it included.
pub const MAX_EVENT_BYTES: usize = 1024 * 1024;
/// Most bytes of one stream.
pub const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of a stream whatever its output limit is.
const STREAM_BASE_BYTES: usize = 1024 * 1024;
/// Bytes of a stream for each token that was asked for: servers spend a few hundred on an event with one token.
const STREAM_BYTES_PER_TOKEN: usize = 1024;
/// Lines are handed to the parser in slices of about this size: its cost grows with slice × lines.
const SLICE_BYTES: usize = 8 * 1024;
/// A UTF-8 byte order mark.
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; `message` where the server gave none.
    pub name: String,
    /// Its data lines, joined by LF: outside text.
    pub data: String,
}

/// The pure part: bytes in, clean slices of complete lines out.
#[derive(Debug)]
pub struct Guard {
    line: Vec<u8>,
    slice: Vec<u8>,
    event_bytes: usize,
    room: usize,
    limit: usize,
    after_cr: bool,
    started: bool,
}

impl Default for Guard {
    fn default() -> Self {
        Self::within(MAX_STREAM_BYTES)
    }
}

impl Guard {
    /// A guard of a stream of at most `limit` bytes.
    pub fn within(limit: usize) -> Self {
        let limit = limit.min(MAX_STREAM_BYTES);
        Self {
            line: Vec::new(),
            slice: Vec::new(),
            event_bytes: 0,
            room: limit,
            limit,
            after_cr: false,
            started: false,
        }
    }

    /// Takes the next bytes and appends finished slices to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut VecDeque<Vec<u8>>) -> Result<(), StreamError> {
        // What fits is delivered, however the bytes were cut.
        let fits = bytes.len().min(self.room);
        self.room -= fits;
        let mut rest = &bytes[..fits];
        while !rest.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if rest[0] == b'\n' {
                    rest = &rest[1..];
                    continue;
                }
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let taken = end.unwrap_or(rest.len());
            self.event_bytes += taken + usize::from(end.is_some());
            if self.event_bytes > MAX_EVENT_BYTES {
                self.flush(out);
                return Err(StreamError::Malformed(format!(
                    "one event is larger than {} KiB",
                    MAX_EVENT_BYTES / 1024
                )));
            }
            self.line.extend_from_slice(&rest[..taken]);
            match end {
                None => break,
                Some(at) => {
                    self.after_cr = rest[at] == b'\r';
                    rest = &rest[at + 1..];
                    if let Err(error) = self.end_line(out) {
                        self.flush(out);
                        return Err(error);
                    }
                }
            }
        }
        self.flush(out);
        if fits < bytes.len() {
            return Err(StreamError::Malformed(format!(
                "the answer is larger than {} KiB, which is more than was asked for",
                self.limit / 1024
            )));
        }
        Ok(())
    }

    /// The end of the stream: an unterminated last event counts when its data is whole. Servers leave
    /// out the last blank line behind a final error; what a cut connection left behind is dropped.
    pub fn finish(&mut self, out: &mut VecDeque<Vec<u8>>) -> Result<(), StreamError> {
        let ended = if is_whole(&self.line) {
            self.end_line(out)
        } else {
            Ok(())
        };
        self.slice.extend_from_slice(b"\n\n");
        self.flush(out);
        ended
    }

    fn end_line(&mut self, out: &mut VecDeque<Vec<u8>>) -> Result<(), StreamError> {
        let mut line: &[u8] = &self.line;
        if !self.started {
            self.started = true;
            // A second mark would make the parser panic just like the first.
            while let Some(rest) = line.strip_prefix(&BYTE_ORDER_MARK) {
                line = rest;
            }
        }
        if line.is_empty() {
            self.event_bytes = 0;
        }
        // By line: line ends are never part of a character, so chunking cannot change the result. Nothing is replaced:
        // arguments with a character that the model did not write would be shown for approval.
        if std::str::from_utf8(line).is_err() {
            return Err(StreamError::Malformed(
                "expected UTF-8, got other bytes".to_owned(),
            ));
        }
        self.slice.extend_from_slice(line);
        self.slice.push(b'\n');
        self.line.clear();
        if self.slice.len() >= SLICE_BYTES {
            self.flush(out);
        }
        Ok(())
    }

    fn flush(&mut self, out: &mut VecDeque<Vec<u8>>) {
        if !self.slice.is_empty() {
            out.push_back(std::mem::take(&mut self.slice));
        }
    }
}

impl Cut for Guard {
    type Piece = Vec<u8>;

    fn push(&mut self, bytes: &[u8], out: &mut VecDeque<Vec<u8>>) -> Result<(), StreamError> {
        self.push(bytes, out)
    }

    fn finish(&mut self, out: &mut VecDeque<Vec<u8>>) -> Result<(), StreamError> {
        self.finish(out)
    }
}

/// Whether an unterminated line holds all of its data: JSON, or the closing word of Chat Completions.
fn is_whole(line: &[u8]) -> bool {
    line.strip_prefix(b"data:").is_some_and(|data| {
        data.trim_ascii() == b"[DONE]"
            || serde_json::from_slice::<serde::de::IgnoredAny>(data.trim_ascii()).is_ok()
    })
}

/// Most bytes of the stream of an answer of at most `max_output_tokens`: an endless one ends here.
pub fn limit_for(max_output_tokens: u32) -> usize {
    (max_output_tokens as usize)
        .saturating_mul(STREAM_BYTES_PER_TOKEN)
        .saturating_add(STREAM_BASE_BYTES)
        .min(MAX_STREAM_BYTES)
}

/// The events in `bytes`. `idle` is the longest wait for the next byte of any kind; comments count.
///
/// After an error the stream ends.
pub fn events<S, B, E>(
    bytes: S,
    idle: Duration,
) -> impl Stream<Item = Result<SseEvent, StreamError>> + Send
where
    S: Stream<Item = Result<B, E>> + Send,
    B: AsRef<[u8]> + Send,
    E: std::fmt::Display + Send,
{
    events_within(bytes, idle, MAX_STREAM_BYTES)
}

/// As [`events`], of a stream of at most `limit` bytes.
pub fn events_within<S, B, E>(
    bytes: S,
    idle: Duration,
    limit: usize,
) -> impl Stream<Item = Result<SseEvent, StreamError>> + Send
where
    S: Stream<Item = Result<B, E>> + Send,
    B: AsRef<[u8]> + Send,
    E: std::fmt::Display + Send,
{
    let slices = pieces(bytes, idle, Guard::within(limit));
    EventStream::new(slices).map(|item| match item {
        Ok(event) => Ok(SseEvent {
            name: event.event,
            data: event.data,
        }),
        Err(EventStreamError::Transport(error)) => Err(error),
        Err(EventStreamError::Utf8(error)) => Err(StreamError::Malformed(error.to_string())),
        Err(EventStreamError::Parser(_)) => Err(StreamError::Malformed(
            "it is not an event stream".to_owned(),
        )),
    })
}

/// How long an answer that is complete waits for the end of its body.
const DRAIN: Duration = Duration::from_millis(50);

/// Reads to the end of a body whose answer is complete, so that its connection can be used again; a
/// server that keeps the body open costs one reconnect, not a wait.
pub async fn drain<S>(mut events: Pin<&mut S>)
where
    S: Stream<Item = Result<String, StreamError>> + ?Sized,
{
    let reading = async { while let Some(Ok(_)) = events.next().await {} };
    let _ = tokio::time::timeout(DRAIN, reading).await;
}
