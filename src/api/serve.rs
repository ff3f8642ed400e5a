//! Listening: the unix socket always, TCP when asked for. Nothing here listens without TLS on an address that other
//! machines can reach.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::api::accounts::Accounts;
use crate::api::auth::Door;
use crate::api::connection::{self, Conduct};
use crate::api::events::{PING, TRUST};
use crate::api::limiter::FailedLogins;
use crate::api::listener::{TcpDoor, UnixDoor};
use crate::api::open_credentials::{Credential, OpenCredentials};
use crate::api::report::ListenerReport;
use crate::api::router::build;
use crate::api::seats::{SeatLimits, Seats};
use crate::api::state::Api;
use crate::api::tls::{self, Tls, TlsError};
use crate::api::token::TokenVerifier;
use crate::client::console_client::ConsoleClient;
use crate::client::webhooks::Webhooks;
use crate::config::server::{ListenerLimits, TlsSettings};
use crate::mcp::server::handler::HostEndpoint;

/// Longest path of a unix socket that every supported system takes, in bytes (`sun_path` has 104 on macOS
/// and 108 on Linux, with a terminating zero).
pub const LONGEST_SOCKET_PATH: usize = 103;

/// Time open requests get to finish after shutdown was asked for; streams end at once.
const GRACE: Duration = Duration::from_secs(5);

/// Time the head of a request may take. Clients of ours let go of idle connections well before it.
const HEAD: Duration = Duration::from_secs(10);

/// Why nothing listens.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another process answers on the socket.
    #[error("another process answers on {path}: attach to it, or stop it first")]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// Something that is not a socket lies there.
    #[error("{path} exists and is not a socket: move it away")]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// The path does not fit a socket address.
    #[error(
        "the socket path {path} is longer than {LONGEST_SOCKET_PATH} bytes: use a shorter data directory, or set XDG_RUNTIME_DIR"
    )]
    TooLong {
        /// The path.
        path: PathBuf,
    },
    /// The address is not loopback.
    #[error(
        "{address} can be reached from other machines, which needs TLS: name a certificate under [server.tls], or listen on 127.0.0.1 and use `leverframe attach ssh://HOST`"
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The certificate cannot be used.
    #[error("the certificate of the listener: {0}")]
    Certificate(#[from] TlsError),
    /// The system refused.
    #[error("cannot listen on {place}: {error}")]
    System {
        /// Path or address.
        place: String,
        /// Why.
        error: io::Error,
    },
}

/// Timing, changed only by tests.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Silence after which an event stream gets a comment.
    pub ping: Duration,
    /// Time without write progress after which a connection is cut.
    pub stall: Duration,
    /// Time the head of a request may take; also how long a connection may idle.
    pub head: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            ping: PING,
            stall: Duration::from_secs(20),
            head: HEAD,
        }
    }
}

/// A server that listens. Ends after its shutdown token is cancelled.
#[derive(Debug)]
pub struct Serving {
    /// Where: `unix:PATH`, `http://ADDRESS` or `https://ADDRESS`.
    pub url: String,
    /// The bound address (TCP).
    pub address: Option<SocketAddr>,
    task: JoinHandle<()>,
    shutdown: CancellationToken,
    socket: Option<PathBuf>,
}

impl Serving {
    /// Waits until the server has ended: open streams are closed at once, other requests get five seconds.
    /// Call after cancelling the shutdown token.
    pub async fn stopped(mut self) {
        self.shutdown.cancelled().await;
        if tokio::time::timeout(GRACE, &mut self.task).await.is_err() {
            self.task.abort();
        }
        if let Some(path) = &self.socket
            && let Err(error) = std::fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the socket could not be removed");
        }
    }
}

/// Serves on a unix socket of mode 0600. Its directory is made with mode 0700 when it does not exist; a
/// socket left behind by a dead process is replaced.
pub async fn serve_unix(
    path: &Path,
    client: Arc<dyn ConsoleClient>,
    webhooks: Webhooks,
    timing: Timing,
    shutdown: CancellationToken,
) -> Result<Serving, ServeError> {
    let listener = bind_unix(path).await?;
    let api = Arc::new(Api {
        mcp: HostEndpoint::new(Arc::clone(&client), shutdown.clone()),
        client,
        door: Arc::new(Door::Unix {
            own_uid: rustix::process::getuid().as_raw(),
        }),
        ping: timing.ping,
        webhooks,
        shutdown: shutdown.clone(),
    });
    let conduct = Conduct {
        head: timing.head,
        stall: timing.stall,
        tls: None,
    };
    let door = UnixDoor::new(listener);
    let server = connection::serve(door, build(api), conduct, shutdown.clone());
    Ok(Serving {
        url: format!("unix:{}", path.display()),
        address: None,
        task: tokio::spawn(server),
        shutdown,
        socket: Some(path.to_owned()),
    })
}

