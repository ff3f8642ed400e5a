//! Server-sent events and JSON lines from a hostile server: bounded in memory and time, independent of chunking.
//!
//! No byte reaches the event parser unguarded. `eventsource-stream` as released panics on a byte order mark, loses
//! events after lone CR line ends, drops an unterminated last event, and scans an unfinished line again for each chunk.
//! The guard strips the mark, turns every line end into LF, refuses invalid UTF-8, and passes on complete lines only,
//! in small slices, so a line is scanned once. What came before a failure is delivered before it; after it nothing is.
//! Format: <https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use eventsource_stream::{EventStream, EventStreamError};
use futures_util::{Stream, StreamExt};

/// Lines of events reach the parser in slices of about this size: its cost grows with slice × lines.
const SLICE_BYTES: usize = 8 * 1024;
/// A UTF-8 byte order mark.
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Why reading stopped before the end of the stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Transport(String),
    /// No byte came for this long.
    #[error("no byte came for {} s", .0.as_secs_f64())]
    Idle(Duration),
    /// The stream passes a limit, or is not of its format.
    #[error("{0}")]
    Malformed(String),
}

/// How a server writes a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Server-sent events: an empty line ends an event.
    Events,
    /// JSON lines: a line end ends a value.
    JsonLines,
}

impl Format {
    /// The media type of a body in this format.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::JsonLines => "application/x-ndjson",
        }
    }
}

/// How much of a stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Most bytes of one event or JSON line, comments inside it included, line ends not.
    pub record: usize,
    /// Most bytes of the whole stream.
    pub stream: usize,
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; `message` where the server gave none.
    pub name: String,
    /// Its data lines, joined by LF: outside text.
    pub data: String,
}

/// The pure part: takes bytes, and hands on slices of complete lines of events, or one JSON line at a time.
#[derive(Debug)]
pub struct Guard {
    format: Format,
    limits: StreamLimits,
    line: Vec<u8>,
    slice: String,
    record: usize,
    room: usize,
    after_return: bool,
    started: bool,
}

impl Guard {
    /// A guard at the begin of a stream.
    pub fn new(format: Format, limits: StreamLimits) -> Self {
        Self {
            format,
            limits,
            line: Vec::new(),
            slice: String::new(),
            record: 0,
            room: limits.stream,
            after_return: false,
            started: false,
        }
    }

    /// Takes the next bytes and appends what is complete to `out`; an error ends the stream.
    pub fn push(&mut self, bytes: &[u8], out: &mut VecDeque<String>) -> Result<(), StreamError> {
        // What fits is delivered, however the bytes were cut.
        let fits = bytes.len().min(self.room);
        self.room -= fits;
        let read = self.read(&bytes[..fits], out);
        self.flush(out);
        read?;
        if fits < bytes.len() {
            return Err(StreamError::Malformed(format!(
                "the answer is larger than {} KiB, which is more than was asked for",
                self.limits.stream / 1024
            )));
        }
        Ok(())
    }

    /// The end of the bytes: an unterminated last record counts when its data is whole. Servers leave out the last line
    /// end; what a cut connection left behind is dropped.
    pub fn finish(&mut self, out: &mut VecDeque<String>) -> Result<(), StreamError> {
        let line = without_marks(&self.line, self.started);
        let whole = match self.format {
            Format::Events => line
                .strip_prefix(b"data:")
                .is_some_and(|data| data.trim_ascii() == b"[DONE]" || is_json(data)),
            Format::JsonLines => is_json(line),
        };
        let ended = if whole { self.end_line(out) } else { Ok(()) };
        match self.format {
            Format::Events => self.slice.push_str("\n\n"),
            Format::JsonLines => {}
        }
        self.flush(out);
        ended
    }

