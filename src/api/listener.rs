//! Listeners whose connections cannot be held open by a peer that has stopped reading.
//!
//! A response is pulled, never queued: what a slow reader has not taken stays with the engine's stream,
//! which reads the log again when it falls behind. A reader that takes nothing at all for the stall time
//! is cut off, so it holds neither a subscription nor a buffer. What is read passes the judge of framing first.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::{Sleep, sleep};

use crate::api::connection::Arrival;
use crate::api::framing::Framing;
use crate::api::peer::Peer;
use crate::api::seats::Seats;

/// After a failed accept (out of descriptors), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// A stream whose writes fail once none has made progress for the stall time.
#[derive(Debug)]
pub struct Guarded<S> {
    stream: S,
    stall: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    framing: Framing,
}

impl<S> Guarded<S> {
    fn new(stream: S, stall: Duration) -> Self {
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
    type Addr = Arrival;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let uid = stream.peer_cred().ok().map(|cred| cred.uid());
                    let arrival = Arrival {
                        peer: Peer::Unix { uid },
                        seat: None,
                    };
                    return (Guarded::new(stream, self.stall), arrival);
                }
                Err(error) => pause(&error).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(Arrival {
            peer: Peer::Unix { uid: None },
            seat: None,
        })
    }
}

/// The TCP listener.
#[derive(Debug)]
pub struct TcpDoor {
    listener: TcpListener,
    stall: Duration,
    seats: Seats,
}

impl TcpDoor {
    /// Serves `listener` to as many as have seats; a connection is cut after `stall` without write progress.
    pub fn new(listener: TcpListener, stall: Duration, seats: Seats) -> Self {
        Self {
            listener,
            stall,
            seats,
        }
    }
}

impl Listener for TcpDoor {
    type Io = Guarded<TcpStream>;
    type Addr = Arrival;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    let Some(seat) = self.seats.take() else {
                        tracing::debug!("no seat for one more TCP connection");
                        continue;
                    };
                    // Events are small and wanted at once.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "TCP_NODELAY not set");
                    }
                    let arrival = Arrival {
                        peer: Peer::Tcp(address),
                        seat: Some(seat),
                    };
                    return (Guarded::new(stream, self.stall), arrival);
                }
                Err(error) => pause(&error).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr().map(|address| Arrival {
            peer: Peer::Tcp(address),
            seat: None,
        })
    }
}

async fn pause(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    sleep(ACCEPT_PAUSE).await;
}
