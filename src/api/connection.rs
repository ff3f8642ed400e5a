//! Serving the connections of a listener: HTTP/1.1 with a time limit for the head of every request.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::api::peer::Peer;
use crate::api::seats::Seat;

/// Longest head of a request, in bytes.
const HEAD_BYTES: usize = 64 * 1024;

/// Who connected, as the listener knows it.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// The other end.
    pub peer: Peer,
    /// Its seat, where seats are counted.
    pub seat: Option<Seat>,
}

/// Serves until `shutdown`, then lets open requests end. Dropping it cuts every connection.
///
/// A connection is cut when the head of a request is not there `head` after it was waited for: half-sent requests
/// end so, and idle connections.
pub async fn serve<L>(mut listener: L, router: Router, head: Duration, shutdown: CancellationToken)
where
    L: Listener<Addr = Arrival>,
{
    let service = TowerToHyperService::new(router);
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            (stream, arrival) = listener.accept() => {
                open.spawn(attend(stream, arrival, service.clone(), head, shutdown.clone()));
            }
            Some(_) = open.join_next() => {}
            () = shutdown.cancelled() => break,
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}

async fn attend<S>(
    stream: S,
    arrival: Arrival,
    service: TowerToHyperService<Router>,
    head: Duration,
    shutdown: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let judged = service_fn(move |mut request: hyper::Request<Incoming>| {
        let extensions = request.extensions_mut();
        extensions.insert(ConnectInfo(arrival.peer));
        if let Some(seat) = &arrival.seat {
            extensions.insert(seat.clone());
        }
        service.call(request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), judged);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection did not end well");
    }
}