/// Where and for whom a TCP listener serves.
pub struct TcpOptions {
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// Its certificate; none = plain HTTP, on loopback only.
    pub tls: Option<TlsSettings>,
    /// How much of it one caller gets.
    pub limits: ListenerLimits,
    /// Knows the tokens, and whose a client certificate is.
    pub verifier: Arc<dyn TokenVerifier>,
    /// Hears how it does.
    pub report: Arc<dyn ListenerReport>,
}

/// Serves on an address. Every request but `/healthz` needs a token or a client certificate.
pub async fn serve_tcp(
    options: TcpOptions,
    client: Arc<dyn ConsoleClient>,
    webhooks: Webhooks,
    timing: Timing,
    shutdown: CancellationToken,
) -> Result<Serving, ServeError> {
    let TcpOptions {
        address,
        tls,
        limits,
        verifier,
        report,
    } = options;
    if !address.ip().is_loopback() && tls.is_none() {
        return Err(ServeError::NotLoopback { address });
    }
    let tls = match tls {
        None => None,
        Some(files) => {
            let (tls, certificate) = Tls::load(files)?;
            report.certificate(&certificate);
            Some(Arc::new(tls))
        }
    };
    let system = |error| ServeError::System {
        place: address.to_string(),
        error,
    };
    let listener = TcpListener::bind(address).await.map_err(system)?;
    let bound = listener.local_addr().map_err(system)?;
    if let Some(tls) = &tls {
        let report = Arc::clone(&report);
        tokio::spawn(tls::watch(Arc::clone(tls), report, shutdown.clone()));
    }
    let seats = Seats::new(SeatLimits::of_process(&limits), Arc::clone(&report));
    let streams = Arc::new(OpenCredentials::default());
    let door = Arc::new(Door::Tcp {
        verifier,
        failed: FailedLogins::default(),
        port: bound.port(),
        tls: tls.clone(),
        accounts: Arc::new(Accounts::new(
            limits.requests_per_minute,
            Arc::clone(&report),
        )),
        streams: Arc::clone(&streams),
        report,
    });
    let (admitting, stop) = (Arc::clone(&door), shutdown.clone());
    let every = timing.ping.min(TRUST);
    tokio::spawn(async move {
        let admits = |credential: &Credential| admitting.admits(credential);
        streams.watch(admits, every, stop).await;
    });
    let api = Arc::new(Api {
        mcp: HostEndpoint::new(Arc::clone(&client), shutdown.clone()),
        client,
        door,
        ping: timing.ping,
        webhooks,
        shutdown: shutdown.clone(),
    });
    let scheme = if tls.is_some() { "https" } else { "http" };
    let conduct = Conduct {
        head: timing.head,
        stall: timing.stall,
        tls,
    };
    let door = TcpDoor::new(listener, seats, conduct.tls.is_none());
    let server = connection::serve(door, build(api), conduct, shutdown.clone());
    Ok(Serving {
        url: format!("{scheme}://{bound}"),
        address: Some(bound),
        task: tokio::spawn(server),
        shutdown,
        socket: None,
    })
}

async fn bind_unix(path: &Path) -> Result<UnixListener, ServeError> {
    let system = |error| ServeError::System {
        place: path.display().to_string(),
        error,
    };
    if path.as_os_str().len() > LONGEST_SOCKET_PATH {
        return Err(ServeError::TooLong {
            path: path.to_owned(),
        });
    }
    if let Some(dir) = path.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(system)?;
    }
    clear(path).await?;
    // Bound under another name and moved into place once its mode is right: at no time can another user
    // connect, whatever the umask.
    let own = path.with_extension(format!("s{}", std::process::id() % 100_000));
    let listener = match UnixListener::bind(&own) {
        Ok(listener) => listener,
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            std::fs::remove_file(&own).map_err(system)?;
            UnixListener::bind(&own).map_err(system)?
        }
        Err(error) => return Err(system(error)),
    };
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o600)).map_err(system)?;
    std::fs::rename(&own, path).map_err(system)?;
    Ok(listener)
}

/// Removes a socket on which nobody answers.
async fn clear(path: &Path) -> Result<(), ServeError> {
    let kind = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(ServeError::System {
                place: path.display().to_string(),
                error,
            });
        }
    };
    if !kind.is_socket() {
        return Err(ServeError::NotASocket {
            path: path.to_owned(),
        });
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(|error| ServeError::System {
                place: path.display().to_string(),
                error,
            })
        }
        // Anything else may be a live process that is busy.
        Ok(_) | Err(_) => Err(ServeError::InUse {
            path: path.to_owned(),
        }),
    }
}
