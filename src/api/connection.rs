//! Serving the connections of a listener: TLS where it has a certificate, then HTTP/1.1 with a time limit for the head
//! of every request.

use std::sync::Arc;
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
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::api::guarded::Guarded;
use crate::api::peer::Peer;
use crate::api::seats::Seat;
use crate::api::tls::Tls;
use crate::protocol::certificate::Fingerprint;

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

/// How connections are served.
#[derive(Debug, Clone)]
pub struct Conduct {
    /// Time the head of a request may take, and the handshake before the first.
    pub head: Duration,
    /// Time without write progress after which a connection is cut.
    pub stall: Duration,
    /// The certificate; none = plain HTTP.
    pub tls: Option<Arc<Tls>>,
}

/// The id of the certificate that a client showed on this connection, with the proof that it holds the key.
#[derive(Debug, Clone)]
pub struct ClientCertificate(pub Arc<str>);

/// Serves until `shutdown`, then lets open requests end. Dropping it cuts every connection.
///
/// A connection is cut when the head of a request is not there in time after it was waited for: half-sent requests
/// end so, and idle connections.
pub async fn serve<L>(
    mut listener: L,
    router: Router,
    conduct: Conduct,
    shutdown: CancellationToken,
) where
    L: Listener<Addr = Arrival>,
{
    let service = TowerToHyperService::new(router);
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            (stream, arrival) = listener.accept() => {
                open.spawn(receive(stream, arrival, service.clone(), conduct.clone(), shutdown.clone()));
            }
            Some(_) = open.join_next() => {}
            () = shutdown.cancelled() => break,
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}

/// Attends to a connection until it ends, or its seat is given to another.
async fn receive<S>(
    stream: S,
    arrival: Arrival,
    service: TowerToHyperService<Router>,
    conduct: Conduct,
    shutdown: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let seat = arrival.seat.clone();
    let mut attended = std::pin::pin!(welcome(stream, arrival, service, conduct, shutdown));
    let Some(seat) = seat else {
        return attended.await;
    };
    tokio::select! {
        () = attended.as_mut() => {}
        () = seat.displaced() => tracing::debug!("a connection that proved nothing made room"),
    }
}

/// Shakes hands where there is a certificate.
async fn welcome<S>(
    stream: S,
    arrival: Arrival,
    service: TowerToHyperService<Router>,
    conduct: Conduct,
    shutdown: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let Some(tls) = &conduct.tls else {
        let stream = Guarded::new(stream, conduct.stall);
        return attend(stream, arrival, None, service, conduct.head, shutdown).await;
    };
    let handshake = TlsAcceptor::from(tls.config()).accept(stream);
    let stream = tokio::select! {
        shaken = tokio::time::timeout(conduct.head, handshake) => match shaken {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "no TLS connection"),
            Err(_) => return tracing::debug!("a TLS handshake took too long"),
        },
        () = shutdown.cancelled() => return,
    };
    let shown = stream.get_ref().1.peer_certificates();
    let shown = shown
        .and_then(<[_]>::first)
        .map(|leaf| ClientCertificate(Fingerprint::of(leaf).id().into()));
    // On the heap: it is large, and a task has room for each place that it passes through.
    let stream = Guarded::new(Box::new(stream), conduct.stall);
    attend(stream, arrival, shown, service, conduct.head, shutdown).await;
}

async fn attend<S>(
    stream: S,
    arrival: Arrival,
    shown: Option<ClientCertificate>,
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
        if let Some(shown) = &shown {
            extensions.insert(shown.clone());
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