    fn read(&mut self, bytes: &[u8], out: &mut VecDeque<String>) -> Result<(), StreamError> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, later) = rest.split_at(end.unwrap_or(rest.len()));
            self.record += line.len();
            if self.record > self.limits.record {
                let record = match self.format {
                    Format::Events => "event",
                    Format::JsonLines => "line",
                };
                return Err(StreamError::Malformed(format!(
                    "one {record} is larger than {} KiB",
                    self.limits.record / 1024
                )));
            }
            self.line.extend_from_slice(line);
            let Some((end, later)) = later.split_first() else {
                break;
            };
            self.after_return = *end == b'\r';
            rest = later;
            self.end_line(out)?;
        }
        Ok(())
    }

    fn end_line(&mut self, out: &mut VecDeque<String>) -> Result<(), StreamError> {
        // By line: line ends are never part of a character, so chunking cannot change the result. Nothing is replaced:
        // arguments with a character that the model did not write would be shown for approval.
        let line = std::str::from_utf8(without_marks(&self.line, self.started))
            .map_err(|_| StreamError::Malformed("expected UTF-8, got other bytes".to_owned()))?;
        let ends_record = match self.format {
            Format::Events => line.is_empty(),
            Format::JsonLines => true,
        };
        match self.format {
            Format::Events => {
                self.slice.push_str(line);
                self.slice.push('\n');
            }
            Format::JsonLines => self.slice.push_str(line.trim_ascii()),
        }
        self.line.clear();
        self.started = true;
        if ends_record {
            self.record = 0;
        }
        if self.format == Format::JsonLines || self.slice.len() >= SLICE_BYTES {
            self.flush(out);
        }
        Ok(())
    }

    fn flush(&mut self, out: &mut VecDeque<String>) {
        if !self.slice.is_empty() {
            out.push_back(std::mem::take(&mut self.slice));
        }
    }
}

/// A line without byte order marks, which only the first can have: the parser panics on each of them.
fn without_marks(mut line: &[u8], started: bool) -> &[u8] {
    while let Some(rest) = line.strip_prefix(&BYTE_ORDER_MARK)
        && !started
    {
        line = rest;
    }
    line
}

fn is_json(data: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(data.trim_ascii()).is_ok()
}

/// The events in `bytes`. `idle` is the longest wait for the next byte of any kind; comments count.
///
/// After an error the stream ends.
pub fn events<S, B, E>(
    bytes: S,
    idle: Duration,
    limits: StreamLimits,
) -> impl Stream<Item = Result<SseEvent, StreamError>> + Send
where
    S: Stream<Item = Result<B, E>> + Send,
    B: AsRef<[u8]> + Send,
    E: std::fmt::Display + Send,
{
    let slices = guarded(bytes, idle, Guard::new(Format::Events, limits));
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

/// The JSON lines in `bytes`, trimmed, without the empty ones: outside text. `idle` is the longest wait for the next
/// byte of any kind; an empty line counts.
///
/// After an error the stream ends.
pub fn json_lines<S, B, E>(
    bytes: S,
    idle: Duration,
    limits: StreamLimits,
) -> impl Stream<Item = Result<String, StreamError>> + Send
where
    S: Stream<Item = Result<B, E>> + Send,
    B: AsRef<[u8]> + Send,
    E: std::fmt::Display + Send,
{
    guarded(bytes, idle, Guard::new(Format::JsonLines, limits))
}

struct Source<S> {
    bytes: Pin<Box<S>>,
    guard: Guard,
    ready: VecDeque<String>,
    idle: Duration,
    failure: Option<StreamError>,
    ended: bool,
}

fn guarded<S, B, E>(
    bytes: S,
    idle: Duration,
    guard: Guard,
) -> impl Stream<Item = Result<String, StreamError>> + Send
where
    S: Stream<Item = Result<B, E>> + Send,
    B: AsRef<[u8]> + Send,
    E: std::fmt::Display + Send,
{
    let source = Source {
        bytes: Box::pin(bytes),
        guard,
        ready: VecDeque::new(),
        idle,
        failure: None,
        ended: false,
    };
    futures_util::stream::unfold(source, |mut source| async move {
        let item = source.next().await?;
        Some((item, source))
    })
}

impl<S, B, E> Source<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: std::fmt::Display,
{
    async fn next(&mut self) -> Option<Result<String, StreamError>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(Ok(piece));
            }
            if let Some(failure) = self.failure.take() {
                return Some(Err(failure));
            }
            if self.ended {
                return None;
            }
            self.failure = match tokio::time::timeout(self.idle, self.bytes.next()).await {
                Err(_) => Some(StreamError::Idle(self.idle)),
                Ok(Some(Err(error))) => Some(StreamError::Transport(error.to_string())),
                Ok(Some(Ok(bytes))) => self.guard.push(bytes.as_ref(), &mut self.ready).err(),
                Ok(None) => {
                    self.ended = true;
                    self.guard.finish(&mut self.ready).err()
                }
            };
            self.ended |= self.failure.is_some();
        }
    }
}
