//! Listeners: they accept whoever has a seat.

use std::io;
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::sleep;

use crate::api::connection::Arrival;
use crate::api::peer::Peer;
use crate::api::seats::Seats;

/// After a failed accept (out of descriptors), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

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
}

impl TcpDoor {
    /// Serves `listener` to as many as have seats.
    pub fn new(listener: TcpListener, seats: Seats) -> Self {
        Self { listener, seats }
    }
}

impl Listener for TcpDoor {
    type Io = TcpStream;
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
                    return (stream, arrival);
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
