//! JSON lines from a hostile server: bounded in memory and time, independent of chunking.
//!
//! The limits, the idle timeout and the errors are those of [`crate::model::sse`]. A line is handed on only when it
//! is complete: at the end of the stream an unterminated one counts when it is whole JSON, for servers leave out the
//! last line end, and what a cut connection left behind is dropped.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::Stream;

use crate::model::pieces::{Cut, StreamError, pieces};
use crate::model::sse::{MAX_EVENT_BYTES, MAX_STREAM_BYTES};

/// The media type of the format.
pub const MEDIA_TYPE: &str = "application/x-ndjson";
/// A UTF-8 byte order mark.
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// The pure part: bytes in, complete lines out. Empty lines are none.
#[derive(Debug)]
pub struct Guard {
    line: Vec<u8>,
    room: usize,
    limit: usize,
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
            room: limit,
            limit,
            started: false,
        }
    }

    /// Takes the next bytes and appends complete lines to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut VecDeque<String>) -> Result<(), StreamError> {
        // What fits is delivered, however the bytes were cut.
        let fits = bytes.len().min(self.room);
        self.room -= fits;
        let mut rest = &bytes[..fits];
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(rest.len());
            if self.line.len() + taken > MAX_EVENT_BYTES {
                return Err(StreamError::Malformed(format!(
                    "one line is larger than {} KiB",
                    MAX_EVENT_BYTES / 1024
                )));
            }
            self.line.extend_from_slice(&rest[..taken]);
            match end {
                None => break,
                Some(at) => {
                    rest = &rest[at + 1..];
                    self.end_line(out)?;
                }
            }
        }
        if fits < bytes.len() {
            return Err(StreamError::Malformed(format!(
                "the answer is larger than {} KiB, which is more than was asked for",
                self.limit / 1024
            )));
        }
        Ok(())
    }

    /// The end of the stream.
    pub fn finish(&mut self, out: &mut VecDeque<String>) -> Result<(), StreamError> {
        let line = without_marks(&self.line);
        if serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok() {
            return self.end_line(out);
        }
        Ok(())
    }

    fn end_line(&mut self, out: &mut VecDeque<String>) -> Result<(), StreamError> {
        let line: &[u8] = if self.started {
            &self.line
        } else {
            without_marks(&self.line)
        };
        self.started = true;
        // By line: a line end is never part of a character, so chunking cannot change the result. Nothing is replaced:
        // arguments with a character that the model did not write would be shown for approval.
        let text = std::str::from_utf8(line.trim_ascii())
            .map_err(|_| StreamError::Malformed("expected UTF-8, got other bytes".to_owned()))?;
        if !text.is_empty() {
            out.push_back(text.to_owned());
        }
        self.line.clear();
        Ok(())
    }
}

fn without_marks(mut line: &[u8]) -> &[u8] {
    while let Some(rest) = line.strip_prefix(&BYTE_ORDER_MARK) {
        line = rest;
    }
    line
}

impl Cut for Guard {
    type Piece = String;

    fn push(&mut self, bytes: &[u8], out: &mut VecDeque<String>) -> Result<(), StreamError> {
        self.push(bytes, out)
    }

    fn finish(&mut self, out: &mut VecDeque<String>) -> Result<(), StreamError> {
        self.finish(out)
    }
}

/// The lines in `bytes`, trimmed, without the empty ones: outside text. `idle` is the longest wait for the next byte
/// of any kind; an empty line counts.
///
/// After an error the stream ends.
pub fn lines<S, B, E>(
    bytes: S,
    idle: Duration,
) -> impl Stream<Item = Result<String, StreamError>> + Send
where
    S: Stream<Item = Result<B, E>> + Send,
    B: AsRef<[u8]> + Send,
    E: std::fmt::Display + Send,
{
    lines_within(bytes, idle, MAX_STREAM_BYTES)
}

/// As [`lines`], of a stream of at most `limit` bytes.
pub fn lines_within<S, B, E>(
    bytes: S,
    idle: Duration,
    limit: usize,
) -> impl Stream<Item = Result<String, StreamError>> + Send
where
    S: Stream<Item = Result<B, E>> + Send,
    B: AsRef<[u8]> + Send,
    E: std::fmt::Display + Send,
{
    pieces(bytes, idle, Guard::within(limit))
}
