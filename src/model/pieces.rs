//! Bytes of a hostile server through a guard, piece by piece: what the readers of events and of lines share.
//!
//! What came before a failure is delivered before it, however the bytes were cut; after a failure nothing is.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};

/// Why reading stopped before the end of the stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Transport(String),
    /// No byte came for this long.
    #[error("no byte came for {} s", .0.as_secs_f64())]
    Idle(Duration),
    /// A limit was passed, or it cannot be parsed.
    #[error("{0}")]
    Malformed(String),
}

/// The pure part of a reader: bytes in, complete pieces out. It bounds what it keeps.
pub trait Cut {
    /// What it hands on.
    type Piece;

    /// Takes the next bytes and appends complete pieces to `out`; an error ends the stream.
    fn push(&mut self, bytes: &[u8], out: &mut VecDeque<Self::Piece>) -> Result<(), StreamError>;

    /// The end of the bytes.
    fn finish(&mut self, out: &mut VecDeque<Self::Piece>) -> Result<(), StreamError>;
}

struct Source<S, C: Cut> {
    bytes: Pin<Box<S>>,
    cut: C,
    pieces: VecDeque<C::Piece>,
    idle: Duration,
    failure: Option<StreamError>,
    ended: bool,
}

/// The pieces that `cut` makes of `bytes`. `idle` is the longest wait for the next byte of any kind.
pub fn pieces<S, B, E, C>(
    bytes: S,
    idle: Duration,
    cut: C,
) -> impl Stream<Item = Result<C::Piece, StreamError>> + Send
where
    S: Stream<Item = Result<B, E>> + Send,
    B: AsRef<[u8]> + Send,
    E: std::fmt::Display + Send,
    C: Cut + Send,
    C::Piece: Send,
{
    let source = Source {
        bytes: Box::pin(bytes),
        cut,
        pieces: VecDeque::new(),
        idle,
        failure: None,
        ended: false,
    };
    futures_util::stream::unfold(source, next)
}

async fn next<S, B, E, C>(
    mut source: Source<S, C>,
) -> Option<(Result<C::Piece, StreamError>, Source<S, C>)>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: std::fmt::Display,
    C: Cut,
{
    loop {
        if let Some(piece) = source.pieces.pop_front() {
            return Some((Ok(piece), source));
        }
        if let Some(failure) = source.failure.take() {
            return Some((Err(failure), source));
        }
        if source.ended {
            return None;
        }
        let failure = match tokio::time::timeout(source.idle, source.bytes.next()).await {
            Err(_) => Some(StreamError::Idle(source.idle)),
            Ok(Some(Err(error))) => Some(StreamError::Transport(error.to_string())),
            Ok(Some(Ok(bytes))) => source.cut.push(bytes.as_ref(), &mut source.pieces).err(),
            Ok(None) => {
                source.ended = true;
                source.cut.finish(&mut source.pieces).err()
            }
        };
        if failure.is_some() {
            source.ended = true;
            source.failure = failure;
        }
    }
}
