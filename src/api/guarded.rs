//! Connections that cannot be held open by a peer that has stopped reading.
//!
//! A response is pulled, never queued: what a slow reader has not taken stays with the engine's stream,
//! which reads the log again when it falls behind. A reader that takes nothing at all for the stall time
//! is cut off, so it holds neither a subscription nor a buffer. What is read passes the judge of framing first.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::api::framing::Framing;

/// A stream whose writes fail once none has made progress for the stall time. To hand over what TLS still holds, and
/// its farewell, are writes too.
#[derive(Debug)]
pub struct Guarded<S> {
    stream: S,
    stall: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    framing: Framing,
}

impl<S> Guarded<S> {
    /// Cuts `stream` after `stall` without write progress.
    pub fn new(stream: S, stall: Duration) -> Self {
        Self {
            stream,
            stall,
            timer: None,
            framing: Framing::default(),
        }
    }

    fn judge<T>(
        &mut self,
        cx: &mut Context<'_>,
        progress: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.timer = None;
            return progress;
        }
        let stall = self.stall;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(stall)));
        match timer.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the peer stopped reading",
            ))),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if let Poll::Ready(Ok(())) = read
            && let Some(fresh) = buf.filled_mut().get_mut(before..)
        {
            let passed = self.framing.judge(fresh);
            buf.set_filled(before + passed);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.judge(cx, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.judge(cx, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(cx, progress)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(cx, progress)
    }
}
