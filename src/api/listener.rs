//! Listeners: they accept whoever has a seat.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::http::StatusCode;
use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::sleep;

use crate::api::connection::Arrival;
use crate::api::error::Refusal;
use crate::api::peer::Peer;
use crate::api::seats::{Seat, Seats};
use crate::protocol::problem::{Problem, ProblemKind};

/// After a failed accept (out of descriptors), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// Seconds after which whoever was turned away tries again.
const RETRY_AFTER: u64 = 10;

/// The unix socket.
#[derive(Debug)]
pub struct UnixDoor {
    listener: UnixListener,
}

impl UnixDoor {
    /// Serves `listener`.
    pub fn new(listener: UnixListener) -> Self {
        Self { listener }
    }
}

impl Listener for UnixDoor {
    type Io = UnixStream;
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
                    return (stream, arrival);
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
    seats: Seats,
    /// Whether it speaks plain HTTP, in which a refusal can be said.
    is_plain: bool,
    /// Accepted, and without a seat yet.
    next: Option<(TcpStream, SocketAddr)>,
}

impl TcpDoor {
    /// Serves `listener` to as many as have seats.
    pub fn new(listener: TcpListener, seats: Seats, is_plain: bool) -> Self {
        Self {
            listener,
            seats,
            is_plain,
            next: None,
        }
    }

    /// The next connection and its seat. None = it has none, and went. A call that is dropped loses no connection.
    async fn seated(&mut self) -> io::Result<Option<(TcpStream, SocketAddr, Seat)>> {
        let address = if let Some((_, address)) = &self.next {
            *address
        } else {
            let (stream, address) = self.listener.accept().await?;
            self.next = Some((stream, address));
            address
        };
        let seat = self.seats.take(address.ip()).await;
        let Some((stream, address)) = self.next.take() else {
            return Ok(None);
        };
        Ok(match seat {
            Ok(seat) => Some((stream, address, seat)),
            Err(why) => {
                tracing::debug!(why = why.as_str(), "no seat for one more TCP connection");
                if self.is_plain {
                    turn_away(&stream);
                }
                None
            }
        })
    }
}

impl Listener for TcpDoor {
    type Io = TcpStream;
    type Addr = Arrival;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.seated().await {
                Ok(Some((stream, address, seat))) => {
                    // Events are small and wanted at once.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "TCP_NODELAY not set");
                    }
                    let arrival = Arrival {
                        peer: Peer::Tcp(address),
                        seat: Some(seat),
                    };
                    return (stream, arrival);
                }
                Ok(None) => {}
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

/// Says that there is no seat, whatever is asked, as far as that needs no waiting.
fn turn_away(stream: &TcpStream) {
    // What came already is read: else the system would cut the connection before the answer is read.
    let read = stream.try_read(&mut [0; 4096]);
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let problem = Problem::new(
        ProblemKind::Unavailable,
        "too many connections",
        "the listener has no room for one more connection",
    )
    .hint("try again later; `max_connections` under [server] is the limit");
    let refusal = Refusal::with_status(status, problem);
    let body = refusal.refused().document(status).to_string();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: {RETRY_AFTER}\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let written = stream.try_write(answer.as_bytes());
    tracing::trace!(?read, ?written, "turned away");
}

async fn pause(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    sleep(ACCEPT_PAUSE).await;
}
