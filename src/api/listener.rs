//! Listeners whose connections cannot be held open by a peer that has stopped reading.
//!
//! A response is pulled, never queued: what a slow reader has not taken stays with the engine's stream,
//! which reads the log again when it falls behind. A reader that takes nothing at all for the stall time
//! is cut off, so it holds neither a subscription nor a buffer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::{Sleep, sleep};

use crate::api::peer::Peer;

/// After a failed accept (out of descriptors), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// A stream whose writes fail once none has made progress for the stall time.
#[derive(Debug)]
pub struct Guarded<S> {
    stream: S,
    stall: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> Guarded<S> {
    fn new(stream: S, stall: Duration) -> Self {
        Self {
            stream,
            stall,
            timer: None,
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
        Pin::new(&mut self.stream).poll_read(cx, buf)
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
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The unix socket.
#[derive(Debug)]
pub struct UnixDoor {
    listener: UnixListener,
    stall: Duration,
}

impl UnixDoor {
    /// Serves `listener`; a connection is cut after `stall` without write progress.
    pub fn new(listener: UnixListener, stall: Duration) -> Self {
        Self { listener, stall }
    }
}

impl Listener for UnixDoor {
    type Io = Guarded<UnixStream>;
    type Addr = Peer;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let uid = stream.peer_cred().ok().map(|cred| cred.uid());
                    return (Guarded::new(stream, self.stall), Peer::Unix { uid });
                }
                Err(error) => pause(&error).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(Peer::Unix { uid: None })
    }
}

/// The TCP listener.
#[derive(Debug)]
pub struct TcpDoor {
    listener: TcpListener,
    stall: Duration,
}

impl TcpDoor {
    /// Serves `listener`; a connection is cut after `stall` without write progress.
    pub fn new(listener: TcpListener, stall: Duration) -> Self {
        Self { listener, stall }
    }
}

impl Listener for TcpDoor {
    type Io = Guarded<TcpStream>;
    type Addr = Peer;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Events are small and wanted at once.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "TCP_NODELAY not set");
                    }
                    return (Guarded::new(stream, self.stall), Peer::Tcp(address));
                }
                Err(error) => pause(&error).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr().map(Peer::Tcp)
    }
}

async fn pause(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    sleep(ACCEPT_PAUSE).await;
}
